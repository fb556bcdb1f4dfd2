"""Criterion 2, second half: does a very different attention distribution give the same answer?

For each step by itself: the attention weights with the largest Jensen–Shannon divergence from the
model's own among those that move the output distribution by at most `epsilon` in total variation
(Jain and Wallace 2019, equation 2). Steps do not influence each other, so all of them, from several
starts each, are searched at once.
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
    LinearizedReadout,
    compiled,
)
from keras_attention.explanation.measures.distances import jensen_shannon, total_variation
from keras_attention.explanation.measures.examples import (
    Batch,
    Examples,
    draws,
    measure,
    rows_within,
)

EPSILON = 0.01
STARTS = 5
ITERATIONS = 300
LEARNING_RATE = 0.1
START_STDDEV = 3.0  # of the random starts' logits, as in Jain and Wallace's program
PENALTY = 500.0  # per unit of total variation beyond epsilon, likewise


@dataclasses.dataclass(frozen=True)
class Adversary:
    """What the search found; float32 arrays with NaN where there is no step.

    Attributes:
        divergence: `[E, T]`, the largest divergence found, in nats; 0 where only the model's own
            weights are allowed. NaN for sources of one position, which have no other weights.
        distance: `[E, T]`, how far these weights move the output, at most epsilon.
        weights: `[E, T, S]`, the weights found.
        bound: `[E, T]`, the largest divergence that any weights have from the model's own.
        kept: `[E, T]`, 1 where the likeliest token stays the same under these weights.
        probability, adversarial_probability: `[E, T]`, of the answer's token under the model's
            own weights and under these.
    """

    divergence: np.ndarray
    distance: np.ndarray
    weights: np.ndarray
    bound: np.ndarray
    kept: np.ndarray
    probability: np.ndarray
    adversarial_probability: np.ndarray


def search(
    model: AttributionModel,
    examples: Examples,
    seed: int,
    progress: Callable[[int, int], None],
    epsilon: float = EPSILON,
    iterations: int = ITERATIONS,
    rows_at_once: int | None = None,
) -> Adversary:
    """Searches for every step of every example."""

    def search_batch(source_ids, answer_ids, noise):
        readout = model.linearize(model.embed(source_ids), source_ids, answer_ids)
        found = _search(readout, source_ids != 0, noise, epsilon, iterations)
        before = tf.nn.softmax(readout.logits(readout.attention_weights))
        after = tf.nn.softmax(readout.logits(found["weights"]))
        columns = tf.maximum(answer_ids - model.column_offset, 0)
        return found | {
            "kept": tf.cast(tf.argmax(before, -1) == tf.argmax(after, -1), tf.float32),
            "probability": tf.gather(before, columns, batch_dims=2),
            "adversarial_probability": tf.gather(after, columns, batch_dims=2),
        }

    search_compiled = compiled(search_batch, IDS, IDS, FLOATS[4])

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        noise = draws(seed, "adversary", batch, copies=STARTS, normal=True)
        found = search_compiled(batch.source_ids, batch.answer_ids, noise)
        results = {name: part.numpy() for name, part in found.items()}
        one = (batch.mask.sum(axis=1) < 2)[:, None]
        for name in ("divergence", "distance", "bound", "kept"):
            results[name] = np.where(one, np.nan, results[name])
        results["weights"] = np.where(batch.mask[:, None], results["weights"], np.nan)
        return results

    copies = STARTS + int(examples.source.lengths.max(initial=1))
    rows_at_once = rows_at_once or rows_within(examples, copies, model.feature_dim)
    return Adversary(**measure(examples, per_batch, rows_at_once, progress))


def _search(
    readout: LinearizedReadout, mask, noise, epsilon: float, iterations: int
) -> dict[str, tf.Tensor]:
    """The best of all weight on one position, exhaustively, and of gradient ascent.

    Divergence is convex, so that without the limit the best weights are at a corner.

    Args:
        readout: `[B, T, S]` weights and their logits.
        mask: bool `[B, S]`.
        noise: `[B, T, K, S]`, standard normal.
    """
    own = readout.attention_weights
    outputs = tf.nn.softmax(readout.logits(own))
    best = _corners(readout, mask, outputs, epsilon)
    ascent = _ascend(readout, mask, outputs, noise, epsilon, iterations)
    better = ascent["divergence"] > best["divergence"]
    return {
        "divergence": tf.where(better, ascent["divergence"], best["divergence"]),
        "distance": tf.where(better, ascent["distance"], best["distance"]),
        "weights": tf.where(better[..., None], ascent["weights"], best["weights"]),
        "bound": best["bound"],
    }


def _corners(readout: LinearizedReadout, mask, outputs, epsilon: float) -> dict[str, tf.Tensor]:
    """The best allowed weights among the model's own and all those on one position."""
    own = readout.attention_weights
    # From a corner: log 2 - ((1 + p) log(1 + p) - p log p) / 2, with p the weight at that position.
    logarithm = tf.math.log(tf.maximum(own, 1e-30))
    divergence = tf.math.log(2.0) - 0.5 * ((1 + own) * tf.math.log1p(own) - own * logarithm)
    divergence = tf.where(mask[:, None], tf.maximum(divergence, 0.0), 0.0)  # [B, T, S]
    terms = readout.value_terms[:, None] + readout.state_terms[:, :, None]  # [B, T, S, F]
    moved = tf.nn.softmax(readout.to_logits(terms))  # [B, T, S, V]
    distance = total_variation(moved, outputs[:, :, None])  # [B, T, S]
    allowed = tf.where(distance <= epsilon, divergence, 0.0)
    place = tf.argmax(allowed, axis=-1)
    value = tf.reduce_max(allowed, axis=-1)
    corner = tf.one_hot(place, tf.shape(own)[-1])
    found = value > 0
    return {
        "divergence": value,
        "distance": tf.where(found, tf.gather(distance, place, batch_dims=2), 0.0),
        "weights": tf.where(found[..., None], corner, own),
        "bound": tf.reduce_max(divergence, axis=-1),
    }


