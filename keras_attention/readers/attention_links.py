"""Attention weights into an alignment: which source token each target token comes from.

The rule: every target token is linked to one source token. Where the best path that never goes back
keeps nearly all of the weight that the largest weights have, the links are that path, found by
dynamic programming as a speech recogniser aligns frames: attention of one step may wander where
letters repeat, the path may not. Elsewhere, as in "september 27, 1994" → "1994-09-27", the order
differs, and each token is linked to its largest weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# A path in order is taken if it keeps this share of the weight.
IN_ORDER = 0.8


class WeightedLink(NamedTuple):
    """One link of an alignment by attention.

    Attributes:
        source, target: Positions of the two tokens, from 0.
        weight: The attention weight between them.
    """

    source: int
    target: int
    weight: float


def links_of(attention_weights: np.ndarray) -> tuple[WeightedLink, ...]:
    """One link for each target token, in their order.

    Args:
        attention_weights: float `[T, S]`, rows are target tokens.

    Returns:
        T links; none where the source is empty.
    """
    weights = np.asarray(attention_weights, np.float64)
    if not weights.size:
        return ()
    places = weights.argmax(axis=1)
    path = path_in_order(weights)
    rows = np.arange(len(weights))
    if weights[rows, path].sum() >= IN_ORDER * weights[rows, places].sum():
        places = path
    return tuple(
        WeightedLink(source, target, weight)
        for source, target, weight in zip(
            places.tolist(), rows.tolist(), weights[rows, places].tolist(), strict=True
        )
    )


def path_in_order(weights: np.ndarray) -> np.ndarray:
    """The source position of each target token such that none goes back and most weight is kept.

    Args:
        weights: float `[T, S]`, S at least 1.

    Returns:
        int `[T]`, never falling; of equally good paths the one that is furthest left at its end.
    """
    steps, size = weights.shape
    before = np.zeros((steps, size), int)  # where the best path to each position came from
    best = weights[0]
    for step in range(1, steps):
        reached = np.maximum.accumulate(best)
        improved = np.concatenate([[True], best[1:] > reached[:-1]])
        before[step] = np.maximum.accumulate(np.where(improved, np.arange(size), 0))
        best = reached + weights[step]
    path = np.empty(steps, int)
    path[-1] = best.argmax()
    for step in range(steps - 1, 0, -1):
        path[step - 1] = before[step, path[step]]
    return path
