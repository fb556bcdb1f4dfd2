"""How long each command takes from a cold start: `python -m benchmarks.startup [--model FILE]`.

Each command is a fresh process, in alternation; the median and the least of the rounds. Files are
in memory after the first round. The bare interpreter's time is shown, too, since no command can
be faster. About half a minute on two cores.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.result_files import add_out_option, write_results

ROOT = pathlib.Path(__file__).parent.parent
TEXT = "september 27, 1994"
TENSORFLOW = ["--engine", "tensorflow"]
PICTURE = os.path.join(tempfile.gettempdir(), "startup.png")


def commands(models: list[str]) -> dict[str, list[str]]:
    found = {
        "python -c pass": ["-c", "pass"],
        "import keras_attention": ["-c", "import keras_attention"],
        "from keras_attention import Attention": ["-c", "from keras_attention import Attention"],
        "train.py --help": ["train.py", "--help"],
        "export.py --help": ["export.py", "--help"],
        "python -m keras_attention --help": ["-m", "keras_attention", "--help"],
        "check data/dates": ["-m", "keras_attention", "check", "data/dates"],
    }
    for model in models:
        kind = pathlib.Path(model).suffix or "folder"
        verb = ["-m", "keras_attention"]
        found[f"translate {kind}"] = [*verb, "translate", model, TEXT]
        if kind == "folder":
            found["translate folder, TensorFlow"] = [*found["translate folder"], *TENSORFLOW]
            found["plot folder"] = [*verb, "plot", model, TEXT, "--out", PICTURE]
    return found


def run(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", nargs="+", default=[], help="runs, exports or .tflite files")
    parser.add_argument("--rounds", type=int, default=5)
    add_out_option(parser, "startup")
    options = parser.parse_args()
    seconds = {name: [] for name in commands(options.model)}
    for turn in range(options.rounds + 1):
        for name, arguments in commands(options.model).items():
            took = run(arguments)
            if turn:  # the first round reads the files from disk
                seconds[name].append(took)
    print(f"load {os.getloadavg()[0]:.1f}\n\n| command | median s | least s |\n|---|---|---|")
    rows = []
    for name, values in seconds.items():
        rows.append({"command": name, "median": statistics.median(values), "least": min(values)})
        print(f"| {name} | {rows[-1]['median']:.2f} | {rows[-1]['least']:.2f} |")
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
