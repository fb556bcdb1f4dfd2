"""What the modules that generate data share: one order for one seed, and their command line."""

import argparse
import pathlib
import random
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits


def shuffled(items: Iterable, rng: random.Random) -> list:
    """The items in an order that `rng` draws, the same in every version of Python."""
    # Of a generator's methods only random() is promised to stay as it is.
    return sorted(items, key=lambda _: rng.random())


def run(
    module: str, out: str, generate: Callable[[int], Splits], arguments: list[str] | None
) -> int:
    """`python -m keras_attention.MODULE --out FOLDER --seed N`; returns the exit status."""
    parser = _Parser(prog=f"python -m keras_attention.{module}", description=f"Writes {out} again.")
    parser.add_argument("--out", type=pathlib.Path, default=out, help=f"folder (default: {out})")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        splits = generate(options.seed)
        for name, pairs in splits._asdict().items():
            write_pairs(options.out / f"{name}.tsv", pairs)
    except OSError as error:
        print(f"error: {options.out}: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    print(*(f"{name} {len(pairs)}" for name, pairs in splits._asdict().items()), sep="\n")
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\n")
