"""Pairs of texts into teacher-forcing batches with little padding.

Letters in shape comments: B batch size, S source length, T target length with the end symbol.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_attention.pairs.pair import Pair
from keras_attention.text.vocabulary import END, START, UNKNOWN, RaggedIds, Vocabulary

# A batch holds at most this many positions of its longer side, padding counted: one source of
# 10,000 characters among short ones would else pad a whole batch to 20 gigabytes of states.
POSITIONS_PER_BATCH = 65_536


class EncodedPairs(NamedTuple):
    """Many pairs as token ids; the two sides have equally many rows."""

    source: RaggedIds
    target: RaggedIds

    def blocks(self, rng: np.random.Generator) -> Iterator[EncodedPairs]:
        """The one block that pairs in memory are, whatever the random generator."""
        yield self


class StreamedPairs:
    """Pairs that are read and encoded anew in each epoch, one block at a time.

    Args:
        shuffled: Called with a random generator, yields all pairs in an order of its choice.
        source, target: The vocabularies.
        block_size: Pairs in a block: what is shuffled together, and all that is held at a time.
    """

    def __init__(
        self,
        shuffled: Callable[[np.random.Generator], Iterable[Pair]],
        source: Vocabulary,
        target: Vocabulary,
        block_size: int,
    ):
        self._shuffled = shuffled
        self._vocabularies = source, target
        self._block_size = block_size

    def blocks(self, rng: np.random.Generator) -> Iterator[EncodedPairs]:
        """One epoch, cut into blocks; the random generator decides which pairs meet in one."""
        for pairs in in_blocks(self._shuffled(rng), self._block_size):
            yield encode_pairs(pairs, *self._vocabularies)


class Batch(NamedTuple):
    """What one training step sees; all int32, right-padded with 0.

    Attributes:
        source_ids: `[B, S]`, in reading order.
        decoder_ids: `[B, T]`, the target behind the start symbol: what the teacher forces.
        target_ids: `[B, T]`, the target with the end symbol: what is to be predicted.
    """

    source_ids: np.ndarray
    decoder_ids: np.ndarray
    target_ids: np.ndarray


def encode_pairs(pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary) -> EncodedPairs:
    """Token ids of all pairs.

    Args:
        pairs: Texts of both sides.
        source: The vocabulary of the source side.
        target: The vocabulary of the target side.
    """
    return EncodedPairs(
        source.encode([pair.source for pair in pairs]),
        target.encode([pair.target for pair in pairs]),
    )


def make_batch(pairs: EncodedPairs, rows: np.ndarray) -> Batch:
    """The chosen rows, shifted for teacher forcing and padded to the longest of them.

    Args:
        pairs: Of `encode_pairs`.
        rows: int `[B]`, which of them.

    Returns:
        `source_ids` int32 `[B, S]`, `decoder_ids` and `target_ids` int32 `[B, T]`.
    """
    lengths = pairs.target.lengths[rows]
    width = int(lengths.max(initial=0)) + 1
    target_ids = pairs.target.padded(rows, width)
    decoder_ids = np.zeros_like(target_ids)
    decoder_ids[:, 0] = START
    decoder_ids[:, 1:] = target_ids[:, :-1]
    target_ids[np.arange(len(rows)), lengths] = END
    return Batch(pairs.source.padded(rows), decoder_ids, target_ids)


def in_blocks(pairs: Iterable[Pair], block_size: int) -> Iterator[list[Pair]]:
    """The pairs in lists of `block_size`; the last may be shorter."""
    iterator = iter(pairs)
    while block := list(itertools.islice(iterator, block_size)):
        yield block


def training_batches(
    pairs: EncodedPairs | StreamedPairs,
    batch_size: int,
    unknown_rate: float,
    seed: int,
    epoch: int,
) -> Iterator[Batch]:
    """One epoch in an order of its own: shuffled, then batched by length, then shuffled again.

    Args:
        pairs: All training pairs.
        batch_size: B; the last batch of a block and those of very long pairs may be smaller.
        unknown_rate: Share of the source tokens that become the unknown token.
        seed, epoch: Together they fix order and replaced tokens, so that a resumed training sees
            what it would have seen.
    """
    rng = np.random.default_rng([seed, epoch])
    for block in pairs.blocks(rng):
        batches = rows_by_length(*_lengths(block), batch_size, rng.permutation(len(block.source)))
        for index in rng.permutation(len(batches)):
            batch = make_batch(block, batches[index])
            replaced = rng.random(batch.source_ids.shape) < unknown_rate
            source_ids = np.where(replaced & (batch.source_ids != 0), UNKNOWN, batch.source_ids)
            yield batch._replace(source_ids=source_ids.astype(np.int32))


def evaluation_batches(
    pairs: EncodedPairs, batch_size: int, positions: int = POSITIONS_PER_BATCH
) -> Iterator[Batch]:
    """All pairs once, by length, nothing replaced; `positions` as in `rows_by_length`."""
    order = np.arange(len(pairs.source))
    for rows in rows_by_length(*_lengths(pairs), batch_size, order, positions):
        yield make_batch(pairs, rows)


def rows_by_length(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    batch_size: int,
    order: np.ndarray,
    positions: int = POSITIONS_PER_BATCH,
) -> list[np.ndarray]:
    """Row numbers in batches of similar length; `order` decides among rows of equal lengths.

    A batch has at most `batch_size` rows and, unless it is of a single row, `positions` positions
    of its longer side, padding counted. How many batches there are, and of what lengths, does not
    depend on `order`.
    """
    by_length = np.lexsort((target_lengths[order], source_lengths[order]))
    rows = order[by_length]
    widths = np.maximum(source_lengths, target_lengths + 1)[rows]
    batches, first, widest = [], 0, 0
    for row, width in enumerate(widths.tolist()):
        widest = max(widest, width)
        full = row - first == batch_size or (row - first + 1) * widest > positions
        if full and row > first:
            batches.append(rows[first:row])
            first, widest = row, width
    return [*batches, rows[first:]]


def _lengths(pairs: EncodedPairs) -> tuple[np.ndarray, np.ndarray]:
    return pairs.source.lengths, pairs.target.lengths
