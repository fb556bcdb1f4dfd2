"""Dropout that draws 16 random bits for each value, where Keras draws 32 and makes them a float."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import keras
import tensorflow as tf
from keras import layers

from keras_attention._runtime.undocumented import replaced_method

LEVELS = 2**16

CALL = "call"


@contextlib.contextmanager
def fast_dropout(model: keras.Model) -> Iterator[None]:
    """Lets a model's dropout layers use 16 bits for each value, in half of the time of Keras.

    It concerns calls with `training=True` inside the block. A rate becomes a multiple of 1/65,536,
    and what is kept is scaled by that rate. A layer draws from its own seed, so that a training
    that is resumed goes on as if it had not been interrupted. What `can_be_faster` refuses is
    computed by Keras.

    Args:
        model: Its own layers are meant.
    """
    with contextlib.ExitStack() as stack:
        for layer in model.layers:
            if can_be_faster(layer):
                stack.enter_context(replaced_method(layer, CALL, functools.partial(_call, layer)))
        yield


def can_be_faster(layer: layers.Layer) -> bool:
    """Whether it drops each value by itself, at a rate that 16 bits can tell from 0 and from 1."""
    return (
        type(layer) is layers.Dropout
        and layer.noise_shape is None
        and 0 < _dropped_levels(layer) < LEVELS
        and layer.compute_dtype == "float32"
    )


def _dropped_levels(layer: layers.Dropout) -> int:
    return round(layer.rate * LEVELS)


def _call(layer: layers.Dropout, keras_call: Callable) -> Callable:
    dropped = _dropped_levels(layer)

    def call(inputs, training=False):
        if not training:
            return inputs
        seed = tf.cast(layer.seed_generator.next(), tf.int32)
        pairs = (tf.size(inputs) + 1) // 2  # of 16 bits each
        bits = tf.random.stateless_uniform([pairs], seed, None, None, tf.uint32)
        numbers = tf.reshape(tf.bitcast(bits, tf.uint16), [-1])[: tf.size(inputs)]
        kept = tf.reshape(numbers, tf.shape(inputs)) >= tf.constant(dropped, tf.uint16)
        return inputs * (tf.cast(kept, inputs.dtype) * (LEVELS / (LEVELS - dropped)))

    return call
