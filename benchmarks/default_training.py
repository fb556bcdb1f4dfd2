"""`python train.py` on data/dates as a user runs it: exact match and seconds of the whole command.

    python -m benchmarks.default_training [--seeds 1 2 3] [--recipes default "1 32" ...]

A recipe is "EPOCHS BATCH", or "default" for what `train.py` chooses. Every training is a process of
its own, seeds in turn. About four minutes on two cores.
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

RECIPES = ["default", "1 32", "3 64", "3 128", "6 256"]


def train(folder: pathlib.Path, seed: int, recipe: str) -> dict:
    """One training: what it scored on the test pairs, and how long the command took."""
    out = folder / f"{recipe.replace(' ', '-')}-{seed}"
    command = [sys.executable, "train.py", "--out", str(out), "--seed", str(seed)]
    if recipe != "default":
        epochs, batch_size = recipe.split()
        command += ["--epochs", epochs, "--batch-size", batch_size]
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
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
    parser.add_argument("--recipes", nargs="+", default=RECIPES, metavar="RECIPE")
    add_out_option(parser, "default_training")
    options = parser.parse_args()
    rows = []
    print("| epochs and batch | exact match | seconds |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for recipe in options.recipes:
            runs = [train(pathlib.Path(folder), seed, recipe) for seed in options.seeds]
            rows.append({"recipe": recipe, "runs": runs})
            scores = ", ".join(f"{run['exact_match']:.4f}" for run in runs)
            seconds = ", ".join(f"{run['seconds']:.1f}" for run in runs)
            print(f"| {recipe} | {scores} | {seconds} |", flush=True)
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
