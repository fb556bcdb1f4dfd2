"""How far figures may be off, and whether two models differ, by drawing the pairs again.

Percentile intervals (Efron, 1979); two models on the same drawn pairs (Koehn, 2004).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

SAMPLES = 1000
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """A figure with the interval in which `LEVEL` of the drawn figures lie."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Difference:
    """One model's figure minus another's, on the same pairs.

    Attributes:
        value, low, high: As of an `Interval`.
        p_value: Share of the drawn differences that are as far from their mean as the difference
            is from 0: how often chance alone would give one as large.
    """

    value: float
    low: float
    high: float
    p_value: float


def ratio(parts: Sequence[float], wholes: Sequence[float], seed: int = 0) -> Interval:
    """The sum of `parts` by that of `wholes`, one of each for every pair.

    Raises:
        ValueError: they differ in number, or there are none.
    """
    drawn = _drawn_ratios([parts], wholes, seed)[0]
    return Interval(float(np.sum(parts) / np.sum(wholes)), *_ends(drawn))


def difference(
    parts: Sequence[float], others: Sequence[float], wholes: Sequence[float], seed: int = 0
) -> Difference:
    """How much larger the ratio of `parts` is than that of `others`, see `ratio`."""
    drawn = np.subtract(*_drawn_ratios([parts, others], wholes, seed))
    value = float((np.sum(parts) - np.sum(others)) / np.sum(wholes))
    as_far = np.abs(drawn - drawn.mean()) >= abs(value)
    p_value = float((as_far.sum() + 1) / (SAMPLES + 1))
    return Difference(value, *_ends(drawn), p_value)


def _drawn_ratios(
    parts: Sequence[Sequence[float]], wholes: Sequence[float], seed: int
) -> list[np.ndarray]:
    """For each sequence float64 `[SAMPLES]`, all of the same drawn pairs."""
    columns = [np.asarray(column, np.float64) for column in (*parts, wholes)]
    n = len(columns[-1])
    if not n or any(len(column) != n for column in columns):
        raise ValueError(
            "parts and wholes must be as many, and at least one. "
            f"Received: {[len(column) for column in columns]}"
        )
    rng = np.random.default_rng(seed)
    sums = np.empty((len(columns), SAMPLES))
    for sample in range(SAMPLES):
        rows = rng.integers(n, size=n)
        sums[:, sample] = [column[rows].sum() for column in columns]
    return [row / sums[-1] for row in sums[:-1]]


def _ends(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
