"""Criterion 1: how much each source position matters to each answer, by four measures.

None of them looks at attention weights; attention is then compared with them. All are at least 0
and arrays `[E, T, S]`: examples, steps, source positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.attribution_model import (
    FLOATS,
    IDS,
    AttributionModel,
    LinearizedReadout,
    compiled,
)
from keras_attention.explanation.measures.distances import total_variation
from keras_attention.explanation.measures.examples import ROWS_AT_ONCE, Batch, Examples, measure

INTEGRATION_POINTS = 16
# Of a probability: what lies below is rounding of float32, and counts as no effect.
LEAST_EFFECT = 1e-7

# In the order of the report. The first three are compared among themselves as the ceiling.
MEASURES = {
    "gradient": "|gradient × input| of the log-odds of the answer's token, attention weights held "
    "fixed (Jain and Wallace 2019; log-odds and probability rank alike, and log-odds do not "
    "saturate)",
    "integrated_gradients": "|integrated gradients| of the answer's probability along the line "
    f"from zero embeddings, {INTEGRATION_POINTS}-point Gauss-Legendre (Sundararajan et al. 2017)",
    "leave_one_out": "total variation distance of the output when the token is deleted",
    "leave_one_out_replaced": "total variation distance of the output when the token is replaced "
    "by the unknown token, or by a space where training saw no unknown one",
    "gradient_through_attention": "as gradient, with attention weights free to change, too",
}


def measure_importance(
    model: AttributionModel,
    examples: Examples,
    progress: Callable[[int, int], None],
    rows_at_once: int = ROWS_AT_ONCE // 2,
) -> dict[str, np.ndarray]:
    """Every measure of MEASURES, and the model's own `attention`, float32 `[E, T, S]`.

    NaN behind the end of an answer or of what is compared. `completeness_error` `[E, T]` is how far
    integrated gradients miss the difference of probabilities that they should sum to.
    """
    gradients = compiled(_gradients(model), IDS, IDS)
    outputs = compiled(_outputs(model), IDS, IDS)

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        found = gradients(batch.source_ids, batch.answer_ids)
        results = {name: part.numpy() for name, part in found.items()}
        results["leave_one_out"] = _leave_one_out(outputs, batch, deleted)
        replaced = _replaced_by(model.replacement_id)
        results["leave_one_out_replaced"] = _leave_one_out(outputs, batch, replaced)
        for name in (*MEASURES, "attention"):
            results[name] = np.where(batch.compared[:, None], results[name], np.nan)
        return results

    measured = measure(examples, per_batch, rows_at_once, progress)
    for name in ("integrated_gradients", "leave_one_out", "leave_one_out_replaced"):
        values = measured[name]
        measured[name] = np.where(values < LEAST_EFFECT, 0.0, values)  # keeps NaN
    return measured


def deleted(source_ids: np.ndarray, position: int) -> np.ndarray:
    """Ids `[B, S]` without one position, the later ones moved up."""
    return np.pad(np.delete(source_ids, position, axis=1), ((0, 0), (0, 1)))


def _replaced_by(replacement: int):
    def replaced(source_ids: np.ndarray, position: int) -> np.ndarray:
        changed = source_ids.copy()
        changed[:, position] = replacement
        return changed

    return replaced


def _leave_one_out(outputs, batch: Batch, change) -> np.ndarray:
    """Distance `[B, T, S]` of each step's output when one position is changed."""
    before = outputs(batch.source_ids, batch.answer_ids)
    effects = np.zeros((*batch.answer_ids.shape, batch.source_ids.shape[1]), np.float32)
    for position in range(batch.source_ids.shape[1]):
        rows = np.flatnonzero(batch.compared[:, position])
        if len(rows):
            source_ids = change(batch.source_ids[rows], position)
            after = outputs(source_ids, batch.answer_ids[rows])
            moved = total_variation(after, tf.gather(before, rows))
            effects[rows, :, position] = moved.numpy()
    return effects


def _outputs(model: AttributionModel):
    def outputs(source_ids, answer_ids):
        readout = model.linearize(model.embed(source_ids), source_ids, answer_ids)
        return tf.nn.softmax(readout.logits(readout.attention_weights))

    return outputs


