"""Criterion 2, first half: does the answer change when the attention weights do?

Each change is one function, used on all steps at once under teacher forcing and inside the
decoding loop, where a wrong token misleads all later ones.
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
    Change,
    LinearizedReadout,
    compiled,
    unchanged,
)
from keras_attention.explanation.measures.distances import total_variation
from keras_attention.explanation.measures.examples import (
    Batch,
    Examples,
    draws,
    measure,
    rows_within,
)

PERMUTATIONS = 100


def uniform(weights, mask, given):
    """Every source position alike."""
    even = tf.cast(mask, weights.dtype)
    return tf.math.divide_no_nan(even, tf.reduce_sum(even, axis=-1, keepdims=True))


def permuted(weights, mask, given):
    """The same weights in another order: that of the numbers in `given`."""
    order = tf.argsort(tf.where(mask, given, 2.0), axis=-1, stable=True)  # padding stays last
    return tf.gather(weights, order, batch_dims=1)


def replaced(weights, mask, given):
    """The weights in `given`."""
    return given


def largest_removed(weights, mask, given):
    """Without the largest weight, the others scaled to sum to 1 (Serrano and Smith 2019)."""
    return _without(weights, _largest(weights))


def random_removed(weights, mask, given):
    """Without one other weight than the largest, the first by `given`."""
    taken = tf.where(mask & (_largest(weights) == 0), given, -1.0)
    return _without(weights, tf.one_hot(tf.argmax(taken, axis=-1), tf.shape(weights)[-1]))


def only_largest(weights, mask, given):
    """All weight on the position with the largest (hard attention)."""
    return _largest(weights) * tf.cast(mask, weights.dtype)


# In the order of the report.
CHANGES: dict[str, Change] = {
    "uniform": uniform,
    "permutation": permuted,
    "another_example": replaced,
    "largest_removed": largest_removed,
    "random_removed": random_removed,
    "only_largest": only_largest,
}


@dataclasses.dataclass(frozen=True)
class Interventions:
    """What changed weights do; arrays of float32 with NaN where there is no step.

    Attributes:
        distance: For each change `[E, T]`, total variation distance between the output
            distributions of a step with the model's weights and with the changed ones.
        flipped: For each change `[E, T]`, 1 where the likeliest token is another.
        permutation_median: `[E, T]`, median of that distance over PERMUTATIONS permutations.
        largest_weight: `[E, T]`, the largest attention weight of the step.
        right: For each change, and for "unchanged", bool `[E]`: whether the free-running answer
            equals the reference.
        changeable: bool `[E]`, whether the source has two positions or more. With one there are no
            other weights, and all of the above but `right["unchanged"]` is undefined.
    """

    distance: dict[str, np.ndarray]
    flipped: dict[str, np.ndarray]
    permutation_median: np.ndarray
    largest_weight: np.ndarray
    right: dict[str, np.ndarray]
    changeable: np.ndarray


def intervene(
    model: AttributionModel,
    examples: Examples,
    attention: np.ndarray,
    seed: int,
    progress: Callable[[int, int], None],
    rows_at_once: int | None = None,
) -> Interventions:
    """Measures every change on every step, and free-running on every example.

    `attention` is what `attention_of` returns.
    """
    rows_at_once = rows_at_once or rows_within(examples, PERMUTATIONS, model.feature_dim)
    weights_of_all = np.nan_to_num(attention)
    partners = _partners(len(examples), seed)
    steps_given = {name: FLOATS[3] for name in ("permutation", "random_removed", "another_example")}
    forced = compiled(_forced(model), IDS, IDS, steps_given, FLOATS[4])
    free = compiled(_free(model), IDS, steps_given)
    right = {name: np.zeros(len(examples), bool) for name in ("unchanged", *CHANGES)}

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        steps = max(1, weights_of_all.shape[1])
        given = {
            name: draws(seed, name, batch, steps=steps)
            for name in ("permutation", "random_removed")
        }
        given["another_example"] = _weights_of_partners(batch, weights_of_all, partners)
        for name, answers in free(batch.source_ids, given).items():
            right[name][batch.rows] = examples.right_at(batch.rows, answers.numpy())
        shown = {name: part[:, : batch.answer_ids.shape[1]] for name, part in given.items()}
        keys = draws(seed, "permutations", batch, copies=PERMUTATIONS)
        results = forced(batch.source_ids, batch.answer_ids, shown, keys)
        results = {name: part.numpy() for name, part in results.items()}
        results["permutation_median"] = np.median(results.pop("permutations"), axis=-1)
        changeable = (batch.mask.sum(axis=1) > 1)[:, None]
        return {name: np.where(changeable, part, np.nan) for name, part in results.items()}

    measured = measure(examples, per_batch, rows_at_once, progress)
    return Interventions(
        distance={name: measured[f"{name}/distance"] for name in CHANGES},
        flipped={name: measured[f"{name}/flipped"] for name in CHANGES},
        permutation_median=measured["permutation_median"],
        largest_weight=np.where(
            np.isnan(measured["permutation_median"]), np.nan, weights_of_all.max(axis=-1)
        ),
        right=right,
        changeable=examples.source.lengths > 1,
    )


def attention_of(model: AttributionModel, examples: Examples) -> np.ndarray:
    """The model's own weights.

    Args:
        model: The audited model.
        examples: Sources and answers, E of them.

    Returns:
        float32 `[E, T, S]`, NaN after the end of an answer or a source.
    """
    # As a graph of its own: models that are compared one after another are no retracing.
    attend = compiled(
        lambda source_ids, answer_ids: (
            model.linearize(model.embed(source_ids), source_ids, answer_ids).attention_weights
        ),
        IDS,
        IDS,
    ).get_concrete_function()

    def per_batch(batch: Batch):
        ids = map(tf.convert_to_tensor, (batch.source_ids, batch.answer_ids))
        weights = attend(*ids).numpy()
        return {"weights": np.where(batch.mask[:, None], weights, np.nan)}

    rows_at_once = rows_within(examples, 1, model.feature_dim)
    return measure(examples, per_batch, rows_at_once, lambda done, total: None)["weights"]


def _forced(model: AttributionModel):
    """What each change does to each step, all others being right."""

    def forced(source_ids, answer_ids, given, keys):
        readout = model.linearize(model.embed(source_ids), source_ids, answer_ids)
        before = readout.logits(readout.attention_weights)
        results: dict[str, tf.Tensor] = {}
        for name, change in CHANGES.items():
            needed = given.get(name, tf.zeros_like(readout.attention_weights))
            after = readout.logits(_changed(readout, change, source_ids, needed))
            moved = total_variation(tf.nn.softmax(before), tf.nn.softmax(after))
            flipped = tf.argmax(before, -1) != tf.argmax(after, -1)
            results |= {f"{name}/distance": moved, f"{name}/flipped": tf.cast(flipped, tf.float32)}
        results["permutations"] = _permutation_distances(readout, source_ids != 0, keys)
        return results

    return forced


def _changed(readout: LinearizedReadout, change: Change, source_ids, given) -> tf.Tensor:
    """`change` on every step at once: `[B, T, S]`."""
    shape = tf.shape(readout.attention_weights)
    flat = [shape[0] * shape[1], shape[2]]
    mask = tf.broadcast_to((source_ids != 0)[:, None], shape)
    changed = change(
        tf.reshape(readout.attention_weights, flat), tf.reshape(mask, flat), tf.reshape(given, flat)
    )
    return tf.reshape(changed, shape)


def _permutation_distances(readout: LinearizedReadout, mask, keys) -> tf.Tensor:
    """How far each permutation moves each step's output, `[B, T, P]`; keys are `[B, T, P, S]`."""
    before = tf.nn.softmax(readout.logits(readout.attention_weights))
    shape = tf.shape(keys)
    order = tf.argsort(tf.where(mask[:, None, None], keys, 2.0), axis=-1, stable=True)
    weights = tf.broadcast_to(readout.attention_weights[:, :, None], shape)
    weights = tf.gather(weights, order, batch_dims=3)
    after = tf.nn.softmax(readout.logits_of_variants(weights))
    return total_variation(before[:, :, None], after)


