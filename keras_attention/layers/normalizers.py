"""Scores into weights along the last axis: softmax, and two normalizers that give exact zeros.

Sparsemax and 1.5-entmax map a row of scores z to the weights

    p = max(z - t, 0)            sparsemax      Martins and Astudillo 2016, eq. 3
    p = max(z / 2 - t, 0) ** 2   1.5-entmax     Peters, Niculae and Martins 2019, algorithm 2

where the threshold t is the one number that makes the row sum to 1. Sorting finds it: the k largest
scores alone would have the threshold t_k, and t is that t_k which is largest among those that
lie below the k-th score (Martins and Astudillo 2016, algorithm 1).
One step of Newton's method from there removes what rounding left. No gradient passes through
the sort: the Newton step alone carries it, and its derivative is that of the implicit function,
so that the Jacobians are exact,

    diag(s) - s sT / sum(s)      with s = 1 where p > 0, else 0       sparsemax
    diag(g) - g gT / sum(g)      with g = sqrt(p)                     1.5-entmax
"""

from collections.abc import Callable
from typing import Any

from keras import ops

# A score that is 1 (sparsemax) or 2 (1.5-entmax) below the largest has weight 0, so t is at least
# -1 behind the shift. Cutting at -2 changes no weight, and masked scores leave no large numbers.
_LOWEST = -2.0


def softmax(scores: Any) -> Any:
    """exp(z) / sum(exp(z)).

    Args:
        scores: float (..., S).

    Returns:
        Of the shape and dtype of `scores`; all positive.
    """
    if scores.shape[-1] == 1:
        # Right for a source of one token, but ops.softmax warns about it: 1, with a gradient of 0.
        return ops.exp(scores - scores)
    return ops.softmax(scores, axis=-1)


def sparsemax(scores: Any) -> Any:
    """The point of the simplex that is closest to the scores (Martins and Astudillo 2016).

    Args:
        scores: float (..., S).

    Returns:
        Of the shape and dtype of `scores`; exactly 0 outside of the support.
    """
    scores = _shift(scores)
    ordered, k = _descending(scores)
    threshold = _threshold(ordered, (ops.cumsum(ordered, axis=-1) - 1) / k)  # (..., 1)
    kept = ops.relu(scores - threshold)
    size = ops.sum(ops.cast(kept > 0, kept.dtype), axis=-1, keepdims=True)
    threshold = threshold + (ops.sum(kept, axis=-1, keepdims=True) - 1) / size
    return ops.relu(scores - threshold)


def entmax15(scores: Any) -> Any:
    """1.5-entmax, between softmax and sparsemax (Peters, Niculae and Martins 2019).

    Args:
        scores: float (..., S).

    Returns:
        Of the shape and dtype of `scores`; exactly 0 outside of the support.
    """
    scores = _shift(scores / 2)
    ordered, k = _descending(scores)
    mean = ops.cumsum(ordered, axis=-1) / k
    variance = ops.cumsum(ordered * ordered, axis=-1) / k - mean * mean
    # Where the k scores lie too far apart the root does not exist; the mean then lies above the
    # k-th score, which rules k out.
    threshold = _threshold(ordered, mean - ops.sqrt(ops.maximum(1 / k - variance, 0.0)))
    kept = ops.relu(scores - threshold)
    slope = 2 * ops.stop_gradient(ops.sum(kept, axis=-1, keepdims=True))
    threshold = threshold + (ops.sum(kept * kept, axis=-1, keepdims=True) - 1) / slope
    kept = ops.relu(scores - threshold)
    return kept * kept


NORMALIZERS: dict[str, Callable[[Any], Any]] = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
}


def _shift(scores):
    """The scores below their largest; neither normalizer depends on a constant added to a row."""
    largest = ops.stop_gradient(ops.max(scores, axis=-1, keepdims=True))
    return ops.maximum(scores - largest, _LOWEST)


def _descending(scores):
    """The scores from the largest to the smallest, and 1, 2, ..., S in their dtype."""
    ordered = -ops.sort(-ops.stop_gradient(scores), axis=-1)
    return ordered, ops.cast(ops.arange(1, ops.shape(scores)[-1] + 1), ordered.dtype)


def _threshold(ordered, thresholds):
    """The threshold of the whole row from those of its k largest scores: (..., 1)."""
    # k = 1 always qualifies: its score is 0 and its threshold -1.
    inside = ops.where(thresholds < ordered, thresholds, -1.0)
    return ops.max(inside, axis=-1, keepdims=True)
