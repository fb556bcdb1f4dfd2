"""A small task that is learnt in seconds, and the options that learn it."""

import pathlib
import random
from typing import NamedTuple

from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits

# Small enough to be learnt in a few seconds, of every kind of layer that the defaults have.
SMALL = ("--units", "32", "--embedding-size", "16", "--epochs", "8", "--batch-size", "32")
EAGER_LEARNER = ("--learning-rate", "0.02", "--dropout", "0.05", "--decoder-input-dropout", "0.1")


class TrainedRun(NamedTuple):
    """A run folder and what was printed while it came to be."""

    path: pathlib.Path
    output: str


def reversal_splits(seed: int = 0) -> Splits:
    """Words of one to five of the letters a to e, and the same words backwards."""
    random_generator = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < 700:
        length = random_generator.randint(1, 5)
        words["".join(random_generator.choice("abcde") for _ in range(length))] = None
    pairs = [Pair(word, word[::-1]) for word in words]
    random_generator.shuffle(pairs)
    return Splits(pairs[:500], pairs[500:600], pairs[600:])


def write_splits(folder: pathlib.Path, splits: Splits) -> pathlib.Path:
    folder.mkdir()
    for name, pairs in zip(Splits._fields, splits, strict=True):
        write_pairs(folder / f"{name}.tsv", pairs)
    return folder
