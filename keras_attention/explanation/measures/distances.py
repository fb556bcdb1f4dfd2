"""Distances between distributions, and rank agreement between importances.

`tf` functions are differentiable and work on any leading shape; the last axis is summed over.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

# The largest Jensen–Shannon divergence, in nats: of distributions without common support.
LARGEST_JSD = float(np.log(2))

_TINY = 1e-30


def total_variation(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Total variation distance, half the sum of absolute differences: 0 to 1."""
    return 0.5 * tf.reduce_sum(tf.abs(first - second), axis=-1)


def jensen_shannon(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Jensen–Shannon divergence in nats: 0 to log 2. Zeros in either are allowed."""
    log_middle = tf.math.log(tf.maximum(0.5 * (first + second), _TINY))
    parts = [p * (tf.math.log(tf.maximum(p, _TINY)) - log_middle) for p in (first, second)]
    return tf.maximum(0.5 * tf.reduce_sum(parts[0] + parts[1], axis=-1), 0.0)


def kendall_tau(first: np.ndarray, second: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Kendall's tau-b (Kendall 1945), which corrects for ties, of many pairs of rows.

    Args:
        first, second: float `[..., S]`.
        mask: bool `[..., S]`, the positions to compare.

    Returns:
        float64 `[...]`; NaN where one of the two has no two different values, so that there is no
        order to agree with.
    """
    shape = first.shape[:-1]
    first, second, mask = (part.reshape(-1, part.shape[-1]) for part in (first, second, mask))
    result = np.full(len(first), np.nan)
    rows_at_once = max(1, 4_000_000 // max(1, first.shape[-1] ** 2))
    for start in range(0, len(first), rows_at_once):
        rows = slice(start, start + rows_at_once)
        pairs = mask[rows, :, None] & mask[rows, None, :]  # [n, S, S]
        orders = [
            np.where(pairs, np.sign(part[rows, :, None] - part[rows, None, :]), 0).astype(np.int8)
            for part in (first, second)
        ]
        agreeing = np.multiply(*orders).sum(axis=(1, 2), dtype=np.int64)
        untied = [np.count_nonzero(order, axis=(1, 2)) for order in orders]
        scale = np.sqrt(np.multiply(*untied, dtype=np.float64))
        result[rows] = np.divide(agreeing, scale, out=np.full(len(scale), np.nan), where=scale > 0)
    return result.reshape(shape)


def top_agreement(first: np.ndarray, second: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """1 where both rows have their largest value at one position, else 0; float64 `[...]`.

    NaN where one of the two has no two different values.
    """
    low = [np.where(mask, part, -np.inf) for part in (first, second)]
    same = low[0].argmax(axis=-1) == low[1].argmax(axis=-1)
    ordered = np.ones(same.shape, bool)
    for part, filled in zip((first, second), low, strict=True):
        ordered &= filled.max(axis=-1) > np.where(mask, part, np.inf).min(axis=-1)
    return np.where(ordered, same.astype(np.float64), np.nan)
