"""Attention over a source: scores, weights and context, one step of the decoder at a time.

The same three equations as in `layers.attention`, where the papers are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from keras_attention.engine.architecture import Architecture

# Takes a position out of a softmax: exp(-1e30 - a real score) is exactly 0.
MASKED = np.float32(-1e30)
# Floats of the additive score's intermediate values that are computed at a time: they fit a cache,
# and memory stays bounded.
ADDITIVE_AT_ONCE = 1 << 18
FEW_NUMBERS = 1 << 9
Change = Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray]], np.ndarray]


class Attention:
    """The attention of a trained model; it keeps nothing of a batch.

    Args:
        architecture: What it is.
        weights: See `Architecture.weight_shapes`.
    """

    def __init__(self, architecture: Architecture, weights: dict[str, np.ndarray]):
        self._score = architecture.attention
        self._normalise = NORMALIZERS[architecture.attention_normalizer]
        # Queries and keys are doubled hidden states: their products are four times too large.
        quarter, half = np.float32(0.25), np.float32(0.5)
        if self._score == "dot":
            self._scale = quarter
        elif self._score == "scaled_dot":
            self._scale = quarter * np.float32(1 / math.sqrt(architecture.units))
        elif self._score == "general":
            self._kernel = weights["attention/kernel"] * quarter
        else:
            self._query_kernel = weights["attention/query_kernel"] * half
            self._key_kernel = weights["attention/key_kernel"] * half
            self._vector = weights["attention/score_vector"]

    def keys(self, outputs: np.ndarray) -> np.ndarray:
        """What the queries of all steps are compared with, `(n, S, U)`."""
        return np.matmul(outputs, self._key_kernel) if self._score == "additive" else outputs

    def weights(
        self,
        query: np.ndarray,
        keys: np.ndarray,
        mask: np.ndarray | None,
        change: Change | None = None,
    ) -> np.ndarray:
        """Equations 1 and 2: scores, and their softmax (or sparsemax, entmax) over the source.

        Args:
            query: `(r, U)`, the decoder's hidden states, k rows for each source.
            keys: `(n, S, U)`, see `keys`.
            mask: `(n, 1, S)` of `mask_of`, or None.
            change: Instead of the softmax: makes weights from the scores `(n, k, S)` and it.

        Returns:
            `(n, k, S)`; rows sum to 1. (Those of an empty source are uniform.)
        """
        scores = self._scores(query.reshape(len(keys), -1, query.shape[-1]), keys)
        if mask is not None:
            scores += mask
        return change(scores, self._normalise) if change else self._normalise(scores)

    def _scores(self, query: np.ndarray, keys: np.ndarray) -> np.ndarray:
        if self._score == "additive":
            return self._additive_scores(np.matmul(query, self._query_kernel), keys)
        if self._score == "general":
            query = np.matmul(query, self._kernel)
        else:
            query = query * self._scale
        if query.shape[1] == 1:
            return np.matmul(keys, query.transpose(0, 2, 1)).transpose(0, 2, 1)
        return np.matmul(query, keys.transpose(0, 2, 1))

    def _additive_scores(self, query: np.ndarray, keys: np.ndarray) -> np.ndarray:
        n, k, units = query.shape
        scores = np.empty((n, k, keys.shape[1]), np.float32)
        rows = max(1, ADDITIVE_AT_ONCE // (k * keys.shape[1] * units))
        for first in range(0, n, rows):
            part = slice(first, first + rows)
            pairs = query[part, :, None] + keys[part, None]  # (rows, k, S, U)
            np.tanh(pairs, out=pairs)
            np.matmul(pairs, self._vector, out=scores[part])
        return scores


def mask_of(lengths: np.ndarray, width: int) -> np.ndarray | None:
    """`(n, 1, S)` to add to scores: 0 at tokens, `MASKED` at padding; None where there is none."""
    if (lengths == width).all():
        return None
    padding = np.arange(width) >= lengths[:, None]
    return np.where(padding, MASKED, np.float32(0))[:, None]


def largest(scores: np.ndarray) -> np.ndarray:
    """The largest along the last axis, `(..., 1)`."""
    if scores.size < FEW_NUMBERS:
        return np.maximum.reduce(scores, axis=-1, keepdims=True)
    # Of many short rows NumPy finds sooner where it is than what it is.
    places = scores.argmax(axis=-1)
    rows = scores.reshape(-1, scores.shape[-1])
    return rows[np.arange(len(rows)), places.ravel()].reshape(*places.shape, 1)


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(z) / sum(exp(z)) along the last axis, in place."""
    scores -= largest(scores)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=-1, keepdims=True)
    return scores


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """max(z - t, 0), with the t that makes a row sum to 1 (Martins and Astudillo 2016)."""
    ordered, k, scores = _descending(scores)
    thresholds = (np.cumsum(ordered, axis=-1) - 1) / k
    return np.maximum(scores - _threshold(ordered, thresholds), 0).astype(np.float32)


def entmax15(scores: np.ndarray) -> np.ndarray:
    """max(z / 2 - t, 0)², with the t that makes a row sum to 1 (Peters et al. 2019)."""
    ordered, k, scores = _descending(scores / 2)
    mean = np.cumsum(ordered, axis=-1) / k
    variance = np.cumsum(ordered * ordered, axis=-1) / k - mean * mean
    # Where the k scores lie too far apart there is no root, and the mean rules that k out.
    thresholds = mean - np.sqrt(np.maximum(1 / k - variance, 0))
    return (np.maximum(scores - _threshold(ordered, thresholds), 0) ** 2).astype(np.float32)


NORMALIZERS = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}


def _descending(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores sorted from the largest, 1 … S, and the scores; float64, below their largest.

    Both normalizers depend on differences only, and give 0 to what lies 1 below the largest: cut at
    -2, masked scores leave no large numbers.
    """
    scores = scores.astype(np.float64)
    scores = np.maximum(scores - scores.max(axis=-1, keepdims=True), -2.0)
    return -np.sort(-scores, axis=-1), np.arange(1, scores.shape[-1] + 1), scores


def _threshold(ordered: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Of the thresholds of the k largest alone, the largest that lies below the k-th score."""
    return np.where(thresholds < ordered, thresholds, -1.0).max(axis=-1, keepdims=True)
