"""Two checks of the map itself: does it depend on what was learnt, and is it stable?

Randomised parameters (Adebayo et al. 2018): a map that looks the same when every weight of the
model is shuffled shows the architecture and the input, not what was learnt. Small changes of the
input (Alvarez-Melis and Jaakkola 2018): where noise on the embeddings leaves the answer as it is,
an explanation of the answer should stay as well.
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
from keras_attention.explanation.measures.distances import (
    jensen_shannon,
    kendall_tau,
    top_agreement,
    total_variation,
)
from keras_attention.explanation.measures.examples import (
    Batch,
    Examples,
    measure,
    rows_within,
)
from keras_attention.explanation.measures.interventions import attention_of

SHUFFLES = 3  # models with shuffled weights
NOISES = 5  # draws of noise for each example
NOISE = 0.2  # norm of a token's noise, as a share of the mean norm of the embeddings


@dataclasses.dataclass(frozen=True)
class Randomised:
    """The model's map against those of models with shuffled weights, at the model's own answers.

    Float `[E, T, SHUFFLES]`, NaN where there is no step or one position only.

    Attributes:
        kendall_tau, top_1: Rank agreement over the compared positions.
        divergence: Jensen–Shannon divergence in nats.
    """

    kendall_tau: np.ndarray
    top_1: np.ndarray
    divergence: np.ndarray


@dataclasses.dataclass(frozen=True)
class Stability:
    """What noise on the embeddings does; float32 `[E, T, NOISES]`, NaN as in `Randomised`.

    Attributes:
        divergence: Of the attention weights, in nats.
        distance: Total variation distance of the output.
        same_top: 1 where the largest weight stays at its position.
    """

    divergence: np.ndarray
    distance: np.ndarray
    same_top: np.ndarray


def randomise(
    model: AttributionModel,
    examples: Examples,
    attention: np.ndarray,
    seed: int,
    progress: Callable[[int, int], None],
) -> Randomised:
    """Compares `attention`, as of `attention_of`, with that of SHUFFLES shuffled models."""
    own = np.nan_to_num(attention)
    positions = np.arange(attention.shape[-1])
    mask = ~np.isnan(attention) & (positions < examples.compared[:, None, None])
    several = mask.sum(axis=-1) > 1
    found: dict[str, list[np.ndarray]] = {"kendall_tau": [], "top_1": [], "divergence": []}
    for number in range(SHUFFLES):
        rng = np.random.default_rng([seed, *b"shuffled", number])
        other = np.nan_to_num(attention_of(model.shuffled(rng), examples))
        found["kendall_tau"].append(kendall_tau(own, other, mask))
        found["top_1"].append(top_agreement(own, other, mask))
        found["divergence"].append(jensen_shannon(tf.constant(own), tf.constant(other)).numpy())
        progress(number + 1, SHUFFLES)
    stacked = {name: np.stack(parts, axis=-1) for name, parts in found.items()}
    return Randomised(
        **{name: np.where(several[..., None], part, np.nan) for name, part in stacked.items()}
    )


def disturb(
    model: AttributionModel,
    examples: Examples,
    seed: int,
    progress: Callable[[int, int], None],
    noise: float = NOISE,
    rows_at_once: int | None = None,
) -> Stability:
    """Adds noise to the embeddings of every example, NOISES times."""
    embed = compiled(model.embed, IDS)
    disturbed = compiled(_disturbed(model), IDS, IDS, FLOATS[3])

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        embeddings = embed(batch.source_ids).numpy()
        drawn = [
            disturbed(batch.source_ids, batch.answer_ids, each)
            for each in _noises(embeddings, batch, seed, noise)
        ]
        several = (batch.mask.sum(axis=1) > 1)[:, None, None]
        return {
            name: np.where(several, np.stack([each[name] for each in drawn], axis=-1), np.nan)
            for name in drawn[0]
        }

    rows_at_once = rows_at_once or rows_within(examples, 1, model.feature_dim)
    return Stability(**measure(examples, per_batch, rows_at_once, progress))


def _noises(embeddings: np.ndarray, batch: Batch, seed: int, noise: float) -> list[np.ndarray]:
    """NOISES arrays `[B, S, E]`; a token's noise has `noise` times the example's mean norm."""
    mask = batch.mask[..., None]
    norms = np.linalg.norm(embeddings, axis=-1, keepdims=True)
    mean = (norms * mask).sum(axis=1, keepdims=True) / np.maximum(mask.sum(1, keepdims=True), 1)
    drawn = np.zeros((NOISES, *embeddings.shape), np.float32)
    for place, (row, length) in enumerate(zip(batch.rows, batch.mask.sum(axis=1), strict=True)):
        rng = np.random.default_rng([seed, *b"stability", int(row)])
        size = (NOISES, length, embeddings.shape[-1])
        drawn[:, place, :length] = rng.standard_normal(size, dtype=np.float32)
    length_of_noise = np.maximum(np.linalg.norm(drawn, axis=-1, keepdims=True), 1e-12)
    return list((noise * mean * mask * drawn / length_of_noise).astype(np.float32))


def _disturbed(model: AttributionModel):
    def disturbed(source_ids, answer_ids, noise):
        embeddings = model.embed(source_ids)
        before = model.linearize(embeddings, source_ids, answer_ids)
        after = model.linearize(embeddings + noise, source_ids, answer_ids)
        weights = before.attention_weights, after.attention_weights
        outputs = [
            tf.nn.softmax(readout.logits(readout.attention_weights)) for readout in (before, after)
        ]
        same = tf.argmax(weights[0], axis=-1) == tf.argmax(weights[1], axis=-1)
        return {
            "divergence": jensen_shannon(*weights),
            "distance": total_variation(*outputs),
            "same_top": tf.cast(same, tf.float32),
        }

    return disturbed
