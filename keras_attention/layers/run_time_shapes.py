"""Checks of the sizes of masks that are known only when a graph runs.

On JAX and PyTorch sizes are known whenever a layer is called; a TensorFlow graph may leave them
open, and broadcasting then takes a mask of a wrong size for another one, in silence.
"""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras

_trusted = contextvars.ContextVar("trusted_masks", default=False)


@contextlib.contextmanager
def trusted_masks() -> Iterator[None]:
    """Graphs traced within hold no checks of masks: for loops that are known to use right ones."""
    token = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(token)


def checked_at_run_time(name: str, mask: Any, like: Any, axes: tuple[int | None, ...]) -> Any:
    """`mask`, which fails when the graph runs unless its sizes fit.

    Args:
        name: what the message calls the mask, and the shapes it may have.
        mask: a tensor of known rank.
        like: the tensor whose sizes the mask should have.
        axes: for each axis of the mask the axis of `like` that it should be as long as; None for
            an axis that should be 1. Each but the last may also be 1.

    Returns:
        `mask`; on TensorFlow, where sizes are open, behind an assertion, which raises
        `tf.errors.InvalidArgumentError`.
    """
    if keras.backend.backend() != "tensorflow" or _trusted.get() or _known(mask, like, axes):
        return mask
    import tensorflow as tf

    static = mask.shape
    sizes, wanted = tf.shape(mask), tf.shape(like)
    wanted = tf.stack([1 if axis is None else wanted[axis] for axis in axes])
    may_be_one = [1] * (len(axes) - 1) + [-1]
    wanted = tf.where(sizes == may_be_one, 1, wanted)
    message = f"{name}. Received its shape and, behind it, the expected one:"
    check = tf.debugging.Assert(tf.reduce_all(sizes == wanted), [message, sizes, wanted])
    # XLA leaves assertions out; there the reshape fails.
    with tf.control_dependencies([] if check is None else [check]):
        mask = tf.reshape(mask, wanted)
    mask.set_shape(static)
    return mask


def _known(mask, like, axes) -> bool:
    """Whether all sizes were known, and so checked, before the graph."""
    sizes = [1 if axis is None else like.shape[axis] for axis in axes]
    return None not in (*mask.shape, *sizes)
