"""Time from process start to a saved model with 99.9 % exact match on test.

    python -m benchmarks.time_to_accuracy [--torch-python PYTHON] [--data book dates] [--rounds 1]
        [--epochs N] [--only CONTESTANT ...]

Side by side in one run, each in processes of its own: `train.py` with its defaults, for the book's
data in one epoch of batches of 32; PyTorch with our recipe and with the book's; plain Keras with
built-in layers and padded batches. The last two look at the test pairs after each epoch and stop at
99.9 %, which flatters them; our recipe goes to the end of its schedule in both. `train.py` also
chooses by validation pairs, and when the model is saved it still tests it, draws a figure and
writes the rest of the run folder: so there are two times, to the saved model and of the whole
process. Decoding is greedy. A contestant that has not reached 99.9 % when its epochs are over is
shown with what it reached.

Rows of other data and contestants that the results file holds already stay in it, so that each can
have as many rounds as its length allows.

CPU seconds are those of all threads; where other programs take the cores they are the fairer
figure. "book" needs `book_dates/date.txt` in the folder named by KERAS_ATTENTION_DATA; its split is
the book's. On two cores a round takes about 4 minutes for the book's data and 7 for data/dates,
most of it for the others.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.result_files import add_out_option, write_results
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits, load_splits

ROOT = pathlib.Path(__file__).parent.parent
# One epoch is enough there: dates of the test part stand in the training part, too.
RECIPE_FOR_BOOK = ["--epochs", "1", "--batch-size", "32"]
FIGURES = ("saved_seconds", "seconds", "cpu_seconds", "exact_match", "epochs", "load")


def write_book_data(folder: pathlib.Path) -> bool:
    """The book's file as a folder of three parts; False where the file is not there."""
    from keras_attention.datasets.dates import read_book_dates, split_book_dates

    path = pathlib.Path(os.environ.get("KERAS_ATTENTION_DATA", ".")) / "book_dates" / "date.txt"
    if not path.is_file():
        return False
    training, test = split_book_dates(read_book_dates(path))
    cut = len(training) - len(training) // 20
    for name, pairs in zip(Splits._fields, (training[:cut], training[cut:], test), strict=True):
        write_pairs(folder / f"{name}.tsv", pairs)
    return True


def contestants(
    data: pathlib.Path, out: pathlib.Path, torch_python: str | None, recipe: list[str]
) -> dict:
    """Name to command, which is given the seed as its last argument, and to what it saves."""
    ours = [sys.executable, "train.py", "--data", data, "--out", out / "run", "--overwrite"]
    commands = {"keras_attention": (ours + recipe, out / "run" / "model.keras")}
    if torch_python:
        model = out / "model.pt"
        for name, more in (("ours", recipe), ("book", [])):
            command = [
                *(torch_python, "-m", "benchmarks.torch_seq2seq", "train"),
                *("--data", data, "--out", model, "--recipe", name, *more),
            ]
            commands[f"PyTorch, {name} recipe"] = command, model
    model = out / "model.keras"
    command = [sys.executable, "-m", "benchmarks.plain_keras", "--data", data, "--out", model]
    commands["Keras, built-in layers"] = command, model
    return commands


def run(command: list, model: pathlib.Path, seed: int) -> dict:
    """Seconds to the saved model and of the whole process, and what it reached."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, started = time.perf_counter(), time.time()
    result = subprocess.run(
        [str(part) for part in [*command, "--seed", seed]],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode:
        sys.exit(f"{command}: {result.stderr}")
    saved = model.stat().st_mtime - started
    last = result.stdout.splitlines()[-1]
    if last.startswith("exact match on test: "):
        found = {"exact_match": float(last.split()[4]), "epochs": result.stdout.count("Epoch ")}
    else:
        found = json.loads(last)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "saved_seconds": saved,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "load": os.getloadavg()[0],
        **found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch-python", help="a Python that has PyTorch; without it only Keras")
    parser.add_argument("--data", nargs="+", choices=("book", "dates"), default=("book", "dates"))
    parser.add_argument("--rounds", type=int, default=1, help="with seeds 1, 2, ...")
    parser.add_argument(
        "--epochs", type=int, help="of our recipe on data/dates (default: what train.py chooses)"
    )
    parser.add_argument("--only", nargs="+", help="contestants, named as in the table")
    add_out_option(parser, "time_to_accuracy")
    options = parser.parse_args()
    rows = []
    print(
        "| data | contestant | s to saved model | s in all | CPU s | exact match | epochs | load |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in options.data:
            data = ROOT / "data" / "dates"
            if name == "book":
                data = folder / "book"
                data.mkdir()
                if not write_book_data(data):
                    print("the book's date.txt is not there: left out", file=sys.stderr)
                    continue
            load_splits(data, seed=1)  # so that all find the files in memory
            recipe = RECIPE_FOR_BOOK if name == "book" else []
            if options.epochs and name == "dates":
                recipe, name = ["--epochs", str(options.epochs)], f"dates, {options.epochs} epochs"
            chosen = {
                who: contestant
                for who, contestant in contestants(
                    data, folder, options.torch_python, recipe
                ).items()
                if not options.only or who in options.only
            }
            runs = {who: [] for who in chosen}
            for seed in range(1, options.rounds + 1):  # turn by turn: machines change their pace
                for who, contestant in chosen.items():
                    runs[who].append(run(*contestant, seed))
            for who, of_contestant in runs.items():
                row = {key: statistics.median(r[key] for r in of_contestant) for key in FIGURES}
                rows.append({"data": name, "contestant": who, **row, "runs": of_contestant})
                print(
                    f"| {name} | {who} | {row['saved_seconds']:.1f} | {row['seconds']:.1f} "
                    f"| {row['cpu_seconds']:.1f} | {row['exact_match']:.4f} | {row['epochs']:g} "
                    f"| {row['load']:.1f} |",
                    flush=True,
                )
    write_results(options.out, rows, key=("data", "contestant"))


if __name__ == "__main__":
    main()
