"""A trained model as the audit sees it: its logits as a function of given attention weights.

What our models compute from context and state is affine in both at first, and the states do not
depend on attention. So the logits of a step are exactly
`to_logits(weights @ value_terms + state_terms)`, and other weights at one step change the output of
that step alone.

Letters in shape comments: B examples, T steps (output tokens, the end symbol left out), S source
positions, E embedding size, F read-out inputs, V output columns: what the model can emit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_attention.errors import UserError
from keras_attention.models.decoding import NEG_INF, greedy_decode
from keras_attention.models.training_model import build_decoder_step, build_encoder
from keras_attention.readers.run import Run
from keras_attention.text.vocabulary import END, RESERVED, START, UNKNOWN

# Signatures of compiled functions, so that other sizes need no new trace.
IDS = tf.TensorSpec([None, None], tf.int32)
FLOATS = {rank: tf.TensorSpec([None] * rank, tf.float32) for rank in range(1, 5)}


def compiled(function: Callable, *signature) -> tf.types.experimental.PolymorphicFunction:
    """A graph of `function` that serves every size; nothing in it needs AutoGraph."""
    return tf.function(function, input_signature=signature, autograph=False)


# (weights [N, S], mask bool [N, S], what the change needs [N, S]) -> weights [N, S]
Change = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


class LinearizedReadout(NamedTuple):
    """The parts of a teacher-forced pass, all float32.

    Attributes:
        attention_weights: `[B, T, S]`, exactly 0 at padding.
        value_terms: `[B, S, F]`, what each source position adds per unit of weight.
        state_terms: `[B, T, F]`, the rest: the decoder state's part, and the bias.
        to_logits: From `[..., F]` to logits `[..., V]`; nothing where the sum already is logits.
    """

    attention_weights: tf.Tensor
    value_terms: tf.Tensor
    state_terms: tf.Tensor
    to_logits: Callable[[tf.Tensor], tf.Tensor] = tf.identity

    def logits(self, weights: tf.Tensor) -> tf.Tensor:
        """Logits `[B, T, V]` under the given weights `[B, T, S]`."""
        return self.to_logits(tf.matmul(weights, self.value_terms) + self.state_terms)

    def logits_of_variants(self, weights: tf.Tensor) -> tf.Tensor:
        """Logits `[B, T, K, V]` under K variants `[B, T, K, S]` of each step's weights."""
        shape = tf.shape(weights)
        flat = tf.reshape(weights, [shape[0], shape[1] * shape[2], shape[3]])
        terms = tf.matmul(flat, self.value_terms)
        terms = tf.reshape(terms, [shape[0], shape[1], shape[2], self.value_terms.shape[-1]])
        return self.to_logits(terms + self.state_terms[:, :, None])


class AttributionModel(Protocol):
    """What an audit asks of a model. Everything runs as in inference: no dropout.

    Source and answer ids are int32, right-padded with 0. Answer ids minus `column_offset` are
    columns of the logits.

    Attributes:
        column_offset: See above.
        feature_dim: The larger of F and V, by which batches are made small enough.
        replacement_id: The source id that stands for "nothing known here".
    """

    column_offset: int
    feature_dim: int
    replacement_id: int

    def embed(self, source_ids: tf.Tensor) -> tf.Tensor:
        """Source ids `[B, S]` into embeddings `[B, S, E]`, both in reading order."""

    def linearize(
        self, embeddings: tf.Tensor, source_ids: tf.Tensor, answer_ids: tf.Tensor
    ) -> LinearizedReadout:
        """A differentiable pass from embeddings; `source_ids` only say what is padding."""

    def shuffled(self, rng: np.random.Generator) -> AttributionModel:
        """The same model with each of its weight arrays in a random order."""

    def answer(self, source_ids: tf.Tensor, change: Change, given: tf.Tensor) -> tf.Tensor:
        """What the model says, free-running, under changed weights.

        Args:
            source_ids: int32 `[B, S]`.
            change: Applied to the weights of every step.
            given: float32 `[B, T', S]`, what `change` needs at each step; the last row serves all
                later steps.

        Returns:
            int32 `[B, longest output]`, 0 behind the last token.
        """


