"""A step function into token ids, scores and attention: greedy and beam search, in the graph.

The loops know nothing of a model. They run eagerly, in `tf.function`, in a SavedModel and, greedy
and with a batch of one, in LiteRT with builtin operators only.

Letters in shape comments: n rows, k beam width, T longest output, S source length, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_attention.text.vocabulary import END, PADDING, START, UNKNOWN

# Far below any log-probability, and finite: an infinity would leak as NaN through 0 * inf.
NEG_INF = -1e9
# A score below this one has a `NEG_INF` in it: the hypothesis does not exist.
NO_HYPOTHESIS = NEG_INF / 2

# (token ids int32 [n], states) -> (log-probabilities float32 [n, V], states, attention [n, S])
Step = Callable[[tf.Tensor, list[tf.Tensor]], tuple[tf.Tensor, list[tf.Tensor], tf.Tensor]]


class _Beam(NamedTuple):
    """What the steps of a beam search hand on; the states have n · k rows.

    Attributes:
        t: Steps made.
        token: int32 `[n, k]`, the last token of each hypothesis.
        finished: bool `[n, k]`.
        score: float32 `[n, k]`, log-probabilities.
        length: int32 `[n, k]`, tokens with the end symbol.
        tokens, parents: int32, for each step `[n, k]`: the token, and which hypothesis it extended.
        gains: float32, for each step `[n, k]`: the token's log-probability.
        attention: float32, for each step `[n, k, S]`.
        states: Of the step function.
    """

    t: tf.Tensor
    token: tf.Tensor
    finished: tf.Tensor
    score: tf.Tensor
    length: tf.Tensor
    tokens: tf.TensorArray
    parents: tf.TensorArray
    gains: tf.TensorArray
    attention: tf.TensorArray
    states: list[tf.Tensor]


class Decoded(NamedTuple):
    """What decoding returns.

    Shapes are for greedy decoding; beam search has a dimension k behind n everywhere.

    Attributes:
        token_ids: int32 `[n, T]`, the end symbol left out, 0 behind the last token.
        lengths: int32 `[n]`, tokens of each output, the end symbol not counted.
        log_probability: float32 `[n]`, of the tokens and the end symbol, in nats. A hypothesis
            that does not exist, in a beam wider than there are outputs, has `NEG_INF`.
        attention_weights: float32 `[n, T, S]`, zero behind the last token. A model without
            attention has S = 0.
        token_log_probability: float32 `[n, T]`, of each token and, behind them, of the end symbol;
            then 0. They add up to `log_probability`.
    """

    token_ids: tf.Tensor
    lengths: tf.Tensor
    log_probability: tf.Tensor
    attention_weights: tf.Tensor
    token_log_probability: tf.Tensor


def emittable_log_probabilities(logits: tf.Tensor) -> tf.Tensor:
    """Log-probabilities over what may be emitted: never padding, start or unknown.

    Args:
        logits: float `[..., V]`.

    Returns:
        float32 `[..., V]`; the remaining tokens' probabilities sum to 1.
    """
    logits = tf.cast(logits, tf.float32)
    never = tf.reduce_sum(tf.one_hot([PADDING, START, UNKNOWN], logits.shape[-1]), axis=0)  # [V]
    return tf.nn.log_softmax(logits + never * NEG_INF)


def greedy_decode(
    step: Step,
    states: list[tf.Tensor],
    batch_size: tf.Tensor | int,
    longest_output: int,
    source_length: tf.Tensor,
    litert_compatible: bool = False,
) -> Decoded:
    """Takes the likeliest token at every step, until all rows have ended.

    Args:
        step: One decoder step.
        states: What `step` carries from step to step, each `[n, ...]`.
        batch_size: n.
        longest_output: T, the number of tokens after which decoding stops.
        source_length: S, the number of columns of the attention that `step` returns.
        litert_compatible: Use only what LiteRT has builtin. Each step then copies what all steps
            have written, so that time grows with the square of T.
    """
    columns = tf.maximum(source_length, 1)  # an update of nothing is an error

    def running(t, token, finished, *_):
        return tf.logical_and(t < longest_output, tf.logical_not(tf.reduce_all(finished)))

    def advance(t, token, finished, tokens, gains, attention, states):
        log_probabilities, states, weights = step(token, states)
        token = tf.argmax(log_probabilities, axis=-1, output_type=tf.int32)  # [n]
        gain = tf.reduce_max(log_probabilities, axis=-1)
        gain = tf.where(finished, tf.zeros_like(gain), gain)
        finished = tf.logical_or(finished, tf.equal(token, END))
        token = tf.where(finished, tf.fill(tf.shape(token), PADDING), token)
        weights = tf.where(finished[:, None], tf.zeros_like(weights), weights)
        weights = tf.pad(weights, [[0, 0], [0, columns - source_length]])
        tokens, gains = _write(tokens, t, token), _write(gains, t, gain)
        return t + 1, token, finished, tokens, gains, _write(attention, t, weights), states

    start = (
        tf.constant(0),
        tf.fill([batch_size], START),
        tf.zeros([batch_size], tf.bool),
        _steps_of(tf.zeros([longest_output, batch_size], tf.int32), litert_compatible),
        _steps_of(tf.zeros([longest_output, batch_size], tf.float32), litert_compatible),
        _steps_of(tf.zeros([longest_output, batch_size, columns], tf.float32), litert_compatible),
        list(states),
    )
    _, _, _, tokens, gains, attention, _ = tf.while_loop(running, advance, start)
    attention = tf.transpose(_stack(attention), [1, 0, 2])[..., :source_length]
    tokens, gains = tf.transpose(_stack(tokens)), tf.transpose(_stack(gains))  # [n, T]
    lengths = tf.reduce_sum(tf.cast(tf.not_equal(tokens, PADDING), tf.int32), axis=1)
    return Decoded(tokens, lengths, tf.reduce_sum(gains, axis=1), attention, gains)


def beam_search(
    step: Step,
    states: list[tf.Tensor],
    batch_size: tf.Tensor | int,
    longest_output: int,
    source_length: tf.Tensor,
    beam_width: int,
    length_penalty: float = 0.0,
) -> Decoded:
    """Keeps the k best hypotheses of every row; returns them best first.

    A finished hypothesis stays in the beam and competes with the running ones.

    Args:
        step: One decoder step, called with n · k rows.
        states: As in `greedy_decode`, still with n rows.
        batch_size, longest_output, source_length: As in `greedy_decode`.
        beam_width: k; 1 gives what `greedy_decode` gives.
        length_penalty: Exponent a in `log_probability / length ** a` by which hypotheses are
            ranked, the end symbol counted; 0 ranks by the log-probability itself.
    """
    columns = tf.maximum(source_length, 1)

    def running(*beam):
        beam = _Beam(*beam)
        unfinished = tf.logical_not(tf.reduce_all(beam.finished))
        return tf.logical_and(beam.t < longest_output, unfinished)

    def advance(*beam):
        beam = _Beam(*beam)
        log_probabilities, states, weights = step(tf.reshape(beam.token, [-1]), beam.states)
        weights = tf.pad(weights, [[0, 0], [0, columns - source_length]])
        return _extended(beam, log_probabilities, states, weights, length_penalty)

    start = _first_beam(states, batch_size, longest_output, columns, beam_width)
    last = _Beam(*tf.while_loop(running, advance, start))
    tokens, gains, attention = _trace_back(
        last.t, *map(_stack, (last.tokens, last.parents, last.gains, last.attention))
    )
    exists = last.score > NO_HYPOTHESIS
    tokens = tf.where(exists[..., None], tokens, PADDING)  # [n, k, T]
    gains = tf.where(exists[..., None], gains, 0.0)
    attention = tf.where(exists[..., None, None], attention, 0.0)
    lengths = tf.reduce_sum(tf.cast(tf.not_equal(tokens, PADDING), tf.int32), axis=-1)
    score = tf.where(exists, last.score, NEG_INF)
    return Decoded(tokens, lengths, score, attention[..., :source_length], gains)


def _first_beam(states, batch_size, longest_output: int, columns, k: int) -> _Beam:
    """The start symbol alone, as the first of k hypotheses.

    k equal ones would all make the same choices; so the others do not exist.
    """
    first = tf.concat([tf.zeros([batch_size, 1]), tf.fill([batch_size, k - 1], NEG_INF)], axis=1)
    written = [longest_output, batch_size, k]
    return _Beam(
        tf.constant(0),
        tf.fill([batch_size, k], START),
        tf.zeros([batch_size, k], tf.bool),
        first,
        tf.zeros([batch_size, k], tf.int32),
        _steps_of(tf.zeros(written, tf.int32)),
        _steps_of(tf.zeros(written, tf.int32)),
        _steps_of(tf.zeros(written)),
        _steps_of(tf.zeros([*written, columns], tf.float32)),
        [tf.repeat(state, k, axis=0) for state in states],
    )


def _extended(beam: _Beam, log_probabilities, states, weights, length_penalty: float) -> _Beam:
    """The k best of all hypotheses that are one token longer, or finished before.

    Args:
        beam: The hypotheses so far.
        log_probabilities: Of their next tokens, float32 `[n · k, V]`.
        states: Behind the step, `[n · k, ...]` each.
        weights: The step's attention, float32 `[n · k, S]`.
        length_penalty: See `beam_search`.
    """
    rows, k = tf.shape(beam.token)[0], beam.token.shape[1]
    size = log_probabilities.shape[-1]
    log_probabilities = tf.reshape(log_probabilities, [rows, k, size])
    # A finished hypothesis goes on with padding alone, at no cost.
    stay = tf.one_hot(PADDING, size, on_value=0.0, off_value=NEG_INF)
    log_probabilities = tf.where(beam.finished[..., None], stay, log_probabilities)
    length = beam.length + tf.cast(tf.logical_not(beam.finished), tf.int32)  # [n, k]
    candidates = beam.score[..., None] + log_probabilities  # [n, k, V]
    penalty = tf.cast(tf.maximum(length[..., None], 1), tf.float32) ** length_penalty
    _, best = tf.math.top_k(tf.reshape(candidates / penalty, [rows, k * size]), k)  # [n, k]
    parent, token = best // size, best % size

    score = tf.gather(tf.reshape(candidates, [rows, k * size]), best, batch_dims=1)
    gain = tf.gather(tf.reshape(log_probabilities, [rows, k * size]), best, batch_dims=1)
    finished = tf.gather(beam.finished, parent, batch_dims=1)
    finished = tf.logical_or(finished, tf.equal(token, END))
    token = tf.where(finished, tf.fill(tf.shape(token), PADDING), token)
    row = tf.reshape(tf.range(rows)[:, None] * k + parent, [-1])
    weights = tf.reshape(tf.gather(weights, row), [rows, k, tf.shape(weights)[-1]])
    weights = tf.where(finished[..., None], tf.zeros_like(weights), weights)
    return _Beam(
        beam.t + 1,
        token,
        finished,
        tf.maximum(score, NEG_INF),
        tf.gather(length, parent, batch_dims=1),
        _write(beam.tokens, beam.t, token),
        _write(beam.parents, beam.t, parent),
        _write(beam.gains, beam.t, gain),
        _write(beam.attention, beam.t, weights),
        [tf.gather(state, row) for state in states],
    )


def _steps_of(zeros: tf.Tensor, litert_compatible: bool = False) -> tf.TensorArray | tf.Tensor:
    """Where a loop writes what each of its steps gives; `zeros` is what stands there before."""
    if litert_compatible:
        return zeros
    # A tensor updated in a loop is copied in each step, a TensorArray is not.
    array = tf.TensorArray(zeros.dtype, zeros.shape[0], element_shape=zeros.shape[1:])
    return array.unstack(zeros)


def _write(steps, t, value):
    if isinstance(steps, tf.TensorArray):
        return steps.write(t, value)
    return tf.tensor_scatter_nd_update(steps, [[t]], value[None])


def _stack(steps) -> tf.Tensor:
    return steps.stack() if isinstance(steps, tf.TensorArray) else steps


def _trace_back(steps, tokens, parents, gains, attention):
    """Follows each surviving hypothesis from its last step to its first.

    Args:
        steps: How many steps were made.
        tokens, parents: int32 `[T, n, k]`.
        gains: float32 `[T, n, k]`.
        attention: float32 `[T, n, k, S]`.

    Returns:
        Tokens int32 `[n, k, T]`, their log-probabilities float32 `[n, k, T]` and attention float32
        `[n, k, T, S]` of the hypotheses that stand in the beam at the end.
    """
    shape = tf.shape(tokens)
    branch = tf.broadcast_to(tf.range(shape[2]), shape[1:])  # [n, k]

    def back(t, branch, *traced):
        found = [tf.gather(part[t], branch, batch_dims=1) for part in (tokens, gains, attention)]
        branch = tf.gather(parents[t], branch, batch_dims=1)
        written = (_write(steps, t, value) for steps, value in zip(traced, found, strict=True))
        return t - 1, branch, *written

    empty = (_steps_of(tf.zeros_like(part)) for part in (tokens, gains, attention))
    _, _, *traced = tf.while_loop(lambda t, *_: t >= 0, back, (steps - 1, branch, *empty))
    tokens, gains, attention = map(_stack, traced)
    return (
        tf.transpose(tokens, [1, 2, 0]),
        tf.transpose(gains, [1, 2, 0]),
        tf.transpose(attention, [1, 2, 0, 3]),
    )
