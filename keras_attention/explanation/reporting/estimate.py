"""Many measured values into one number with its confidence interval."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

RESAMPLES = 1000
LEVEL = 95
BOOTSTRAP = f"{LEVEL} % percentile bootstrap over examples, {RESAMPLES} resamples"
WILSON = f"{LEVEL} % Wilson score"
_NORMAL_QUANTILE = 1.959964


@dataclasses.dataclass(frozen=True)
class Number:
    """One measured number and all that is needed to read it.

    Attributes:
        value: None where it is undefined (`n` is then 0).
        low, high: Ends of the confidence interval; None where there is none.
        n: How many values went in.
        seed: Of everything random in it, the interval included.
        unit: What n counts.
        definition: What was measured, in one sentence.
        interval: How the interval was computed.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    seed: int
    unit: str
    definition: str
    interval: str

    def to_dict(self) -> dict:
        """For JSON: rounded to six decimals, an interval instead of two ends."""
        low, high = _rounded(self.low), _rounded(self.high)
        return {
            "value": _rounded(self.value),
            "confidence_interval": None if low is None else [low, high],
            "n": self.n,
            "unit": self.unit,
            "seed": self.seed,
            "definition": self.definition,
            "interval": self.interval,
        }


@dataclasses.dataclass(frozen=True)
class Estimator:
    """Turns values into Numbers with one seed.

    Steps of one example depend on each other, so the bootstrap draws whole examples.

    Args:
        seed: Of the bootstrap, and noted in each Number.
    """

    seed: int

    def mean(self, values: np.ndarray, definition: str, unit: str = "steps") -> Number:
        """Mean of all values that are not NaN; `values` is float `[E]` or `[E, ...]`."""
        flat = values.reshape(len(values), -1).astype(np.float64)
        counted = ~np.isnan(flat)
        sums = np.where(counted, flat, 0.0).sum(axis=1)
        return self.ratio(sums, counted.sum(axis=1), definition, unit, int(counted.sum()))

    def ratio(
        self,
        numerators: np.ndarray,
        denominators: np.ndarray,
        definition: str,
        unit: str,
        n: int | None = None,
    ) -> Number:
        """Sum of numerators over sum of denominators, both float `[E]`, one for each example."""
        total = float(denominators.sum())
        n = int(round(total)) if n is None else n
        if total == 0:
            return self._number(None, None, None, 0, unit, definition, BOOTSTRAP)
        counts = _resamples(len(numerators), self.seed)  # [R, E]
        below = counts @ denominators
        drawn = (counts @ numerators)[below > 0] / below[below > 0]
        return self._number(
            float(numerators.sum()) / total, *_ends(drawn), n, unit, definition, BOOTSTRAP
        )

    def median(self, values: np.ndarray, definition: str, unit: str = "steps") -> Number:
        """Median of all values that are not NaN; `values` is float `[E, ...]`."""
        flat = values.reshape(len(values), -1)
        rows, columns = np.nonzero(~np.isnan(flat))
        if not len(rows):
            return self._number(None, None, None, 0, unit, definition, BOOTSTRAP)
        picked = flat[rows, columns].astype(np.float64)
        order = np.argsort(picked, kind="stable")
        picked, rows = picked[order], rows[order]
        # A resample repeats whole examples: its median is where the cumulated counts reach half.
        cumulated = np.cumsum(_resamples(len(values), self.seed)[:, rows], axis=1)
        middle = (cumulated >= cumulated[:, -1:] / 2).argmax(axis=1)
        drawn = picked[middle][cumulated[:, -1] > 0]
        return self._number(
            float(np.median(picked)), *_ends(drawn), len(picked), unit, definition, BOOTSTRAP
        )

    def share(self, hits: np.ndarray, definition: str, unit: str = "examples") -> Number:
        """Share of True among bool `[E]`; its interval does not shrink to a point at 0 or 1."""
        n = len(hits)
        if not n:
            return self._number(None, None, None, 0, unit, definition, WILSON)
        share, squared = float(np.mean(hits)), _NORMAL_QUANTILE**2
        centre = (share + squared / (2 * n)) / (1 + squared / n)
        half = (
            _NORMAL_QUANTILE
            * math.sqrt(share * (1 - share) / n + squared / (4 * n * n))
            / (1 + squared / n)
        )
        # Exactly 0 and 1 at the ends, where rounding would leave a trace.
        low = 0.0 if share == 0 else max(0.0, centre - half)
        high = 1.0 if share == 1 else min(1.0, centre + half)
        return self._number(share, low, high, n, unit, definition, WILSON)

    def _number(self, value, low, high, n, unit, definition, interval) -> Number:
        return Number(value, low, high, n, self.seed, unit, definition, interval)


@functools.lru_cache(maxsize=4)
def _resamples(examples: int, seed: int) -> np.ndarray:
    """How often each resample holds each example, float32 `[R, E]`."""
    rng = np.random.default_rng([seed, examples])
    drawn = rng.integers(examples, size=(RESAMPLES, examples))
    counts = np.zeros((RESAMPLES, examples), np.float32)
    np.add.at(counts, (np.arange(RESAMPLES)[:, None], drawn), 1)
    return counts


def _ends(drawn: np.ndarray) -> tuple[float | None, float | None]:
    tail = (100 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return float(low), float(high)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0
