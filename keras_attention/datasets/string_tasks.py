"""Copy and reverse of random strings: tasks whose right attention is known to the last link.

Copying needs the diagonal of the attention map, reversing the anti-diagonal. There is nothing to
learn but where to look, and strings of random letters cannot be compressed: so the tasks show at
which length a vector of fixed size is full.
"""

from __future__ import annotations

import random
import string

from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits

SHORTEST, LONGEST = 5, 60
LETTERS = string.ascii_lowercase
TASKS = ("copy", "reverse")


def generate(task: str, seed: int, train: int, valid: int, test: int) -> Splits:
    """Pairs of random strings of 5 to 60 letters with their alignment, no source twice.

    Args:
        task: "copy" or "reverse".
        seed: The same seed gives the same strings for both tasks.
        train, valid, test: Numbers of pairs.

    Raises:
        ValueError: an unknown task.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}. Received: task={task!r}")
    rng = random.Random(seed)
    sources: dict[str, None] = {}
    while len(sources) < train + valid + test:
        # Of a generator's methods only random() is promised to stay as it is.
        length = SHORTEST + int(rng.random() * (LONGEST - SHORTEST + 1))
        letters = (LETTERS[int(rng.random() * len(LETTERS))] for _ in range(length))
        sources["".join(letters)] = None
    pairs = [_pair(source, task) for source in sources]
    return Splits(pairs[:train], pairs[train : train + valid], pairs[train + valid :])


def _pair(source: str, task: str) -> Pair:
    last = len(source) - 1
    if task == "copy":
        return Pair(source, source, tuple(Link(i, i, True) for i in range(last + 1)))
    links = tuple(Link(last - i, i, True) for i in range(last + 1))
    return Pair(source, source[::-1], links)
