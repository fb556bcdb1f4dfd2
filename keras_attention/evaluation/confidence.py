"""How good confidences are: calibration error, right against wrong, accuracy against coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

# Guo, Pleiss, Sun and Weinberger (2017) use as many.
BINS = 15
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)


@dataclasses.dataclass(frozen=True)
class CoveragePoint:
    """What is left when only the surest answers are given.

    Attributes:
        coverage: Share of the sources that are answered.
        min_confidence: The least confidence among those answers.
        exact_match: Share of those answers that are right.
        quality: Their mean quality, see `sentences.qualities`; None where confidence is not of it.
            1 minus it is the risk at this coverage.
    """

    coverage: float
    min_confidence: float
    exact_match: float
    quality: float | None = None


def expected_calibration_error(confidences: Sequence[float], outcomes: Sequence[float]) -> float:
    """Mean distance between how sure a model was and how often it was right, or how good.

    Answers are put into `BINS` bins of equal width by confidence; a bin's distance is that of its
    mean confidence from its share of right answers, or from their mean quality, and counts by the
    number of its answers.

    Args:
        confidences: One for each answer, in 0..1.
        outcomes: Whether each answer was right, or its quality in 0..1; as many.

    Raises:
        ValueError: the two differ in number, or there are none.
    """
    sure, hits = _checked(confidences, outcomes)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=sure - hits, minlength=BINS)
    return float(np.abs(gaps).sum() / len(hits))


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Chance that a right answer has a higher score than a wrong one; ties count half.

    The area under the receiver operating characteristic. None where all are right or all wrong.

    Args:
        scores: One for each answer, for example its confidence.
        right: Whether each answer was right, as many.

    Raises:
        ValueError: the two differ in number, or there are none.
    """
    values, hits = _checked(scores, right)
    positives = int(hits.sum())
    negatives = len(hits) - positives
    if not positives or not negatives:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2  # from 1, equal scores share theirs
    rank_sum = mean_ranks[place][hits == 1].sum()
    return float((rank_sum - positives * (positives + 1) / 2) / (positives * negatives))


def accuracy_coverage(
    confidences: Sequence[float],
    right: Sequence[bool],
    coverages: Sequence[float] = COVERAGES,
    qualities: Sequence[float] = (),
) -> tuple[CoveragePoint, ...]:
    """Exact match among the surest answers, at each coverage, and their mean quality.

    Answers as sure as the last one of a coverage are answered too: they cannot be told apart.

    Args:
        confidences: One for each answer, in 0..1.
        right: Whether each answer was right, as many.
        coverages: Shares of the answers, above 0 and up to 1.
        qualities: Of each answer, in 0..1, or none at all.

    Raises:
        ValueError: the lists differ in number, or there are none.
    """
    sure, hits = _checked(confidences, right)
    worth = _checked(confidences, qualities)[1] if len(qualities) else None
    falling = np.sort(sure)[::-1]
    points = []
    for coverage in coverages:
        least = falling[max(round(coverage * len(hits)), 1) - 1]
        answered = sure >= least
        points.append(
            CoveragePoint(
                float(answered.mean()),
                float(least),
                float(hits[answered].mean()),
                None if worth is None else float(worth[answered].mean()),
            )
        )
    return tuple(points)


def _checked(scores, right) -> tuple[np.ndarray, np.ndarray]:
    scores, right = np.asarray(scores, np.float64), np.asarray(right, np.float64)
    if len(scores) != len(right) or not len(right):
        raise ValueError(
            "scores and right must be as many, and at least one. "
            f"Received: len(scores)={len(scores)}, len(right)={len(right)}"
        )
    return scores, right
