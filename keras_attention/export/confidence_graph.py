"""Confidence in a graph, as `engine.calibration` computes it: LiteRT's builtin operators only."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_attention.engine.calibration import Calibration, confidence_of, token_confidence_of
from keras_attention.engine.familiarity import BITS, FACTOR, Familiarity, GramTable
from keras_attention.models.decoding import Decoded
from keras_attention.text.vocabulary import END, START


def confidence(
    calibration: Calibration | None, source_ids: tf.Tensor, decoded: Decoded
) -> tf.Tensor:
    """The probability that each answer is right.

    Args:
        calibration: Of the run; None takes the probability itself.
        source_ids: int32 `[n, S]`, right-padded with 0.
        decoded: Of greedy decoding, or of a beam search.

    Returns:
        float32 `[n]`, or `[n, k]` of a beam.
    """
    score, lengths = decoded.log_probability, decoded.lengths
    probability = confidence_of(calibration, score, tf.cast(lengths, tf.float32), tf.math)
    if calibration is None or calibration.familiarity is None:
        return probability
    answers = decoded.token_ids
    greedy = score.shape.rank == 1
    if greedy:
        answers, lengths, score = answers[:, None], lengths[:, None], score[:, None]
    found = answers, lengths, score
    factor = familiarity_factor(calibration.familiarity, source_ids, *found)
    return probability * (factor[:, 0] if greedy else factor)


def token_confidence(calibration: Calibration | None, decoded: Decoded) -> tf.Tensor:
    """The probability that each token is right, 0 behind the last; of the shape of the tokens."""
    gains, lengths = decoded.token_log_probability, decoded.lengths[..., None]
    found = token_confidence_of(calibration, gains, tf.cast(lengths, gains.dtype), tf.math)
    inside = tf.cast(tf.not_equal(decoded.token_ids, 0), gains.dtype)
    return found * inside


def p_values(
    calibration: Calibration | None, decoded: Decoded, beam_width: int, length_penalty: float
) -> tf.Tensor | None:
    """The p-values of a beam's hypotheses, see `engine.guarantees.CandidateSets`.

    Returns:
        float32 `[n, k]`; None where the calibration promises nothing of such a beam.
    """
    promised = [] if calibration is None or length_penalty else calibration.sets
    for sets in promised:
        if sets.beam_width == beam_width:
            scores = tf.constant(sets.scores, tf.float32)
            flat = tf.reshape(decoded.log_probability, [-1])
            no_higher = tf.searchsorted(scores, flat, side="right")
            values = tf.cast(1 + sets.unlisted + no_higher, tf.float32) / (sets.n + 1)
            return tf.reshape(values, tf.shape(decoded.log_probability))
    return None


def familiarity_factor(
    familiarity: Familiarity,
    source_ids: tf.Tensor,
    answer_ids: tf.Tensor,
    answer_lengths: tf.Tensor,
    log_probability: tf.Tensor,
) -> tf.Tensor:
    """What the confidences of sources and their k answers are multiplied with.

    Args:
        familiarity: The fitted map.
        source_ids: int32 `[n, S]`, right-padded with 0.
        answer_ids: int32 `[n, k, T]`, right-padded with 0.
        answer_lengths: int32 `[n, k]`.
        log_probability: float32 `[n, k]`, the best first.

    Returns:
        float32 `[n, k]`.
    """
    source_lengths = tf.reduce_sum(tf.cast(tf.not_equal(source_ids, 0), tf.int32), axis=1)
    total = _interpolated(familiarity, log_probability[:, :1])  # [n, 1]
    for table in familiarity.source:
        total += _surprise(table, source_ids, source_lengths)[:, None]
    shape = tf.shape(answer_lengths)
    steps = answer_ids.shape[-1] or tf.shape(answer_ids)[-1]
    flat, flat_lengths = tf.reshape(answer_ids, [-1, steps]), tf.reshape(answer_lengths, [-1])
    total += tf.reshape(_surprise(familiarity.answer, flat, flat_lengths), shape)
    logit = (total - familiarity.threshold) / familiarity.width
    return 1.0 / (1.0 + tf.exp(tf.minimum(logit, 30.0)))


def _surprise(table: GramTable, ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """float32 `[r]` of ids `[r, S]`."""
    n, columns = table.length, ids.shape[1] or tf.shape(ids)[1]
    positions = tf.range(columns + 1)[None]
    ends = tf.cast(tf.equal(positions, lengths[:, None]), tf.int32)
    row = tf.pad(ids, [[0, 0], [0, 1]]) + END * ends
    row = tf.pad(row, [[0, 0], [n - 1, 0]], constant_values=START)
    cells = tf.zeros_like(ends)
    for place in range(n):
        cells = tf.math.floormod(cells * FACTOR + row[:, place : place + columns + 1], table.size)
    powers = tf.constant(2 ** np.arange(BITS), tf.int32)
    bit = tf.gather(powers, tf.math.floormod(cells, BITS))
    seen = tf.math.floormod(tf.gather(tf.constant(table.table), cells // BITS) // bit, 2)
    unseen = tf.where(positions <= lengths[:, None], 1 - seen, 0)
    count = tf.minimum(tf.reduce_sum(unseen, axis=1), len(table.surprises) - 1)
    return tf.gather(tf.constant(table.surprises, tf.float32), count)


def _interpolated(familiarity: Familiarity, log_probability: tf.Tensor) -> tf.Tensor:
    """The surprise of log-probabilities: linear pieces as a sum of hinges."""
    knots = np.asarray(familiarity.knots)
    slopes = np.diff(familiarity.knot_surprises) / np.diff(knots)
    doubt = tf.math.log(1e-4 - tf.minimum(log_probability, 0.0))
    total = tf.fill(tf.shape(doubt), float(familiarity.knot_surprises[0]))
    for low, high, slope in zip(knots[:-1], knots[1:], slopes, strict=True):
        total += float(slope) * (tf.clip_by_value(doubt, float(low), float(high)) - float(low))
    return total
