"""The inference model: encoder and decoder step joined by the decoding loop; ids in, ids out."""

from __future__ import annotations

import keras
import tensorflow as tf

from keras_attention.config import Config
from keras_attention.layers.attention_masks import trusted_masks
from keras_attention.models.decoding import (
    Decoded,
    Step,
    beam_search,
    emittable_log_probabilities,
    greedy_decode,
)
from keras_attention.models.training_model import build_decoder_step, build_encoder
from keras_attention.text.arguments import checked_integer


class StepDecoder:
    """What decodes with a step function of its own: a model, or several as one.

    Attributes:
        longest_output: Tokens after which decoding stops.
    """

    longest_output: int

    @property
    def has_attention(self) -> bool:
        """Whether there are attention weights at all."""
        raise NotImplementedError

    def prepare(
        self, source_ids: tf.Tensor, copies: int
    ) -> tuple[Step, list[tf.Tensor], tf.Tensor]:
        """Encodes a batch.

        Args:
            source_ids: int32 `(n, S)`.
            copies: How many hypotheses of each row the step function will be called with.

        Returns:
            The step function, the states that it begins with, and the length S of its attention
            (0 without attention).
        """
        raise NotImplementedError

    def greedy(self, source_ids: tf.Tensor, litert_compatible: bool = False) -> Decoded:
        """Greedy decoding of int32 `(n, S)`; see `decoding.greedy_decode`."""
        batch_size, length = tf.shape(source_ids)[0], tf.shape(source_ids)[1]
        step, states, source_length = self.prepare(source_ids, 1)
        decoded = greedy_decode(
            step, states, batch_size, self.longest_output, source_length, litert_compatible
        )
        return self._of_length(decoded, length)

    def beam(self, source_ids: tf.Tensor, beam_width: int, length_penalty: float = 0.0) -> Decoded:
        """Beam search over int32 `(n, S)`; see `decoding.beam_search`."""
        batch_size, length = tf.shape(source_ids)[0], tf.shape(source_ids)[1]
        step, states, source_length = self.prepare(source_ids, beam_width)
        decoded = beam_search(
            *(step, states, batch_size, self.longest_output, source_length),
            beam_width,
            length_penalty,
        )
        return self._of_length(decoded, length)

    def _of_length(self, decoded: Decoded, length: tf.Tensor) -> Decoded:
        return decoded._replace(attention_weights=decoded.attention_weights[..., :length])


class GreedyModel(StepDecoder, keras.Model):
    """A Keras model that decodes greedily; what it takes and returns, `InferenceModel` says."""

    def call(self, source_ids):
        decoded = self.greedy(source_ids)
        results = {"target_ids": decoded.token_ids, "log_probability": decoded.log_probability}
        if self.has_attention:
            results["attention_weights"] = decoded.attention_weights
        return results

    def compute_output_spec(self, source_ids):
        n, source_length = source_ids.shape
        results = {
            "target_ids": keras.KerasTensor((n, self.longest_output), "int32"),
            "log_probability": keras.KerasTensor((n,), "float32"),
        }
        if self.has_attention:
            shape = (n, self.longest_output, source_length)
            results["attention_weights"] = keras.KerasTensor(shape, "float32")
        return results


@keras.saving.register_keras_serializable(package="keras_attention")
class InferenceModel(GreedyModel):
    """Translates token ids by greedy decoding, and shows where it looked.

    Call arguments:
        source_ids: int32 `(n, S)` in reading order, right-padded with 0.

    Returns:
        A dict of `target_ids` int32 `(n, T)`, zero behind the last token; `log_probability`
        float32 `(n,)` in nats; and, for a model with attention, `attention_weights` float32
        `(n, T, S)`, zero behind the last token and at padding. T is always `longest_output`, so
        that `predict` can join batches.

    Args:
        encoder: Of `models.build_encoder`; call it in a decoding loop of your own.
        decoder_step: Of `models.build_decoder_step`; likewise.
        longest_output: Tokens after which decoding stops, at least 1.
        name: Of the Keras model.
        kwargs: Other arguments of `keras.Model`, such as `dtype`.

    Raises:
        TypeError: a part that is no Keras model, or a `longest_output` that is no integer.
        ValueError: `longest_output` is below 1.
    """

    def __init__(
        self,
        encoder: keras.Model,
        decoder_step: keras.Model,
        longest_output: int,
        name: str = "inference",
        **kwargs,
    ):
        for part, value in (("encoder", encoder), ("decoder_step", decoder_step)):
            if not isinstance(value, keras.Model):
                raise TypeError(f"{part} must be a keras.Model. Received: {part}={value!r}")
        longest_output = checked_integer(longest_output, "longest_output", 1, 2**31 - 1)
        super().__init__(name=name, **kwargs)
        self.encoder = encoder
        self.decoder_step = decoder_step
        self.longest_output = longest_output

    @classmethod
    def from_training_model(
        cls, training_model: keras.Model, config: Config, longest_output: int
    ) -> InferenceModel:
        """Shares the layers of a training model: training it further changes this model too.

        Args:
            training_model: Of `models.build_training_model`.
            config: The options that it was built with.
            longest_output: Tokens after which decoding stops, at least 1.
        """
        return cls(
            build_encoder(training_model, config),
            build_decoder_step(training_model, config),
            longest_output,
        )

    @property
    def has_attention(self) -> bool:
        """Whether the model has attention weights at all."""
        return "attention_weights" in self.decoder_step.output

    def prepare(self, source_ids, copies):
        # A recurrent layer needs a first position, also where all sources are empty.
        missing = tf.maximum(1 - tf.shape(source_ids)[1], 0)
        source_ids = tf.pad(source_ids, [[0, 0], [0, missing]])
        source_length = tf.shape(source_ids)[1] if self.has_attention else tf.constant(0)
        encoded = self.encoder(source_ids, training=False)
        names = [name for name in encoded if name.startswith("state_")]
        states = [encoded[name] for name in names]
        memory = {
            name: tf.repeat(part, copies, axis=0) if copies > 1 else part
            for name, part in encoded.items()
            if name not in names
        }

        def step(token_ids, states):
            inputs = {"token_ids": token_ids} | dict(zip(names, states, strict=True)) | memory
            with trusted_masks():  # the encoder makes mask and states of the same ids
                results = self.decoder_step(inputs, training=False)
            weights = results.get("attention_weights")
            if weights is None:
                weights = tf.zeros([tf.shape(token_ids)[0], 0])
            new_states = [results[name] for name in names]
            return emittable_log_probabilities(results["logits"]), new_states, weights

        return step, states, source_length

    def get_config(self):
        return {
            **super().get_config(),
            "name": self.name,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder_step": keras.saving.serialize_keras_object(self.decoder_step),
            "longest_output": self.longest_output,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for part in ("encoder", "decoder_step"):
            config[part] = keras.saving.deserialize_keras_object(config[part])
        return cls(**config)
