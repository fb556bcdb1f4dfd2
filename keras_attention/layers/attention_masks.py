"""Masks of the shapes that callers give, checked and brought to the shape of the scores.

What is known before a graph runs is checked then. JAX and PyTorch know all sizes at each call; a
TensorFlow graph may leave sizes open, and broadcasting would take a mask of a wrong size for
another one, in silence: there an assertion in the graph checks them.
"""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_attention.layers.attention_shapes import same_size

MASK_SHAPES = (
    "mask is (B, Tv) or (B, Tq, Tv), where B and Tq may be 1, and not (B, Tv, 1): of such a mask "
    "give mask[..., 0]"
)
QUERY_MASK_SHAPES = "query_mask has one value for each query step: (B, Tq), or (B,) for one step"

_trusted = contextvars.ContextVar("trusted_masks", default=False)


@contextlib.contextmanager
def trusted_masks() -> Iterator[None]:
    """Graphs traced within hold no checks of masks: for loops that are known to use right ones."""
    token = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(token)


def check_mask(shape, scores_shape) -> None:
    """Raise ValueError unless a mask of this shape is (B, Tv) or (B, Tq, Tv) for the scores."""
    shape, scores_shape = tuple(shape), tuple(scores_shape)  # a TensorShape slices otherwise
    two_axes = (scores_shape[0], scores_shape[-1])
    three_axes = (scores_shape[0], *(scores_shape[1:-1] or (1,)), scores_shape[-1])
    # (B, Tv, 1) where Tv is open would broadcast as a mask of queries.
    one_for_open = len(shape) == 3 and shape[-1] == 1 and scores_shape[-1] is None
    if one_for_open or not _fits(shape, two_axes if len(shape) == 2 else three_axes):
        raise ValueError(
            f"{MASK_SHAPES}: expected shape {two_axes} or {three_axes}. "
            f"Received: mask.shape={shape}"
        )


def check_query_mask(shape, expected) -> None:
    """Raise ValueError unless a query mask of this shape has one value for each query step."""
    if not _fits(shape, expected):
        raise ValueError(
            f"{QUERY_MASK_SHAPES}: expected shape {tuple(expected)}. "
            f"Received: query_mask.shape={tuple(shape)}"
        )


def combine_masks(scores: Any, mask: Any, query_mask: Any, one_step: bool) -> Any:
    """The one mask of a call, or None: the positions of `mask` in the rows of `query_mask`.

    Args:
        scores: (B, Tq, Tv).
        mask: (B, Tv) or (B, Tq, Tv), or None.
        query_mask: (B, Tq), or (B,) where `one_step`, or None.
        one_step: whether the query had no axis of steps; Tq is 1 then.

    Returns:
        `mask` where there is no query mask, else bool (B, Tq, Tv).
    """
    if query_mask is None:
        return mask
    query_mask = ops.cast(query_mask, "bool")
    axes = (0,) if one_step else (0, 1)
    check_query_mask(query_mask.shape, tuple(scores.shape[axis] for axis in axes))
    query_mask = _checked_at_run_time(QUERY_MASK_SHAPES, query_mask, scores, axes)
    rows = ops.reshape(query_mask, (-1, 1, 1)) if one_step else ops.expand_dims(query_mask, 2)
    if mask is None:
        return ops.broadcast_to(rows, ops.shape(scores))
    return ops.logical_and(rows, fit_mask(mask, scores))  # (B, Tq, Tv)


def fit_mask(mask: Any, scores: Any) -> Any:
    """`mask` as booleans with as many axes as the scores; two axes are always (B, Tv)."""
    mask = ops.cast(mask, "bool")
    check_mask(mask.shape, scores.shape)
    last = len(scores.shape) - 1
    axes = (0, last) if len(mask.shape) == 2 else (0, 1 if last == 2 else None, last)
    mask = _checked_at_run_time(MASK_SHAPES, mask, scores, axes)
    if len(mask.shape) < len(scores.shape):
        return ops.expand_dims(mask, 1)  # (B, 1, Tv)
    if len(mask.shape) > len(scores.shape):
        return ops.squeeze(mask, 1)  # (B, Tv)
    return mask


def _checked_at_run_time(name: str, mask: Any, like: Any, axes: tuple[int | None, ...]) -> Any:
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


def _fits(shape, expected):
    """Whether `shape` is `expected`, where each axis but the last may also be 1."""
    return len(shape) == len(expected) and all(
        same_size(size, wanted) or (size == 1 and axis < len(shape) - 1)
        for axis, (size, wanted) in enumerate(zip(shape, expected, strict=True))
    )
