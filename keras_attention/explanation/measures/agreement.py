"""Criterion 1: attention against the measures of importance, beside a ceiling and a null.

The ceiling is how well the measures agree among themselves; the null is what shuffled attention
scores. Without the two, a rank correlation cannot be read.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from keras_attention.explanation.measures.distances import kendall_tau, top_agreement
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.importance import MEASURES

CEILING = ("gradient", "integrated_gradients", "leave_one_out")


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Rank correlation and top-1 agreement of each step; float `[E, T]`, NaN where undefined.

    Attributes:
        kendall_tau, top_1: For each measure, attention against it.
        null_kendall_tau, null_top_1: The same with attention shuffled over the compared positions.
        ceiling_kendall_tau, ceiling_top_1: For each pair of CEILING, `"gradient/leave_one_out"`.
    """

    kendall_tau: dict[str, np.ndarray]
    top_1: dict[str, np.ndarray]
    null_kendall_tau: dict[str, np.ndarray]
    null_top_1: dict[str, np.ndarray]
    ceiling_kendall_tau: dict[str, np.ndarray]
    ceiling_top_1: dict[str, np.ndarray]


def agree(examples: Examples, importance: dict[str, np.ndarray], seed: int) -> Agreement:
    """Compares what `importance.measure_importance` returns."""
    attention = importance["attention"]
    mask = ~np.isnan(attention)
    parts = {name: np.nan_to_num(part) for name, part in importance.items()}
    shuffled = _shuffled(examples, parts["attention"], mask, seed)
    own = {name: (parts["attention"], parts[name]) for name in MEASURES}
    null = {name: (shuffled, parts[name]) for name in MEASURES}
    ceiling = {
        f"{first}/{second}": (parts[first], parts[second])
        for first, second in itertools.combinations(CEILING, 2)
    }

    def each(compare: Callable, pairs: dict[str, tuple[np.ndarray, np.ndarray]]):
        return {name: compare(*both, mask) for name, both in pairs.items()}

    return Agreement(
        kendall_tau=each(kendall_tau, own),
        top_1=each(top_agreement, own),
        null_kendall_tau=each(kendall_tau, null),
        null_top_1=each(top_agreement, null),
        ceiling_kendall_tau=each(kendall_tau, ceiling),
        ceiling_top_1=each(top_agreement, ceiling),
    )


def _shuffled(examples: Examples, weights: np.ndarray, mask: np.ndarray, seed: int) -> np.ndarray:
    """The weights of each step in a random order of the compared positions."""
    keys = np.full(weights.shape, 2.0)
    for row in range(len(examples)):
        rng = np.random.default_rng([seed, *b"null", row])
        keys[row] = rng.random(weights.shape[1:])
    # Compared positions come first, so that ranks among them are places among them.
    order = np.argsort(np.where(mask, keys, 2.0), axis=-1, kind="stable")
    return np.where(mask, np.take_along_axis(weights, order, axis=-1), 0.0)
