"""What the course says about trained models: `python -m benchmarks.course [--runs runs/course]`.

Trains the default model with seeds 1, 2 and 3 and the phrase model, where the folder does not hold
them yet, and counts on the test pairs how often a digit of the month looks at the month's name (the
largest weight of its row lies on one of its letters). About two minutes on two cores.
"""

import argparse
import pathlib
import subprocess
import sys

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.commands import load_translator
from keras_attention.folders.run_folder import is_finished, read_metrics
from keras_attention.pairs.pair_files import read_pairs

SEEDS = (1, 2, 3)
MONTHS = {
    "January to September": range(1, 10),
    "August": (8,),
    "October to December": range(10, 13),
}
ROWS = {"first digit": 5, "second digit": 6}
PHRASES = ["--data", "data/phrases", "--source-tokens", "word", "--target-tokens", "word"]
PHRASES += ["--epochs", "30", "--batch-size", "64"]


def trained(out: pathlib.Path, options: list[str]) -> pathlib.Path:
    """The folder of a finished run with these options of `train.py`."""
    if not is_finished(out):
        command = [sys.executable, "train.py", *options, "--out", str(out), "--resume"]
        subprocess.run(command, cwd=ROOT, check=True)
    return out


def month_name(pair) -> set[int]:
    """Positions of the letters that name the month; none where it is written in digits."""
    second_digit = [link.source for link in pair.alignment if link.target == 6]
    return {position for position in second_digit if pair.source[position].isalpha()}


def looks_at_names(run: pathlib.Path) -> dict:
    """Of each group of months and each digit: rows whose largest weight is on the name, and all."""
    pairs = [pair for pair in read_pairs(ROOT / "data/dates/test.tsv") if month_name(pair)]
    answers = load_translator(str(run)).translate([pair.source for pair in pairs])
    counts = {}
    for months, numbers in MONTHS.items():
        for digit, row in ROWS.items():
            on_the_name = [
                bool(answer.attention_weights[row].argmax() in month_name(pair))
                for pair, answer in zip(pairs, answers, strict=True)
                if int(pair.target[5:7]) in numbers
            ]
            counts[f"{months}, {digit}"] = {"on": sum(on_the_name), "of": len(on_the_name)}
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs" / "course")
    add_out_option(parser, "course")
    options = parser.parse_args()
    dates = {s: trained(options.runs / f"dates-{s}", ["--seed", str(s)]) for s in SEEDS}
    phrases = trained(options.runs / "phrases", PHRASES)
    results = {
        "dates": [
            {
                "seed": seed,
                "exact_match": read_metrics(run)["test"]["exact_match"],
                "looks_at_names": looks_at_names(run),
            }
            for seed, run in dates.items()
        ],
        "phrases": read_metrics(phrases)["test"],
    }
    for row in results["dates"]:
        for name, count in row["looks_at_names"].items():
            print(f"seed {row['seed']}, {name}: {count['on']} of {count['of']}")
    write_results(options.out, results)


if __name__ == "__main__":
    main()
