"""The examples under audit: what went in, what the model said, and batches of them.

Letters in shape comments: E examples in all, B of a batch, T steps, S source positions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.attribution_model import (
    FLOATS,
    IDS,
    AttributionModel,
    compiled,
    unchanged,
)
from keras_attention.pairs.alignment import Link
from keras_attention.text.vocabulary import RaggedIds

ROWS_AT_ONCE = 512
MOST_FLOATS = 8_000_000  # 32 MB for each of the few large arrays of a batch

# (part, done, of): how far a part of the audit is.
Progress = Callable[[str, int, int], None]


def silent(part: str, done: int, total: int) -> None:
    """The progress that nobody watches."""


@dataclasses.dataclass(frozen=True)
class Examples:
    """What is audited.

    Attributes:
        source: Ids of the sources.
        source_tokens: Their tokens as written.
        answer_ids: int32 `[E, T]`, what the model itself says, 0 behind the last token.
        answer_tokens: The same as text.
        reference: Ids of the right answers.
        reference_tokens: The same as text.
        compared: For each source how many of its positions take part in comparisons: trailing
            spaces are fed to the model but are padding to a reader.
        alignments: Gold links of each example, or None where there are none; counted in the
            reference's tokens.
        fields: For each example the name of each reference token's field, such as "year", or None.
        groups: For each example the group that tables are split by, such as its form, or None.
        output_names: What each column of the logits stands for.
    """

    source: RaggedIds
    source_tokens: tuple[tuple[str, ...], ...]
    answer_ids: np.ndarray
    answer_tokens: tuple[tuple[str, ...], ...]
    reference: RaggedIds
    reference_tokens: tuple[tuple[str, ...], ...]
    compared: np.ndarray
    alignments: tuple[tuple[Link, ...] | None, ...]
    fields: tuple[tuple[str, ...] | None, ...]
    groups: tuple[str | None, ...]
    output_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    @property
    def answer_lengths(self) -> np.ndarray:
        return (self.answer_ids != 0).sum(axis=1)

    def right(self, answer_ids: np.ndarray) -> np.ndarray:
        """bool `[E]`: which answers `[E, T']` equal the references to the last token."""
        return self.right_at(np.arange(len(self)), answer_ids)

    def right_at(self, rows: np.ndarray, answer_ids: np.ndarray) -> np.ndarray:
        """The same of the examples `rows` alone, whose answers are `[len(rows), T']`."""
        longest = max(answer_ids.shape[1], int(self.reference.lengths[rows].max(initial=0)))
        padded = np.pad(answer_ids, ((0, 0), (0, longest - answer_ids.shape[1])))
        return (padded == self.reference.padded(rows, longest)).all(axis=1)

    def references_as_answers(self) -> Examples:
        """The same with the references in place of the model's own answers (forced decoding)."""
        ids = self.reference.padded(np.arange(len(self)))
        return dataclasses.replace(self, answer_ids=ids)


class Batch(NamedTuple):
    """Some examples, padded to the longest of them.

    Attributes:
        rows: int `[B]`, their places among all.
        source_ids: int32 `[B, S]`.
        answer_ids: int32 `[B, T]`, at least one column.
        compared: bool `[B, S]`, positions that take part in comparisons.
    """

    rows: np.ndarray
    source_ids: np.ndarray
    answer_ids: np.ndarray
    compared: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """bool `[B, T]`, True at real steps."""
        return self.answer_ids != 0

    @property
    def mask(self) -> np.ndarray:
        """bool `[B, S]`, True at real source positions."""
        return self.source_ids != 0


def batches(examples: Examples, rows_at_once: int) -> Iterator[Batch]:
    """All examples once, by length of source."""
    order = np.argsort(examples.source.lengths, kind="stable")
    lengths = examples.answer_lengths
    for start in range(0, len(order), rows_at_once):
        rows = order[start : start + rows_at_once]
        source_ids = examples.source.padded(rows)
        answer_ids = examples.answer_ids[rows, : max(1, int(lengths[rows].max(initial=0)))]
        positions = np.arange(source_ids.shape[1])
        yield Batch(rows, source_ids, answer_ids, positions < examples.compared[rows, None])


