"""Why this token and not the runner-up: what each source position adds to the margin between them.

A contrastive explanation (Jacovi et al. 2021; Yin and Neubig 2022) asks for a difference: the logit
of the answer's token minus that of the likeliest other one. Logits are a known function of the
attention weights, so the difference is taken apart exactly where that function is affine: position
s adds `weight_s * (value_terms[s, answer] - value_terms[s, runner-up])`, and the decoder's state
adds the rest. With an attentional layer in between, the parts are weight times gradient, and the
rest holds what the layer bends as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.attribution_model import IDS, AttributionModel, compiled
from keras_attention.explanation.measures.examples import (
    Batch,
    Examples,
    measure,
    rows_within,
)


@dataclasses.dataclass(frozen=True)
class Contrast:
    """Margins and their parts, in logits (natural logarithms of odds).

    Attributes:
        contribution: float32 `[E, T, S]`, what each position adds to the margin, NaN where there
            is no step or nothing is compared.
        margin: float32 `[E, T]`, logit of the answer's token minus that of the runner-up.
        rest: float32 `[E, T]`, margin minus all contributions.
        runner_up: int32 `[E, T]`, column of the likeliest other token, -1 where there is no step.
    """

    contribution: np.ndarray
    margin: np.ndarray
    rest: np.ndarray
    runner_up: np.ndarray


def contrast(
    model: AttributionModel,
    examples: Examples,
    progress: Callable[[int, int], None],
    rows_at_once: int | None = None,
) -> Contrast:
    """Takes the margin of every step of every example apart."""
    parts_of_margin = compiled(_parts_of_margin(model), IDS, IDS)

    def per_batch(batch: Batch) -> dict[str, np.ndarray]:
        found = parts_of_margin(batch.source_ids, batch.answer_ids)
        results = {name: part.numpy() for name, part in found.items()}
        # The rest is what comes from no position, those that are not compared included.
        results["contribution"] = np.where(batch.mask[:, None], results["contribution"], np.nan)
        return results

    rows_at_once = rows_at_once or rows_within(examples, 1, model.feature_dim)
    found = measure(examples, per_batch, rows_at_once, progress)
    runner_up = np.nan_to_num(found["runner_up"], nan=-1.0).astype(np.int32)
    return Contrast(found["contribution"], found["margin"], found["rest"], runner_up)


def _parts_of_margin(model: AttributionModel):
    def parts(source_ids, answer_ids):
        readout = model.linearize(model.embed(source_ids), source_ids, answer_ids)
        weights = readout.attention_weights
        with tf.GradientTape() as tape:
            tape.watch(weights)
            logits = readout.logits(weights)  # [B, T, V]
            answer = tf.one_hot(
                tf.maximum(answer_ids - model.column_offset, 0), tf.shape(logits)[-1]
            )
            runner_up = tf.argmax(tf.stop_gradient(logits) - 1e30 * answer, axis=-1)
            direction = answer - tf.one_hot(runner_up, tf.shape(logits)[-1])
            margin = tf.reduce_sum(direction * logits, axis=-1)  # [B, T]
        # The margin of a step depends on the weights of that step alone.
        contribution = weights * tape.gradient(margin, weights, unconnected_gradients="zero")
        return {
            "contribution": contribution,
            "margin": margin,
            "rest": margin - tf.reduce_sum(contribution, axis=-1),
            "runner_up": tf.cast(runner_up, tf.float32),
        }

    return parts
