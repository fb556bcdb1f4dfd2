"""How far a source and its answer are like what training saw, as a factor of the confidence.

A calibrated probability holds for sources like those it was fitted on. An impossible date is read
with a probability near 1 all the same, since nothing in training was impossible. What gives it
away: pieces that training never saw, in the source or in the answer, and a probability that is low
for this task. Each is measured by how rare it is among ordinary pairs that were not trained on:

    surprise = - sum over features of log P(an ordinary pair is at least as odd)
    familiarity = 1 / (1 + exp((surprise - threshold) / width))

The features: tokens in a row (n-grams) of the source that training never had, of two lengths;
likewise of the answer, of one length; the log-probability of the best answer. No odd input is
needed to fit it: the threshold is the surprise that one ordinary pair in 200 exceeds.

N-grams are remembered in bit tables by hash (Bloom, 1970, with one hash function): a seen one is
always found, an unseen one is taken for seen about once in 16 times.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import math

import numpy as np

# As `engine.decoder` numbers them; n-grams begin and end with them.
_START, _END = 1, 2
# h = (h * FACTOR + id) mod size stays below 2 ** 31 for sizes up to LARGEST_TABLE, so that a graph
# can compute it in int32.
FACTOR = 2039
LARGEST_TABLE = 1_048_573
_CELLS_PER_GRAM = 16
BITS = 31  # of a word of a table; the sign stays free
# Counts above the last that was met are as odd as that one.
MOST_UNSEEN = 8


@dataclasses.dataclass(frozen=True)
class GramTable:
    """The n-grams of one length that training had on one side.

    Attributes:
        length: n.
        size: Cells, a prime number; cell c is bit c mod 31 of word c // 31.
        words: int32, base64 of little-endian bytes.
        surprises: Of 0, 1, 2, ... unseen n-grams; more are like the last.
    """

    length: int
    size: int
    words: str
    surprises: tuple[float, ...]

    @functools.cached_property
    def table(self) -> np.ndarray:
        """int32 `(ceil(size / 31),)`."""
        return np.frombuffer(base64.b64decode(self.words), "<i4").astype(np.int32)

    def unseen(self, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """How many n-grams of each row training never had.

        Args:
            ids: int `(r, S)`, right-padded with 0.
            lengths: int `(r,)`.

        Returns:
            int64 `(r,)`.
        """
        cells, real = cells_of(ids, lengths, self.length, self.size)
        seen = (self.table[cells // BITS] >> (cells % BITS)) & 1
        return np.count_nonzero((seen == 0) & real, axis=1)


@dataclasses.dataclass(frozen=True)
class Familiarity:
    """A fitted map, see the module.

    Attributes:
        source: Tables of the source's n-grams.
        answer: Table of the answer's.
        knots: Rising, of `doubt_of`; between them the surprise is linear, outside constant.
        knot_surprises: As many.
        threshold, width: See the module.
        n: Ordinary pairs that it was fitted on.
    """

    source: tuple[GramTable, ...]
    answer: GramTable
    knots: tuple[float, ...]
    knot_surprises: tuple[float, ...]
    threshold: float
    width: float
    n: int

    def surprise(
        self,
        source_ids: np.ndarray,
        source_lengths: np.ndarray,
        answer_ids: np.ndarray,
        answer_lengths: np.ndarray,
        log_probability: np.ndarray,
    ) -> np.ndarray:
        """How odd sources and their k answers are.

        Args:
            source_ids: int `(n, S)`, right-padded with 0.
            source_lengths: int `(n,)`.
            answer_ids: int `(n, k, T)`, right-padded with 0.
            answer_lengths: int `(n, k)`.
            log_probability: float `(n, k)`, the best first: the others share its surprise.

        Returns:
            float64 `(n, k)`.
        """
        n, k, steps = answer_ids.shape
        total = np.interp(doubt_of(log_probability[:, :1]), self.knots, self.knot_surprises)
        for table in self.source:
            total = total + _looked_up(table, table.unseen(source_ids, source_lengths))[:, None]
        unseen = self.answer.unseen(answer_ids.reshape(-1, steps), answer_lengths.ravel())
        return total + _looked_up(self.answer, unseen).reshape(n, k)

    def factor(self, surprise: np.ndarray) -> np.ndarray:
        """What confidences are multiplied with, in (0, 1)."""
        logit = np.minimum((surprise - self.threshold) / self.width, 30.0)
        return 1.0 / (1.0 + np.exp(logit))


def familiarity_of(content: dict) -> Familiarity:
    """From what `dataclasses.asdict` made of it.

    Raises:
        TypeError, ValueError, KeyError: it was not that.
    """
    fields = dict(content)
    fields["source"] = tuple(_table_of(table) for table in fields["source"])
    fields["answer"] = _table_of(fields["answer"])
    for name in ("knots", "knot_surprises"):
        fields[name] = tuple(map(float, fields[name]))
    return Familiarity(**fields)


def _table_of(content: dict) -> GramTable:
    table = GramTable(**content | {"surprises": tuple(map(float, content["surprises"]))})
    if len(table.table) * BITS < table.size or table.length < 1 or not table.surprises:
        raise ValueError("a table of another size")
    return table


def doubt_of(log_probability: np.ndarray) -> np.ndarray:
    """Log-probabilities from 0 down on a scale on which small ones can be told apart."""
    return np.log(1e-4 - np.minimum(log_probability, 0.0))


def cells_of(
    ids: np.ndarray, lengths: np.ndarray, length: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where the n-grams of each row stand in a table; one ends at each token and at the end symbol.

    Args:
        ids: int `(r, S)`, right-padded with 0.
        lengths: int `(r,)`.
        length: n; in front of the row the start symbol is repeated.
        size: Of the table.

    Returns:
        Cells int64 `(r, S + 1)`, and which of them are of the row, bool of the same shape.
    """
    rows, columns = ids.shape
    row = np.full((rows, length - 1 + columns + 1), _START, np.int64)
    row[:, length - 1 : -1] = ids
    row[:, -1] = 0
    row[np.arange(rows), length - 1 + lengths] = _END
    cells = np.zeros((rows, columns + 1), np.int64)
    for place in range(length):
        cells = (cells * FACTOR + row[:, place : place + columns + 1]) % size
    return cells, np.arange(columns + 1) <= np.asarray(lengths)[:, None]


def table_size(grams: int) -> int:
    """Cells of a table for so many n-grams: a prime number."""
    size = min(max(grams * _CELLS_PER_GRAM, 97), LARGEST_TABLE)
    while any(size % factor == 0 for factor in range(2, math.isqrt(size) + 1)):
        size -= 1
    return size


def packed(cells: np.ndarray, size: int) -> str:
    """The words of a table in which these cells are set, as `GramTable.words` holds them."""
    bits = np.zeros(-(-size // BITS) * BITS, np.int64)
    bits[cells] = 1
    words = (bits.reshape(-1, BITS) << np.arange(BITS)).sum(axis=1)
    return base64.b64encode(words.astype("<i4").tobytes()).decode("ascii")


def _looked_up(table: GramTable, unseen: np.ndarray) -> np.ndarray:
    surprises = np.asarray(table.surprises)
    return surprises[np.minimum(unseen, len(surprises) - 1)]
