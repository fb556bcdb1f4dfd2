"""The figures of `python -m keras_attention compare` that pages show: `... benchmarks.comparison`.

    python -m benchmarks.comparison [--folder comparisons/dates] [--seeds 1]

Runs the comparison, or takes what a finished one left in the folder, and gathers the results of its
15 models. The model with attention then reverses 1,000 new strings of exactly 40 letters each. With
nothing trained yet this takes most of an hour on two cores.
"""

import argparse
import json
import pathlib
import random
import string
import subprocess
import sys

from benchmarks.result_files import ROOT, add_out_option, write_results

LETTERS, STRINGS, SEED = 40, 1000, 40


def reversed_right(run: pathlib.Path) -> int:
    """How many of 1,000 random strings of 40 letters the run reverses without a mistake."""
    from keras_attention.commands import load_translator

    draw = random.Random(SEED)
    sources = ["".join(draw.choices(string.ascii_lowercase, k=LETTERS)) for _ in range(STRINGS)]
    answers = load_translator(str(run)).translate(sources)
    return sum(t.text == source[::-1] for t, source in zip(answers, sources, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "comparisons" / "dates")
    parser.add_argument("--seeds", type=int, default=1)
    add_out_option(parser, "comparison")
    options = parser.parse_args()
    command = [sys.executable, "-m", "keras_attention", "compare", "--out", str(options.folder)]
    subprocess.run([*command, "--seeds", str(options.seeds)], cwd=ROOT, check=True)
    files = sorted((options.folder / "runs").glob("*/*/result.json"))
    models = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    right = reversed_right(options.folder / "runs" / "reverse" / "attention-1")
    print(f"{right} of {STRINGS} strings of {LETTERS} letters reversed")
    of_forty = {"letters": LETTERS, "n": STRINGS, "right": right}
    write_results(options.out, {"models": models, "reversing_40_letters": of_forty})


if __name__ == "__main__":
    main()
