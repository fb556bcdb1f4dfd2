"""The encoder for LiteRT: fixed lengths, and yet no step over padding.

Letters in shape comments: S longest source, E input width, U output width; the batch is always 1.
"""

from __future__ import annotations

import keras
import tensorflow as tf


def until_last_token(encoder: keras.Model) -> keras.Model:
    """An encoder for one source at a time whose recurrent layers end at its last token.

    Keras' own layers step through the padding and throw the results away: with a source of 18
    characters padded to 64 that is most of the time. Cutting the padding off would make shapes
    depend on the source, which LiteRT's interpreter bears and its compiled models, those of
    LiteRT.js among them, do not: they answer wrongly, without an error.

    Args:
        encoder: Of `models.build_encoder`; its weights are shared.
    """
    recurrent = (keras.layers.RNN, keras.layers.Bidirectional)
    return keras.models.clone_model(
        encoder,
        clone_function=lambda layer: (
            UntilLastToken(layer) if isinstance(layer, recurrent) else layer
        ),
    )


class UntilLastToken(keras.layers.Layer):
    """Does for a batch of one what a recurrent layer does, step by step up to the last token.

    Call arguments:
        sequence: `(1, S, E)`.
        mask: bool `(1, S)`, True at real tokens, which must stand before the padding.

    Returns:
        As the layer: outputs `(1, S, U)`, here zero at padding, and the last states.

    Args:
        layer: An `RNN` of one cell, or a `Bidirectional` of two, that returns sequences and states.
    """

    def __init__(self, layer: keras.layers.Layer):
        super().__init__(name=layer.name)
        self.supports_masking = True
        self._layer = layer

    def call(self, sequence, mask):
        length = tf.reduce_sum(tf.cast(mask, tf.int32))
        if not isinstance(self._layer, keras.layers.Bidirectional):
            outputs, states = _run(self._layer.cell, sequence, length, backward=False)
            return [outputs, *states]
        both = [
            _run(self._layer.forward_layer.cell, sequence, length, backward=False),
            _run(self._layer.backward_layer.cell, sequence, length, backward=True),
        ]
        outputs = tf.concat([outputs for outputs, _ in both], axis=-1)
        return [outputs, *(state for _, states in both for state in states)]

    def compute_output_spec(self, sequence, mask=None):
        return self._layer.compute_output_spec(sequence, mask=mask)


def _run(cell, sequence, length, backward: bool) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """A cell over the first `length` positions, or from the last of them back to the first."""
    positions = tf.shape(sequence)[1] if sequence.shape[1] is None else sequence.shape[1]
    sizes = cell.state_size if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]

    def advance(t, outputs, states):
        place = length - 1 - t if backward else t
        output, states = cell(sequence[:, place], states)
        return t + 1, tf.tensor_scatter_nd_update(outputs, [[place]], output[None]), list(states)

    start = (
        tf.constant(0),
        tf.zeros([positions, 1, cell.units]),
        [tf.zeros([1, size]) for size in sizes],
    )
    _, outputs, states = tf.while_loop(lambda t, *_: t < length, advance, start)
    return tf.transpose(outputs, [1, 0, 2]), states  # (1, S, U)
