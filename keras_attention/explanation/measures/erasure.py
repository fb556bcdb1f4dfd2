"""Erasure: is what attention points at needed in the source, and is it enough?

Comprehensiveness is how much of the answer's probability is lost without the most attended tokens,
sufficiency how much is lost with them alone (DeYoung et al. 2020, ERASER); AOPC is the mean over
SHARES of the tokens. An erased token becomes the replacement token, so that lengths stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.attribution_model import (
    FLOATS,
    IDS,
    AttributionModel,
    compiled,
)
from keras_attention.explanation.measures.examples import (
    ROWS_AT_ONCE,
    Batch,
    Examples,
    draws,
    measure,
)

SHARES = (0.01, 0.05, 0.10, 0.20, 0.50)  # ERASER's; rounded up to at least one token


@dataclasses.dataclass(frozen=True)
class Erasure:
    """Losses of the answer's probability; float32 `[E, T, len(SHARES)]`, NaN where no step is.

    NaN as well for sources of one token: there is nothing to choose between.

    Attributes:
        comprehensiveness, sufficiency: Of the most attended tokens.
        random_comprehensiveness, random_sufficiency: Of as many random ones.
    """

    comprehensiveness: np.ndarray
    sufficiency: np.ndarray
    random_comprehensiveness: np.ndarray
    random_sufficiency: np.ndarray


def erase(
    model: AttributionModel,
    examples: Examples,
    seed: int,
    progress: Callable[[int, int], None],
    rows_at_once: int = ROWS_AT_ONCE // 8,
) -> Erasure:
    """Erases for every step of every example what is most attended there, and what is not."""
    probability = compiled(_probability(model), IDS, IDS, FLOATS[2])
    weights = compiled(_weights(model), IDS, IDS)

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        attended = weights(batch.source_ids, batch.answer_ids).numpy()
        chance = draws(seed, "erasure", batch)
        several = (batch.compared.sum(axis=1) > 1)[:, None, None]
        return {
            prefix + name: np.where(several, losses, np.nan)
            for prefix, ranking in (("", attended), ("random_", chance))
            for name, losses in _losses(model, probability, batch, ranking).items()
        }

    return Erasure(**measure(examples, per_batch, rows_at_once, progress))


def _losses(model: AttributionModel, probability, batch: Batch, ranking: np.ndarray):
    """Comprehensiveness and sufficiency `[B, T, shares]` of the first tokens by `ranking`."""
    compared = np.broadcast_to(batch.compared[:, None], ranking.shape)  # [B, T, S]
    order = np.argsort(np.where(compared, -ranking, np.inf), axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    example, step = np.nonzero(batch.steps)
    ones = np.eye(batch.answer_ids.shape[1], dtype=np.float32)
    before = _in_chunks(
        probability, batch.source_ids[example], batch.answer_ids[example], ones[step]
    )
    shape = (*batch.answer_ids.shape, len(SHARES))
    losses = {name: np.zeros(shape, np.float32) for name in ("comprehensiveness", "sufficiency")}
    known: dict[bytes, dict[str, np.ndarray]] = {}
    for place, share in enumerate(SHARES):
        # Rounded first: 0.1 * 20 tokens is 2, not 2.0000000000000004 and so 3.
        count = np.maximum(1, np.ceil(np.round(share * batch.compared.sum(axis=1), 6)))
        if count.tobytes() not in known:  # short sources: several shares are one token
            chosen = (rank < count[:, None, None]) & compared
            known[count.tobytes()] = {}
            for name, erased in (
                ("comprehensiveness", chosen),
                ("sufficiency", compared & ~chosen),
            ):
                source_ids = np.where(
                    erased[example, step], model.replacement_id, batch.source_ids[example]
                ).astype(np.int32)
                after = _in_chunks(probability, source_ids, batch.answer_ids[example], ones[step])
                known[count.tobytes()][name] = before - after
        for name, lost in known[count.tobytes()].items():
            losses[name][example, step, place] = lost
    return losses


def _in_chunks(function, *arrays: np.ndarray) -> np.ndarray:
    parts = [
        function(*(array[start : start + ROWS_AT_ONCE] for array in arrays)).numpy()
        for start in range(0, len(arrays[0]), ROWS_AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _probability(model: AttributionModel):
    def probability(source_ids, answer_ids, step):
        """Of the answer at one step of each row, given as one-hot `[B, T]`: `[B]`."""
        readout = model.linearize(model.embed(source_ids), source_ids, answer_ids)
        logits = readout.logits(readout.attention_weights)
        logits = tf.reduce_sum(step[..., None] * logits, axis=1)  # [B, V]
        column = tf.reduce_sum(tf.cast(step, tf.int32) * answer_ids, axis=1)
        column = tf.maximum(column - model.column_offset, 0)
        return tf.gather(tf.nn.softmax(logits), column, batch_dims=1)

    return probability


def _weights(model: AttributionModel):
    def weights(source_ids, answer_ids):
        return model.linearize(model.embed(source_ids), source_ids, answer_ids).attention_weights

    return weights
