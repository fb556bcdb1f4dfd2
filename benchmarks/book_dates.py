"""Trains on the file `date.txt` of "Deep Learning from Scratch 2" and scores two of its splits.

    python benchmarks/book_dates.py PATH/date.txt

The book's own split leaves 28 % of the test sources in the training set, so that a model can know
their answers by heart; the second score leaves those out. The recipe is the default one of
`train.py`; validation pairs are the last twentieth of the book's training pairs. About a minute on
two cores; exact match is at least 0.999 on both, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from benchmarks.result_files import add_out_option, write_results
from keras_attention.commands import exit_with_user_errors, import_tensorflow_quietly
from keras_attention.config import Config
from keras_attention.datasets.dates import read_book_dates, split_book_dates
from keras_attention.pairs.splits import Splits

LEAST = 0.999


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get("KERAS_ATTENTION_DATA", ".")
    parser.add_argument("path", nargs="?", default=f"{folder}/book_dates/date.txt")
    parser.add_argument("--seed", type=int, default=1)
    add_out_option(parser, "book_dates")
    options = parser.parse_args(arguments)
    pairs = read_book_dates(options.path)
    train_pairs, test = split_book_dates(pairs)
    _, unseen = split_book_dates(pairs, unseen_only=True)
    cut = len(train_pairs) - len(train_pairs) // 20
    splits = Splits(train_pairs[:cut], train_pairs[cut:], test)

    import_tensorflow_quietly()
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.training.trainer import train

    started = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        config = Config(data=options.path, out=out, seed=options.seed)
        translator = train(config, splits, started=started).translator
    seconds = time.monotonic() - started
    print(f"trained in {seconds:.0f} s")
    scores = {
        "the book's split": evaluate(translator, test),
        "without sources seen in training": evaluate(translator, unseen),
    }
    for name, score in scores.items():
        print(f"exact match, {name}: {score.exact_match:.4f} (n={score.n})")
    rows = {name: {"exact_match": s.exact_match, "n": s.n} for name, s in scores.items()}
    write_results(options.out, {"seed": options.seed, "seconds": seconds, "scores": rows})
    if min(score.exact_match for score in scores.values()) < LEAST:
        sys.exit(1)


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