class SequenceAttributionModel:
    """A run with attention, as the audit sees it; see `AttributionModel`.

    Raises:
        UserError: the run has no attention.
    """

    column_offset = UNKNOWN  # columns are the end symbol, then every token

    def __init__(self, run: Run):
        self._run = run
        config = run.config
        if not config.has_attention:
            raise UserError(
                f"the run has no attention to explain anything with (--attention "
                f"{config.attention}); train one with --attention dot"
            )
        self._reads_reversed = config.reverse_source
        self._longest_output = run.longest_output
        model = run.model
        self._attentional_layer = None
        if config.attentional_layer:
            self._attentional_layer = model.get_layer("attentional_layer")
        outputs = len(run.target) - self.column_offset
        self.feature_dim = max(outputs, config.units) if config.attentional_layer else outputs
        self.replacement_id = _replacement_id(run)
        self._embedding = model.get_layer("source_embedding")
        self._attention = model.get_layer("attention")
        self._output_layer = model.get_layer("affine")
        query, value = self._attention.input[:2]
        weights = self._attention.output[1]
        inputs = [model.input["source_ids"], model.input["decoder_ids"], self._embedding.output]
        self._parts = keras.Model(inputs, [query, value, weights], name="readout")
        self._encoder = build_encoder(model, config)
        self._step = build_decoder_step(model, config)
        parts_per_layer = 2 if config.encoder == "lstm" else 1
        self._output_state = f"state_{parts_per_layer * (config.layers - 1)}"

    def embed(self, source_ids):
        return self._embedding(source_ids)

    def linearize(self, embeddings, source_ids, answer_ids):
        decoder_ids = tf.pad(answer_ids, [[0, 0], [1, 0]], constant_values=START)[:, :-1]
        if self._reads_reversed:  # the model of the parts begins behind the reversal
            length = tf.reduce_sum(tf.cast(source_ids != 0, tf.int32), axis=1)
            embeddings = tf.reverse_sequence(embeddings, length, seq_axis=1)
        query, value, weights = self._parts([source_ids, decoder_ids, embeddings], training=False)
        return self._readout(query, value, weights)

    def shuffled(self, rng):
        model = _shuffled(self._run.model, rng)
        return SequenceAttributionModel(dataclasses.replace(self._run, model=model))

    def answer(self, source_ids, change, given):
        encoded = self._encoder(source_ids, training=False)
        memory = {name: encoded[name] for name in ("encoder_outputs", "source_mask")}
        names = [name for name in encoded if name not in memory]

        def step(token_ids, states):
            *states, time = states
            inputs = {"token_ids": token_ids} | dict(zip(names, states, strict=True)) | memory
            results = self._step(inputs, training=False)
            row = given[:, tf.minimum(time, tf.shape(given)[1] - 1)]
            weights = change(results["attention_weights"], memory["source_mask"], row)
            readout = self._readout(
                results[self._output_state][:, None], memory["encoder_outputs"], weights[:, None]
            )
            logits = readout.logits(readout.attention_weights)[:, 0]
            columns = tf.nn.log_softmax(logits)
            never = tf.fill([tf.shape(columns)[0], 1], NEG_INF)
            kept = tf.concat([never, never, columns[:, :1], never, columns[:, 1:]], axis=1)
            return kept, [*(results[name] for name in names), time + 1], weights

        shape = tf.shape(source_ids)
        states = [*(encoded[name] for name in names), tf.constant(0)]
        return greedy_decode(step, states, shape[0], self._longest_output, shape[1]).token_ids

    def _readout(self, query, value, weights) -> LinearizedReadout:
        kernel, bias = (self._emittable(part) for part in self._output_layer.weights)
        inner = self._attentional_layer
        if inner is None:
            return _readout(query, value, weights, kernel, bias)

        def to_logits(terms):
            return tf.tensordot(inner.activation(terms), kernel, axes=1) + bias

        first = tf.convert_to_tensor(inner.kernel)
        return _readout(query, value, weights, first, 0.0)._replace(to_logits=to_logits)

    @staticmethod
    def _emittable(part):
        """Of all columns those of tokens and the end symbol, which alone can be emitted."""
        part = tf.convert_to_tensor(part)
        return tf.concat([part[..., END : END + 1], part[..., len(RESERVED) :]], axis=-1)


class ClassifierAttributionModel:
    """A classifier with learned-query attention, of one step: the class. See `AttributionModel`.

    Args:
        model: From `source_ids` int32 `[B, S]` to logits `[B, classes]`, with layers named
            `source_embedding`, `attention` (`learned_query=True`) and, straight behind it and
            affine in its context, `affine`.
        replacement_id: The source id of the unknown token.
    """

    column_offset = 1  # answer ids are classes from 1, because 0 is padding

    def __init__(self, model: keras.Model, replacement_id: int = UNKNOWN):
        self.replacement_id = replacement_id
        self._model = model
        self._embedding = model.get_layer("source_embedding")
        self._output_layer = model.get_layer("affine")
        self.feature_dim = self._output_layer.units
        attention = model.get_layer("attention")
        value = attention.input[0] if isinstance(attention.input, list) else attention.input
        inputs = [model.inputs[0], self._embedding.output]
        self._parts = keras.Model(inputs, [value, attention.output[1]], name="readout")

    def embed(self, source_ids):
        return self._embedding(source_ids)

    def linearize(self, embeddings, source_ids, answer_ids):
        value, weights = self._parts([source_ids, embeddings], training=False)
        kernel, bias = (tf.convert_to_tensor(part) for part in self._output_layer.weights)
        value_terms = tf.matmul(value, kernel)
        shape = tf.shape(value_terms)
        state_terms = tf.broadcast_to(bias, [shape[0], 1, shape[2]])
        return LinearizedReadout(weights[:, None], value_terms, state_terms)

    def shuffled(self, rng):
        return ClassifierAttributionModel(_shuffled(self._model, rng), self.replacement_id)

    def answer(self, source_ids, change, given):
        readout = self.linearize(self.embed(source_ids), source_ids, None)
        weights = change(readout.attention_weights[:, 0], source_ids != 0, given[:, 0])
        logits = readout.logits(weights[:, None])[:, 0]
        return tf.argmax(logits, axis=-1, output_type=tf.int32)[:, None] + self.column_offset


def _readout(query, value, weights, kernel, bias) -> LinearizedReadout:
    """Of the affine layer `kernel` `[U + U', F]`, whose input is [context, state]."""
    feature_dim = value.shape[-1]
    state_terms = tf.matmul(query, kernel[feature_dim:]) + bias
    return LinearizedReadout(weights, tf.matmul(value, kernel[:feature_dim]), state_terms)


def _shuffled(model: keras.Model, rng: np.random.Generator) -> keras.Model:
    """A copy whose weights have the same values in another order, so that their scale stays."""
    other = keras.models.clone_model(model)
    other.set_weights(
        [rng.permuted(part.ravel()).reshape(part.shape) for part in model.get_weights()]
    )
    return other


def unchanged(weights, mask, given):
    """The change that changes nothing."""
    return weights


def _replacement_id(run: Run) -> int:
    """The unknown token where training saw it, else a space where there is one."""
    if run.config.unknown_rate == 0 and " " in run.source.tokens:
        return run.source.tokens.index(" ") + len(RESERVED)
    return UNKNOWN
