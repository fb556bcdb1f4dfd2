"""What training makes smaller: the loss over real tokens; and the size of its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import tensorflow as tf
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
    target_ids, logits = ops.cast(target_ids, "int32"), ops.cast(logits, "float32")
    # TensorFlow has no operation for a GPU that gives the same in every run.
    on_gpu = bool(tf.config.list_logical_devices("GPU"))
    cross_entropy = composed_cross_entropy if on_gpu else fused_cross_entropy
    return cross_entropy(target_ids, logits, label_smoothing) * real_tokens(target_ids)


def composed_cross_entropy(target_ids, logits, label_smoothing: float):
    """Cross-entropy with smoothed targets, from the log-probabilities of all tokens.

    Args and result are those of `token_losses`, padding not looked at, in the logits' dtype.
    """
    log_probabilities = ops.log_softmax(logits, axis=-1)
    picked = ops.take_along_axis(log_probabilities, ops.expand_dims(target_ids, -1), axis=-1)
    losses = -ops.squeeze(picked, -1)
    if label_smoothing:
        even = -ops.mean(log_probabilities, axis=-1)
        losses = (1.0 - label_smoothing) * losses + label_smoothing * even
    return losses


def fused_cross_entropy(target_ids, logits, label_smoothing: float):
    """What `composed_cross_entropy` computes, loss and gradient in one operation.

    With z the logits, y the target and e the smoothing, the loss is that without smoothing plus
    e (z_y - mean(z)), and its gradient by z is softmax(z) - onehot(y) + e (onehot(y) - 1 / V). So
    no array of the logits' size is made but that of the gradient. `tf.nn` would compose the loss
    where operations are to be deterministic; on a processor this one is.
    """
    shape = tf.shape(target_ids)
    flat = tf.reshape(logits, [-1, logits.shape[-1]])  # (N, V)
    return tf.reshape(_fused(label_smoothing)(tf.reshape(target_ids, [-1]), flat), shape)


def _fused(label_smoothing: float):
    """The function of ids `(N,)` and logits `(N, V)`, whose gradient is computed with it."""

    @tf.custom_gradient
    def losses_of(target_ids, logits):
        losses, gradient = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=logits, labels=target_ids
        )
        if label_smoothing:
            places = tf.stack([tf.range(tf.size(target_ids)), target_ids], axis=1)
            smoothing = tf.constant(label_smoothing, logits.dtype)
            evenness = tf.gather_nd(logits, places) - tf.reduce_mean(logits, axis=-1)
            losses += smoothing * evenness
            gradient -= smoothing / logits.shape[-1]
            added = tf.fill(tf.shape(target_ids), smoothing)
            gradient = tf.tensor_scatter_nd_add(gradient, places, added)
        return losses, lambda upstream: (None, upstream[:, None] * gradient)

    return losses_of


def real_tokens(target_ids):
    """float32 of the ids' shape: 1 at real tokens, 0 at padding (id 0)."""
    return ops.cast(ops.not_equal(target_ids, 0), "float32")


def global_norm(gradients: Sequence) -> keras.KerasTensor:
    """Euclidean norm of all gradients together, which the book clips; float32 scalar."""
    return ops.sqrt(sum(ops.sum(ops.square(ops.cast(g, "float32"))) for g in gradients))