def _free(model: AttributionModel):
    """The free-running answers under each change, and under none."""

    def free(source_ids, given):
        nothing = tf.zeros_like(given["permutation"])
        return {
            name: model.answer(source_ids, change, given.get(name, nothing))
            for name, change in ({"unchanged": unchanged} | CHANGES).items()
        }

    return free


def _weights_of_partners(batch: Batch, weights: np.ndarray, partners: np.ndarray) -> np.ndarray:
    """Another example's weights, cut to the source and scaled to sum to 1; even where none is left.

    Steps behind the end of the other answer get its last row.
    """
    source_length = batch.source_ids.shape[1]
    rows = weights[partners[batch.rows]]  # [B, T, S of all]
    last = np.maximum((rows.sum(axis=-1) > 0).sum(axis=1) - 1, 0)
    steps = np.minimum(np.arange(rows.shape[1]), last[:, None])
    rows = np.take_along_axis(rows, steps[..., None], axis=1)[..., :source_length]
    rows = rows * batch.mask[:, None]
    total = rows.sum(axis=-1, keepdims=True)
    even = batch.mask[:, None] / np.maximum(batch.mask.sum(axis=1), 1)[:, None, None]
    scaled = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    return np.where(total > 0, scaled, even).astype(np.float32)


def _partners(count: int, seed: int) -> np.ndarray:
    """For each example another one, int `[E]`: its neighbour in a random circle."""
    circle = np.random.default_rng([seed, *b"partners"]).permutation(count)
    partners = np.empty(count, np.int64)
    partners[circle] = np.roll(circle, 1)
    return partners


def _largest(weights: tf.Tensor) -> tf.Tensor:
    """1 at the largest weight, 0 elsewhere."""
    return tf.one_hot(tf.argmax(weights, axis=-1), tf.shape(weights)[-1], dtype=weights.dtype)


def _without(weights: tf.Tensor, removed: tf.Tensor) -> tf.Tensor:
    kept = weights * (1.0 - removed)
    return tf.math.divide_no_nan(kept, tf.reduce_sum(kept, axis=-1, keepdims=True))
