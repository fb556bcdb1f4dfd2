"""Dropout that is the same in how many parts a batch is computed, of 16 random bits for each value.

Keras draws 32 bits for each value and makes them a float.
"""

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
def fast_dropout(model: keras.Model, draws: int = 1) -> Iterator[None]:
    """Lets a model's dropout layers use 16 bits for each value, in half of the time of Keras.

    It concerns calls with `training=True` inside the block. A rate becomes a multiple of 1/65,536,
    and what is kept is scaled by that rate. A layer draws from its own seed, so that a training
    that is resumed goes on as if it had not been interrupted. What `can_be_faster` refuses draws as
    Keras does.

    Args:
        model: Its own layers are meant.
        draws: In how many runs of rows, see `rows_in_parts`, a layer draws for its input, one after
            the other. So a batch computed as a whole in two draws is given what its two parts are
            given, each computed with one.
    """
    with contextlib.ExitStack() as stack:
        for layer in model.layers:
            if isinstance(layer, layers.Dropout):
                make = functools.partial(_call, layer, draws)
                stack.enter_context(replaced_method(layer, CALL, make))
        yield


def can_be_faster(layer: layers.Dropout) -> bool:
    """Whether it drops each value by itself, at a rate that 16 bits can tell from 0 and from 1."""
    return (
        type(layer) is layers.Dropout
        and layer.noise_shape is None
        and 0 < _dropped_levels(layer) < LEVELS
        and layer.compute_dtype == "float32"
    )


def rows_in_parts(tensor: tf.Tensor, parts: int) -> list[tf.Tensor]:
    """The rows of a tensor in so many runs, as even as can be; one may be empty."""
    bounds = tf.shape(tensor)[0] * tf.range(parts + 1) // parts
    return tf.split(tensor, bounds[1:] - bounds[:-1])


def _dropped_levels(layer: layers.Dropout) -> int:
    return round(layer.rate * LEVELS)


def _call(layer: layers.Dropout, draws: int, keras_call: Callable) -> Callable:
    drop = functools.partial(_drop, layer) if can_be_faster(layer) else None

    def call(inputs, training=False):
        if not training or not layer.rate:
            return inputs
        drop_rows = drop or functools.partial(keras_call, training=True)
        if draws == 1:
            return drop_rows(inputs)
        return tf.concat([drop_rows(rows) for rows in rows_in_parts(inputs, draws)], axis=0)

    return call


def _drop(layer: layers.Dropout, inputs: tf.Tensor) -> tf.Tensor:
    dropped = _dropped_levels(layer)
    seed = tf.cast(layer.seed_generator.next(), tf.int32)
    pairs = (tf.size(inputs) + 1) // 2  # of 16 bits each
    bits = tf.random.stateless_uniform([pairs], seed, None, None, tf.uint32)
    numbers = tf.reshape(tf.bitcast(bits, tf.uint16), [-1])[: tf.size(inputs)]
    kept = tf.reshape(numbers, tf.shape(inputs)) >= tf.constant(dropped, tf.uint16)
    return inputs * (tf.cast(kept, inputs.dtype) * (LEVELS / (LEVELS - dropped)))
