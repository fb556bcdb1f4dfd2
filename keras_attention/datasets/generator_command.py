"""What the modules that generate data share: one order for one seed, and their command line."""

import random
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from keras_attention._runtime.command_line import Parser
from keras_attention._runtime.lock import folder_lock
from keras_attention.errors import UserError
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits

Item = TypeVar("Item")


class Sizes(NamedTuple):
    """Numbers of pairs."""

    train: int
    valid: int
    test: int


def shuffled(items: Iterable[Item], rng: random.Random) -> list[Item]:
    """The items in an order that `rng` draws, the same in every version of Python."""
    # Of a generator's methods only random() is promised to stay as it is.
    return sorted(items, key=lambda _: rng.random())


def run(module: str, out: str, generate: Callable[[int], Splits], arguments: list[str]) -> None:
    """`python -m keras_attention.datasets.MODULE --out FOLDER --seed N`.

    Raises:
        UserError: an unknown option, or a folder that cannot be written to or is being written to.
    """
    prog = f"python -m keras_attention.datasets.{module}"
    parser = Parser(prog=prog, description=f"Writes {out} again.")
    parser.add_argument("--out", default=out, metavar="FOLDER", help=f"default: {out}")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    options = parser.parse_args(arguments)
    with folder_lock(options.out) as folder:
        splits = generate(options.seed)
        for name, pairs in splits._asdict().items():
            path = folder / f"{name}.tsv"
            try:
                write_pairs(path, pairs)
            except OSError as error:
                raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    print(*(f"{name} {len(pairs)}" for name, pairs in splits._asdict().items()), sep="\n")
