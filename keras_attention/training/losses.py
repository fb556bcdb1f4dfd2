"""What training makes smaller: the loss over real tokens; and the size of its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops


def token_losses(target_ids, logits, label_smoothing: float = 0.0):
    """Cross-entropy of every target position, 0 at padding (id 0).

    The training loss is the sum of these divided by the number of real tokens, never by the number
    of positions: so padding changes nothing.

    Args:
        target_ids: int32 `(batch_size, T)`.
        logits: float `(batch_size, T, V)`.
        label_smoothing: Share of each target's probability that is spread evenly over all V.

    Returns:
        float32 `(batch_size, T)`, in nats.
    """
    log_probabilities = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    picked = ops.take_along_axis(log_probabilities, ops.expand_dims(target_ids, -1), axis=-1)
    losses = -ops.squeeze(picked, -1)
    if label_smoothing:
        even = -ops.mean(log_probabilities, axis=-1)
        losses = (1.0 - label_smoothing) * losses + label_smoothing * even
    return losses * real_tokens(target_ids)


def real_tokens(target_ids):
    """float32 of the ids' shape: 1 at real tokens, 0 at padding (id 0)."""
    return ops.cast(ops.not_equal(target_ids, 0), "float32")


def global_norm(gradients: Sequence) -> keras.KerasTensor:
    """Euclidean norm of all gradients together, which the book clips; float32 scalar."""
    return ops.sqrt(sum(ops.sum(ops.square(ops.cast(g, "float32"))) for g in gradients))
