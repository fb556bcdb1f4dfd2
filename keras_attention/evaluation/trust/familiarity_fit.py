"""What training saw, and how odd ordinary pairs are: `engine.familiarity`, fitted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.engine.familiarity import (
    MOST_UNSEEN,
    Familiarity,
    GramTable,
    cells_of,
    doubt_of,
    packed,
    table_size,
)
from keras_attention.text.vocabulary import RaggedIds

# With fewer ordinary pairs nothing can be called rarer than one in 200.
LEAST_PAIRS = 200
TURNED_AWAY = 0.005
# Beyond the longest n-grams of which this share of ordinary pairs holds an unseen one, most pairs
# hold one.
RARE = 0.002
LONGEST_GRAM = 6
_ROWS = 4096  # hashed at a time
# Two n-grams share a number once in about the product of these.
_PRIMES = (1_000_003, 999_983)


class Grams:
    """The n-grams of one side of the training pairs, of lengths 1 to `LONGEST_GRAM`."""

    def __init__(self) -> None:
        self._hashes: list[np.ndarray] = [np.zeros(0, np.int64)] * LONGEST_GRAM

    def add(self, ids: RaggedIds) -> None:
        """Remembers the n-grams of some texts."""
        for length in range(1, LONGEST_GRAM + 1):
            found = [self._hashes[length - 1]]
            found += [np.unique(hashes[real]) for hashes, real in _hashed(ids, length)]
            self._hashes[length - 1] = np.unique(np.concatenate(found))

    def longest_known(self, ids: RaggedIds) -> int:
        """The length of the longest n-grams that hardly a text has an unseen one of; at least 1."""
        most = max(1, RARE * len(ids))
        for length in range(LONGEST_GRAM, 1, -1):
            known = self._hashes[length - 1]
            unseen = sum(
                np.count_nonzero((~np.isin(hashes, known) & real).any(axis=1))
                for hashes, real in _hashed(ids, length)
            )
            if unseen <= most:
                return length
        return 1

    def table(self, texts: Iterable[RaggedIds], length: int, ordinary: RaggedIds) -> GramTable:
        """A table of the n-grams of one length.

        Args:
            texts: The training texts once more.
            length: n.
            ordinary: Texts whose unseen n-grams say how rare these are.
        """
        size = table_size(len(self._hashes[length - 1]))
        cells = [
            np.unique(cells[real])
            for ids in texts
            for part, lengths in _padded(ids)
            for cells, real in [cells_of(part, lengths, length, size)]
        ]
        table = GramTable(length, size, packed(np.concatenate(cells), size), (0.0,))
        unseen = np.concatenate([table.unseen(*part) for part in _padded(ordinary)])
        counts = range(min(int(unseen.max()), MOST_UNSEEN) + 2)
        rare = tuple(_surprise_of((unseen >= count).sum(), len(unseen)) for count in counts)
        return GramTable(length, size, table.words, rare)


def fit_familiarity(
    training: Sequence[tuple[RaggedIds, RaggedIds]],
    sources: RaggedIds,
    answers: RaggedIds,
    log_probabilities: Sequence[float],
) -> Familiarity | None:
    """The map for a model, from what it was trained on and what it makes of ordinary sources.

    Args:
        training: Token ids of sources and targets, in one block or several; read twice.
        sources: Ordinary sources that were not trained on.
        answers: What the model makes of them.
        log_probabilities: Of the answers.

    Returns:
        None for fewer than `LEAST_PAIRS` ordinary pairs.
    """
    n = len(sources)
    if n < LEAST_PAIRS:
        return None
    grams = Grams(), Grams()
    for block in training:
        for side, ids in zip(grams, block, strict=True):
            side.add(ids)
    known = grams[0].longest_known(sources)
    texts = [[block[side] for block in training] for side in (0, 1)]
    tables = tuple(
        grams[0].table(texts[0], length, sources)
        for length in sorted({known, known + 1})
        if length <= LONGEST_GRAM
    )
    answer = grams[1].table(texts[1], grams[1].longest_known(answers), answers)
    knots, knot_surprises = _knots(doubt_of(np.asarray(log_probabilities, np.float64)))
    unscaled = Familiarity(tables, answer, knots, knot_surprises, 0.0, 1.0, n)
    everywhere = np.arange(n)
    surprise = unscaled.surprise(
        sources.padded(everywhere),
        sources.lengths,
        answers.padded(everywhere)[:, None],
        answers.lengths[:, None],
        np.asarray(log_probabilities)[:, None],
    )[:, 0]
    falling = np.sort(surprise)[::-1]
    # A little above the last pair that is to be answered, so that rounding does not turn it away.
    threshold = float(falling[int(TURNED_AWAY * n)]) + 0.05
    # So narrow that the factor of the median pair is within 1 in 3,000 of 1.
    width = max((threshold - float(np.median(surprise))) / 8, 0.05)
    return Familiarity(tables, answer, knots, knot_surprises, threshold, width, n)


def _knots(doubt: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Between which points the surprise of a log-probability is linear."""
    falling = np.sort(doubt)[::-1]
    n = len(falling)
    ranks = [n]
    while ranks[-1] > 1:
        ranks.append(ranks[-1] // 2)
    points: dict[float, float] = {float(falling[rank - 1]): _surprise_of(rank, n) for rank in ranks}
    points[max(points) + 0.5] = _surprise_of(0, n)
    knots = sorted(points)
    return tuple(knots), tuple(points[knot] for knot in knots)


def _surprise_of(as_odd: int, n: int) -> float:
    """- log of the share of ordinary pairs that are at least as odd, this one counted."""
    return math.log((1 + n) / (1 + int(as_odd)))


def _padded(ids: RaggedIds) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    order = np.argsort(ids.lengths, kind="stable")
    for first in range(0, len(order), _ROWS):
        rows = order[first : first + _ROWS]
        yield ids.padded(rows), ids.lengths[rows]


def _hashed(ids: RaggedIds, length: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Numbers that stand for the n-grams of each text, and which of them are of it."""
    for part, lengths in _padded(ids):
        first, real = cells_of(part, lengths, length, _PRIMES[0])
        second, _ = cells_of(part, lengths, length, _PRIMES[1])
        yield first * _PRIMES[1] + second, real
