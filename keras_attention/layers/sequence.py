"""Small layers that a model may hold beside the attention: a reversal, a peek, a single step.

They have a module of their own so that whoever imports `keras_attention.Attention` can load every
saved model, without what builds models.

Letters in shape comments: B batch size, S source length, T target length, E embedding size,
U units.
"""

from __future__ import annotations

import keras
from keras import layers, ops


@keras.saving.register_keras_serializable(package="keras_attention")
class ReverseSequence(layers.Layer):
    """Reverses each row within its length, so that padding stays on the right.

    Applied twice it gives back what it was given. The encoder of a model with a reversed source
    reads through this layer and its hidden states pass back through it, so that everything outside
    of the encoder is in reading order.

    Call arguments:
        sequence: `(B, S)` or `(B, S, U)`.
        mask: bool `(B, S)`, True at real tokens, which must stand before the padding.

    Returns:
        Of the shape and dtype of `sequence`.

    Args:
        **kwargs: `name`, `dtype` and what else `keras.layers.Layer` takes.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, sequence, mask):
        length = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)  # (B, 1)
        position = ops.expand_dims(ops.arange(ops.shape(mask)[1], dtype="int32"), 0)  # (1, S)
        mirrored = ops.where(position < length, length - 1 - position, position)  # (B, S)
        if len(sequence.shape) == 3:
            mirrored = ops.expand_dims(mirrored, -1)  # (B, S, 1)
        return ops.take_along_axis(sequence, mirrored, axis=1)

    def compute_output_spec(self, sequence, mask):
        return keras.KerasTensor(sequence.shape, sequence.dtype)


@keras.saving.register_keras_serializable(package="keras_attention")
class Peek(layers.Layer):
    """Joins the encoder's vector `(B, U)` to the features of one step or of every step.

    Call arguments:
        features: `(B, E)` or `(B, T, E)`.
        vector: `(B, U)`.

    Returns:
        `(B, E + U)` or `(B, T, E + U)`.
    """

    def call(self, features, vector):
        vector = ops.cast(vector, features.dtype)
        if len(features.shape) == 3:
            shape = ops.shape(features)
            vector = ops.broadcast_to(
                ops.expand_dims(vector, 1), (shape[0], shape[1], vector.shape[-1])
            )
        return ops.concatenate([features, vector], axis=-1)

    def compute_output_spec(self, features, vector):
        shape = (*features.shape[:-1], features.shape[-1] + vector.shape[-1])
        return keras.KerasTensor(shape, features.dtype)


@keras.saving.register_keras_serializable(package="keras_attention")
class RecurrentStep(layers.Layer):
    """One step of a recurrent layer, by its own cell, under a name of its own.

    All cells of one kind have the same name, and a model cannot hold two layers of one name.

    Call arguments:
        inputs: `(B, E)`.
        states: A list of `(B, U)`, as many as the cell has.

    Returns:
        What the cell returns: its output `(B, U)` and its new states.

    Args:
        cell: Of an LSTM or GRU layer, which goes on using it.
    """

    def __init__(self, cell: layers.Layer, **kwargs):
        super().__init__(**kwargs)
        self.cell = cell

    def build(self, inputs_shape, states_shape):
        if not self.cell.built:
            self.cell.build(inputs_shape)
            self.cell.built = True

    def call(self, inputs, states):
        return self.cell(inputs, states)

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        cell = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**{**config, "cell": cell})
