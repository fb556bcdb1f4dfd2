"""What starting from a run saves: `python -m benchmarks.warm_start --data FOLDER`.

Trains a second task twice at several sizes, from the weights of a run of a first task
(`--init-from`) and from nothing, with the same options and as many epochs, and gives exact match on
the second task's test pairs. Two pairs of tasks: dates as ISO 8601, then the same dates written as
27.09.1994; French pronunciation, then Romanian. FOLDER holds `fre_train.tsv`, `rum_train.tsv`, …
of SIGMORPHON 2020 (docs/get-the-data.md). Finished trainings in `--out-runs` are not done again.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.folders.run_folder import is_finished, read_metrics
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs, write_pairs
from keras_attention.pairs.splits import Splits

PARTS = {"train": "train", "valid": "dev", "test": "test"}
# Passes over the pairs of a second task, from the first task and from nothing alike.
EPOCHS = {200: 60, 1000: 20, 3600: 8, 4000: 6}
SEEDS = (1, 2)
RECIPES = {
    "dates": (["--batch-size", "64"], (200, 1000, 4000)),
    "pronunciation": (
        ["--source-form", "NFD", "--target-tokens", "word", "--units", "128"]
        + ["--embedding-size", "64", "--attention", "general", "--attentional-layer"]
        + ["--batch-size", "32", "--learning-rate", "0.002", "--warmup", "0.1"]
        + ["--dropout", "0.3", "--label-smoothing", "0.1"],
        (200, 1000, 3600),
    ),
}


def dates_written_otherwise() -> Splits:
    """The committed dates of 1994-09-27 as 27.09.1994, no more of them than are used."""
    found = []
    for name, most in (("train", 4000), ("valid", 500), ("test", 1000)):
        pairs = read_pairs(ROOT / "data" / "dates" / f"{name}.tsv", "char", "char")
        random.Random(0).shuffle(pairs)
        turned = [
            Pair(pair.source, ".".join(reversed(pair.target.split("-")))) for pair in pairs[:most]
        ]
        found.append(turned)
    return Splits(*found)


def pronunciation(folder: pathlib.Path, language: str) -> Splits:
    """The parts of one language."""
    return Splits(
        *(read_pairs(folder / f"{language}_{part}.tsv", "char", "word") for part in PARTS.values())
    )


def write(splits: Splits, folder: pathlib.Path, size: int | None = None) -> pathlib.Path:
    """A data folder with the first pairs for training; validation shrinks with them."""
    folder.mkdir(parents=True, exist_ok=True)
    valid = splits.valid if size is None else splits.valid[: max(50, size // 4)]
    for name, pairs in (("train", splits.train[:size]), ("valid", valid), ("test", splits.test)):
        write_pairs(folder / f"{name}.tsv", pairs)
    return folder


def trained(out: pathlib.Path, data: pathlib.Path, options: list[str]) -> dict:
    """The metrics of a run, which is trained where it is not finished."""
    if not is_finished(out):
        command = [sys.executable, "train.py", "--data", str(data), "--out", str(out)]
        command += ["--resume", "--patience", "1000", *options]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return read_metrics(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--out-runs", type=pathlib.Path, default=ROOT / "runs" / "warm_start")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    add_out_option(parser, "warm_start")
    options = parser.parse_args()
    first = {
        "dates": (ROOT / "data" / "dates", []),
        "pronunciation": (
            write(pronunciation(options.data, "fre"), options.out_runs / "data" / "fre"),
            ["--epochs", "20"],
        ),
    }
    second = {
        "dates": dates_written_otherwise(),
        "pronunciation": pronunciation(options.data, "rum"),
    }
    rows = []
    for task, (recipe, sizes) in RECIPES.items():
        data, more = first[task]
        base = options.out_runs / task / "first"
        trained(base, data, [*recipe, *more])
        for size in sizes:
            folder = write(second[task], options.out_runs / "data" / f"{task}-{size}", size)
            epochs = ["--epochs", str(EPOCHS[size])]
            row = {"task": task, "pairs": size, "epochs": int(epochs[1])}
            for start, init in (("nothing", []), ("first", ["--init-from", str(base)])):
                found = [
                    trained(
                        options.out_runs / task / f"{size}-{start}-{seed}",
                        folder,
                        [*recipe, *epochs, *init, "--seed", str(seed)],
                    )["test"]
                    for seed in options.seeds
                ]
                row[f"exact_match_from_{start}"] = [each["exact_match"] for each in found]
                row[f"token_error_rate_from_{start}"] = [each["token_error_rate"] for each in found]
            row["n"] = found[0]["n"]
            rows.append(row)
            print(json.dumps(row), flush=True)
            write_results(options.out, rows)


if __name__ == "__main__":
    main()