def _gradients(model: AttributionModel):
    """All measures that need gradients: one backward pass for each step, for all examples."""

    def gradients(source_ids, answer_ids):
        given = _TeacherForcing.of(model, source_ids, answer_ids)
        fixed, free, integrated, missed = tf.map_fn(
            given.at_step,
            tf.range(tf.shape(answer_ids)[1]),
            fn_output_signature=(FLOATS[2], FLOATS[2], FLOATS[2], FLOATS[1]),
            parallel_iterations=1,
        )
        by_example = [1, 0, 2]  # from [T, B, S]
        return {
            "gradient": tf.transpose(fixed, by_example),
            "gradient_through_attention": tf.transpose(free, by_example),
            "integrated_gradients": tf.transpose(integrated, by_example),
            "completeness_error": tf.transpose(missed),
            "attention": given.readout(given.embeddings).attention_weights,
        }

    return gradients


class _TeacherForcing(NamedTuple):
    """One batch under teacher forcing, as a function of its source embeddings.

    Attributes:
        model: Under audit.
        source_ids, answer_ids: int32 `[B, S]` and `[B, T]`.
        embeddings: `[B, S, E]`, of the sources.
        columns: int32 `[B, T]`, of the answer's tokens among the logits.
    """

    model: AttributionModel
    source_ids: tf.Tensor
    answer_ids: tf.Tensor
    embeddings: tf.Tensor
    columns: tf.Tensor

    @classmethod
    def of(cls, model: AttributionModel, source_ids, answer_ids) -> _TeacherForcing:
        columns = tf.maximum(answer_ids - model.column_offset, 0)
        return cls(model, source_ids, answer_ids, model.embed(source_ids), columns)

    def at_step(self, step) -> tuple[tf.Tensor, ...]:
        """Gradient × input with attention fixed and free, integrated gradients, each `[B, S]`, and
        how far the last misses the difference that it should sum to, `[B]`."""
        fixed = self.gradient(self.embeddings, step, log_odds=True, attention_fixed=True)
        free = self.gradient(self.embeddings, step, log_odds=True, attention_fixed=False)
        attributed = self.times_input(self.integral(step))
        start, end = (
            self.target(self.readout(point), None, step, log_odds=False)
            for point in (tf.zeros_like(self.embeddings), self.embeddings)
        )
        missed = tf.abs(tf.reduce_sum(attributed, axis=-1) - (end - start))
        parts = self.times_input(fixed), self.times_input(free), attributed
        return *map(tf.abs, parts), missed

    def readout(self, point) -> LinearizedReadout:
        return self.model.linearize(point, self.source_ids, self.answer_ids)

    def target(self, readout: LinearizedReadout, weights, step, log_odds: bool) -> tf.Tensor:
        """Log-odds or probability of the answer at one step: `[B]`.

        `weights` are the readout's own where they are None.
        """
        weights = readout.attention_weights if weights is None else weights
        state_terms = readout.state_terms[:, step][:, None]
        logits = readout._replace(state_terms=state_terms).logits(weights[:, step][:, None])[:, 0]
        answer = tf.one_hot(self.columns[:, step], tf.shape(logits)[-1])
        chosen = tf.reduce_sum(answer * logits, axis=-1)
        if not log_odds:
            return tf.exp(chosen - tf.reduce_logsumexp(logits, axis=-1))
        return chosen - tf.reduce_logsumexp(logits - 1e9 * answer, axis=-1)

    def gradient(self, point, step, log_odds: bool, attention_fixed: bool) -> tf.Tensor:
        """Of the target at one step by the embeddings, at `point`: `[B, S, E]`."""
        with tf.GradientTape() as tape:
            tape.watch(point)
            readout = self.readout(point)
            weights = readout.attention_weights
            if attention_fixed:
                weights = tf.stop_gradient(weights)
            value = self.target(readout, weights, step, log_odds)
        return tape.gradient(value, point, unconnected_gradients="zero")

    def integral(self, step) -> tf.Tensor:
        """Mean gradient of the probability on the way from zero embeddings: `[B, S, E]`."""
        nodes, quadrature = np.polynomial.legendre.leggauss(INTEGRATION_POINTS)
        nodes = tf.constant((nodes + 1) / 2, tf.float32)
        quadrature = tf.constant(quadrature / 2, tf.float32)

        def advance(place, total):
            point = nodes[place] * self.embeddings
            return place + 1, total + quadrature[place] * self.gradient(point, step, False, False)

        start = tf.constant(0), tf.zeros_like(self.embeddings)
        return tf.while_loop(lambda place, _: place < INTEGRATION_POINTS, advance, start)[1]

    def times_input(self, gradient) -> tf.Tensor:
        return tf.reduce_sum(gradient * self.embeddings, axis=-1)  # [B, S]