def rows_within(examples: Examples, copies: int, feature_dim: int) -> int:
    """Examples of a batch such that `copies` variants of each step fit into MOST_FLOATS."""
    steps = max(1, examples.answer_ids.shape[1])
    largest = max(feature_dim, int(examples.source.lengths.max(initial=1)))
    return max(1, min(ROWS_AT_ONCE, MOST_FLOATS // (steps * copies * largest)))


def measure(
    examples: Examples,
    per_batch: Callable[[Batch], dict[str, np.ndarray]],
    rows_at_once: int,
    progress: Callable[[int, int], None],
) -> dict[str, np.ndarray]:
    """Calls `per_batch` on every batch and joins what it returns.

    Args:
        per_batch: Returns float arrays `[B, T, ...]`.

    Returns:
        Arrays `[E, T, ...]` of float32, NaN behind an answer's end and where a batch was narrower.
    """
    collected: list[tuple[Batch, dict[str, np.ndarray]]] = []
    done = 0
    for batch in batches(examples, rows_at_once):
        collected.append((batch, per_batch(batch)))
        done += len(batch.rows)
        progress(done, len(examples))
    joined = {}
    for name in collected[0][1]:
        parts = [results[name] for _, results in collected]
        shape = np.max([part.shape[1:] for part in parts], axis=0)
        whole = np.full((len(examples), *shape), np.nan, np.float32)
        for (batch, _), part in zip(collected, parts, strict=True):
            steps = batch.steps.reshape(batch.steps.shape + (1,) * (part.ndim - 2))
            inside: tuple[Any, ...] = tuple(slice(0, size) for size in part.shape[1:])
            whole[(batch.rows, *inside)] = np.where(steps, part, np.nan)
        joined[name] = whole
    return joined


def draws(
    seed: int,
    purpose: str,
    batch: Batch,
    steps: int | None = None,
    copies: int | None = None,
    normal: bool = False,
) -> np.ndarray:
    """Random numbers that depend on the example, not on the batch that it is in.

    Args:
        seed: Of the audit.
        purpose: Keeps the numbers of different measures apart.
        batch: The examples.
        steps: T; by default what the batch has. An example's numbers for its first steps do not
            depend on it.
        copies: How many rows for each step; by default one, without an axis of its own.
        normal: Standard normal numbers instead of uniform ones in 0..1.

    Returns:
        float32 `[B, T, S]` or `[B, T, copies, S]`, 0 at padding.
    """
    steps = batch.answer_ids.shape[1] if steps is None else steps
    middle = () if copies is None else (copies,)
    result = np.zeros((len(batch.rows), steps, *middle, batch.source_ids.shape[1]), np.float32)
    for place, (row, length) in enumerate(zip(batch.rows, batch.mask.sum(axis=1), strict=True)):
        rng = np.random.default_rng([seed, *purpose.encode(), int(row)])
        draw = rng.standard_normal if normal else rng.random
        result[place, ..., :length] = draw((steps, *middle, length), dtype=np.float32)
    return result


def answers_of(
    model: AttributionModel, source: RaggedIds, progress: Callable[[int, int], None]
) -> np.ndarray:
    """What the model says to every source.

    Args:
        model: The audited model.
        source: Ids of E sources.
        progress: Is told how many sources are done, and of how many.

    Returns:
        int32 `[E, longest output]`.
    """
    answer = compiled(
        lambda source_ids, nothing: model.answer(source_ids, unchanged, nothing), IDS, FLOATS[3]
    )
    parts = []
    for start in range(0, len(source), ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, len(source)))
        ids = source.padded(rows)
        nothing = tf.zeros([len(rows), 1, ids.shape[1]])
        parts.append(answer(ids, nothing).numpy())
        progress(int(rows[-1]) + 1, len(source))
    return np.concatenate(parts)
