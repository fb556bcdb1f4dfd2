"""Pairs of texts into teacher-forcing batches with little padding.

Letters in shape comments: B batch size, S source length, T target length with the end symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_attention.data import Pair
from keras_attention.vocabulary import END, START, UNKNOWN, RaggedIds, Vocabulary

# A batch holds at most this many positions of its longer side, padding counted: one source of
# 10,000 characters among short ones would else pad a whole batch to 20 gigabytes of states.
POSITIONS_PER_BATCH = 65_536


class EncodedPairs(NamedTuple):
    """Many pairs as token ids; the two sides have equally many rows."""

    source: RaggedIds
    target: RaggedIds


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
    """Token ids of all pairs."""
    return EncodedPairs(
        source.encode([pair.source for pair in pairs]),
        target.encode([pair.target for pair in pairs]),
    )


def make_batch(pairs: EncodedPairs, rows: np.ndarray) -> Batch:
    """The chosen rows, shifted for teacher forcing and padded to the longest of them."""
    lengths = pairs.target.lengths[rows]
    width = int(lengths.max(initial=0)) + 1
    target_ids = pairs.target.padded(rows, width)
    decoder_ids = np.zeros_like(target_ids)
    decoder_ids[:, 0] = START
    decoder_ids[:, 1:] = target_ids[:, :-1]
    target_ids[np.arange(len(rows)), lengths] = END
    return Batch(pairs.source.padded(rows), decoder_ids, target_ids)


def training_batches(
    pairs: EncodedPairs, batch_size: int, unknown_rate: float, seed: int, epoch: int
) -> Iterator[Batch]:
    """One epoch in an order of its own: shuffled, then batched by length, then shuffled again.

    Args:
        pairs: All training pairs.
        batch_size: B; the last batch and those of very long pairs may be smaller.
        unknown_rate: Share of the source tokens that become the unknown token.
        seed, epoch: Together they fix order and replaced tokens, so that a resumed training sees
            what it would have seen.
    """
    rng = np.random.default_rng([seed, epoch])
    batches = rows_by_length(pairs, batch_size, rng.permutation(len(pairs.source)))
    for index in rng.permutation(len(batches)):
        batch = make_batch(pairs, batches[index])
        replaced = rng.random(batch.source_ids.shape) < unknown_rate
        source_ids = np.where(replaced & (batch.source_ids != 0), UNKNOWN, batch.source_ids)
        yield batch._replace(source_ids=source_ids.astype(np.int32))


def evaluation_batches(pairs: EncodedPairs, batch_size: int) -> Iterator[Batch]:
    """All pairs once, by length, nothing replaced."""
    for rows in rows_by_length(pairs, batch_size, np.arange(len(pairs.source))):
        yield make_batch(pairs, rows)


def rows_by_length(pairs: EncodedPairs, batch_size: int, order: np.ndarray) -> list[np.ndarray]:
    """Row numbers in batches of similar length; `order` decides among rows of equal lengths.

    How many batches there are, and of what lengths, does not depend on `order`.
    """
    by_length = np.lexsort((pairs.target.lengths[order], pairs.source.lengths[order]))
    rows = order[by_length]
    widths = np.maximum(pairs.source.lengths, pairs.target.lengths + 1)[rows]
    batches, first, widest = [], 0, 0
    for row, width in enumerate(widths.tolist()):
        widest = max(widest, width)
        full = row - first == batch_size or (row - first + 1) * widest > POSITIONS_PER_BATCH
        if full and row > first:
            batches.append(rows[first:row])
            first, widest = row, width
    return [*batches, rows[first:]]


def count_batches(pairs: EncodedPairs, batch_size: int) -> int:
    """How many batches one epoch has."""
    return len(rows_by_length(pairs, batch_size, np.arange(len(pairs.source))))
