"""Does every score of the attention learn to move, from the defaults, on every kind of task?

    python -m benchmarks.scores --g2p FOLDER --sentences FOLDER [--seeds 1 2 3] [--runs runs/scores]

Trains each score with the defaults of `train.py` on dates, on the pronunciation of one language and
on sentences (subwords on both sides), with each seed. A map is frozen if its largest weight is at
one position in every step. Shown are, of the last epoch, the share of frozen maps among the
validation answers and the mean of the largest weights, beside what the task is judged by. What is
finished is not trained again.

The two folders are laid out as `train.py --data` reads them, such as `runs/g2p/data/hun` of
`benchmarks.g2p` and `runs/sentences/data` of `benchmarks.sentences`.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import subprocess
import sys

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.folders.run_folder import HISTORY, is_finished, read_metrics
from keras_attention.layers.attention import SCORES

DATES = ROOT / "data" / "dates"
SUBWORDS = ("--source-tokens", "subword", "--target-tokens", "subword", "--joint")
TASKS: dict[str, tuple[str, ...]] = {
    "dates": (),
    "pronunciation": ("--target-tokens", "word"),
    "sentences": (*SUBWORDS, "--subwords", "4000", "--epochs", "4"),
}


def main() -> None:
    options = parse()
    places = {"dates": DATES, "pronunciation": options.g2p, "sentences": options.sentences}
    rows = []
    for task in options.tasks:
        for score in SCORES:
            for seed in options.seeds:
                out = options.runs / task / f"{score}-{seed}"
                train(task, score, seed, places[task], out)
                rows.append({"task": task, "score": score, "seed": seed, **figures(out)})
                print(rows[-1], flush=True)
    write_results(options.out, rows, ("task", "score", "seed"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--g2p", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--sentences", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs" / "scores")
    add_out_option(parser, "scores")
    options = parser.parse_args()
    for task, folder in (("pronunciation", options.g2p), ("sentences", options.sentences)):
        if task in options.tasks and folder is None:
            parser.error(f"{task}: name the folder of its pairs, or leave it out of --tasks")
    return options


def train(task: str, score: str, seed: int, data: pathlib.Path, out: pathlib.Path) -> None:
    if is_finished(out):
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    flags = ["--data", data, "--out", out, "--seed", seed, "--attention", score, *TASKS[task]]
    command = [sys.executable, ROOT / "train.py", "--resume", *flags]
    with open(f"{out}.log", "a", encoding="utf-8") as log:
        subprocess.run(
            [str(part) for part in command], cwd=ROOT, stdout=log, stderr=log, check=True
        )


def figures(out: pathlib.Path) -> dict:
    """Of the last epoch how maps move, and of the whole training how good it became."""
    with open(out / HISTORY, encoding="utf-8", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    return {
        "one_position": round(float(last["one_position"]), 4),
        "mean_largest_weight": round(float(last["mean_largest_weight"]), 3),
        "valid_bleu": round(float(last["valid_bleu"]), 2),
        "exact_match": read_metrics(out)["test"]["exact_match"],
    }


if __name__ == "__main__":
    main()
