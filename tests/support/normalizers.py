"""Sparsemax and 1.5-entmax in NumPy, in float64, for one row: the papers' algorithms by sorting."""

import numpy as np


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """Martins and Astudillo 2016, algorithm 1, for scores (S,)."""
    ordered = np.sort(scores)[::-1]
    sizes = np.arange(1, len(scores) + 1)
    size = sizes[1 + sizes * ordered > np.cumsum(ordered)].max()  # of the support
    threshold = (ordered[:size].sum() - 1) / size
    return np.maximum(scores - threshold, 0)


def entmax15(scores: np.ndarray) -> np.ndarray:
    """Peters, Niculae and Martins 2019, algorithm 2, for scores (S,)."""
    scores = scores / 2
    ordered = np.sort(scores)[::-1]
    for size in range(len(scores), 0, -1):
        top = ordered[:size]
        mean, spread = top.mean(), ((top - top.mean()) ** 2).sum()
        if spread > 1:
            continue
        threshold = mean - np.sqrt((1 - spread) / size)
        if threshold <= top[-1]:
            break
    return np.maximum(scores - threshold, 0) ** 2


def softmax(scores: np.ndarray) -> np.ndarray:
    """The exponentials of scores (S,), divided by their sum."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def jacobian(normalizer: str, weights: np.ndarray) -> np.ndarray:
    """The derivatives (S, S) of the weights (S,) by the scores, from the weights alone.

    diag(d) - d dT / sum(d), where d is p for softmax, sqrt(p) for 1.5-entmax and 1 on the support
    for sparsemax: p ** (2 - alpha) with alpha = 1, 1.5 and 2 (Peters et al. 2019).
    """
    power = {"softmax": 1.0, "entmax15": 0.5, "sparsemax": 0.0}[normalizer]
    d = np.where(weights > 0, np.maximum(weights, 1e-300) ** power, 0.0)
    return np.diag(d) - np.outer(d, d) / d.sum()


NORMALIZERS = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}
