"""`python train.py` on data/dates as a user runs it: exact match and seconds of the whole command.

    python -m benchmarks.default_training [--seeds 1 2 3] [--recipes "2 64" "1 32" ...]

A recipe is "EPOCHS BATCH"; the first is the default of `train.py`. Every training is a process of
its own, seeds in turn. About three minutes on two cores.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks.result_files import ROOT, add_out_option, write_results

RECIPES = ["2 64", "1 32", "3 64", "3 128", "6 256"]


def train(folder: pathlib.Path, seed: int, epochs: int, batch_size: int) -> dict:
    """One training: what it scored on the test pairs, and how long the command took."""
    out = folder / f"{epochs}-{batch_size}-{seed}"
    command = [sys.executable, "train.py", "--out", out, "--seed", seed]
    command += ["--epochs", epochs, "--batch-size", batch_size]
    started = time.perf_counter()
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, capture_output=True)
    seconds = time.perf_counter() - started
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    return {
        "seed": seed,
        "exact_match": metrics["test"]["exact_match"],
        "n": metrics["test"]["n"],
        "seconds": seconds,
        "seconds_of_training": metrics["seconds"]["training"],
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--recipes", nargs="+", default=RECIPES, metavar='"EPOCHS BATCH"')
    add_out_option(parser, "default_training")
    options = parser.parse_args()
    rows = []
    print("| epochs | batch | exact match | seconds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for recipe in options.recipes:
            epochs, batch_size = map(int, recipe.split())
            runs = [train(pathlib.Path(folder), s, epochs, batch_size) for s in options.seeds]
            rows.append({"epochs": epochs, "batch_size": batch_size, "runs": runs})
            scores = ", ".join(f"{run['exact_match']:.4f}" for run in runs)
            seconds = ", ".join(f"{run['seconds']:.1f}" for run in runs)
            print(f"| {epochs} | {batch_size} | {scores} | {seconds} |", flush=True)
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