def _ascend(readout: LinearizedReadout, mask, outputs, noise, epsilon: float, iterations: int):
    """Gradient ascent from random starts by Adam; the best allowed weights it ever visited."""
    own, outputs = readout.attention_weights[:, :, None], outputs[:, :, None]
    hidden = tf.where(mask[:, None, None], 0.0, -1e30)  # [B, 1, 1, S]

    def evaluate(scores):
        weights = tf.nn.softmax(scores + hidden)
        distance = total_variation(tf.nn.softmax(readout.logits_of_variants(weights)), outputs)
        return weights, jensen_shannon(weights, own), distance

    scores = START_STDDEV * noise  # [B, T, K, S]
    divergence, distance = tf.zeros(tf.shape(noise)[:3]), tf.zeros(tf.shape(noise)[:3])
    best = tf.broadcast_to(own, tf.shape(noise))
    zeros = tf.zeros_like(scores)

    def advance(step, scores, first, second, best, divergence, distance):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            weights, gained, moved = evaluate(scores)
            # Relative to epsilon, so that the limit is reached from inside.
            loss = -gained + PENALTY * tf.nn.relu(moved - 0.95 * epsilon)
        gradient = tape.gradient(loss, scores)
        better = (moved <= epsilon) & (gained > divergence)
        best = tf.where(better[..., None], weights, best)
        divergence = tf.where(better, gained, divergence)
        distance = tf.where(better, moved, distance)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        power = tf.cast(step + 1, tf.float32)
        rate = LEARNING_RATE * (1 - tf.cast(step, tf.float32) / iterations)
        change = first / (1 - 0.9**power) / (tf.sqrt(second / (1 - 0.999**power)) + 1e-8)
        return step + 1, scores - rate * change, first, second, best, divergence, distance

    start = (tf.constant(0), scores, zeros, zeros, best, divergence, distance)
    *_, best, divergence, distance = tf.while_loop(
        lambda step, *_: step < iterations, advance, start
    )
    place = tf.argmax(divergence, axis=-1)  # of the starts, [B, T]
    return {
        "divergence": tf.reduce_max(divergence, axis=-1),
        "distance": tf.gather(distance, place, batch_dims=2),
        "weights": tf.gather(best, place, batch_dims=2),
    }
