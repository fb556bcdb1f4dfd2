"""What can be promised of answers: sets that hold the right one, and errors among those given.

Both promises rest on pairs that chose nothing of the model (`pairs.splits.set_aside`), and on new
sources being like those pairs. They are about sources as a whole, not about each kind of source.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

# How often a promise of `Abstention` may fail to hold, over all draws of the pairs it is made from.
RISK_OF_A_PROMISE = 0.05


@dataclasses.dataclass(frozen=True)
class CandidateSets:
    """Split conformal prediction over the hypotheses of a beam search.

    The score is the log-probability of an answer, and a set holds the hypotheses that score at
    least the quantile of the right answers' scores (Vovk, Gammerman and Shafer, 2005; Sadinle, Lei
    and Wasserman, 2019: of all such rules the one with the smallest sets on average).

    Attributes:
        beam_width: Of the search, without length penalty; the promise is for this one.
        scores: Of the right answers that were among the hypotheses, rising.
        unlisted: How many right answers were not: they score below everything.
    """

    beam_width: int
    scores: tuple[float, ...]
    unlisted: int

    @property
    def n(self) -> int:
        """Sources that the promise is made from."""
        return len(self.scores) + self.unlisted

    @property
    def unlisted_p_value(self) -> float:
        """The p-value of an answer that is no hypothesis."""
        return (1 + self.unlisted) / (self.n + 1)

    @property
    def largest_coverage(self) -> float:
        """What all hypotheses together can promise to hold."""
        return 1 - self.unlisted_p_value

    def p_values(self, log_probabilities: np.ndarray) -> np.ndarray:
        """Of hypotheses: the share of right answers that score no higher, the answer's own counted.

        The set of coverage c is all that have more than 1 - c, and the first hypothesis always.

        Args:
            log_probabilities: float array of any shape.

        Returns:
            float64 of the same shape, in (0, 1].
        """
        no_higher = np.searchsorted(np.asarray(self.scores), log_probabilities, side="right")
        return (1 + self.unlisted + no_higher) / (self.n + 1)

    def reaches(self, coverage: float) -> bool:
        """Whether some set of hypotheses can promise this coverage."""
        return self.unlisted_p_value <= 1 - coverage + 1e-12

    def lower_bound(self, coverage: float) -> float:
        """What the coverage of these very pairs' sets is at least, in 95 of 100 draws of the pairs.

        The promised coverage is a mean over such draws; for one draw it follows a beta distribution
        (Vovk, 2012), of which this is the 5 % quantile.
        """
        if not self.reaches(coverage):
            return 0.0
        rank = math.ceil((self.n + 1) * coverage - 1e-9)  # as many right answers were held
        return _root(lambda p: 1 - binomial_cdf(rank - 1, self.n, p), RISK_OF_A_PROMISE)


@dataclasses.dataclass(frozen=True)
class Abstention:
    """Confidences from which on errors are rare enough, found by tests in a fixed order.

    Learn-then-test (Angelopoulos, Bates, Candes, Jordan and Lei, 2021) with exact binomial tests.
    The thresholds and their order were fixed before the pairs were looked at.

    Attributes:
        n: Sources that the promise is made from.
        thresholds: Falling confidences: quantiles of those of the pairs that chose the weights.
        answered: For each threshold, sources of at least this confidence.
        wrong: How many of those answers were wrong.
    """

    n: int
    thresholds: tuple[float, ...]
    answered: tuple[int, ...]
    wrong: tuple[int, ...]

    def threshold(self, most_wrong: float) -> float | None:
        """The lowest confidence above which at most this share of the answers is wrong.

        In 95 of 100 draws of the pairs the promise holds. None where it cannot be made.
        """
        found = None
        needed = math.log(RISK_OF_A_PROMISE) / math.log1p(-most_wrong)
        for place, threshold in enumerate(self.thresholds, 1):
            # A test on fewer answers fails even if all are right. The share is the quantile's, not
            # the one that was counted, so that nothing depends on these pairs.
            if place / len(self.thresholds) * self.n < needed and place < len(self.thresholds):
                continue
            answered, wrong = self.answered[place - 1], self.wrong[place - 1]
            if binomial_cdf(wrong, answered, most_wrong) > RISK_OF_A_PROMISE:
                break
            found = threshold
        return found

    def least(self) -> float:
        """The smallest share of wrong answers that can be promised, in steps of a thousandth."""
        shares = (step / 1000 for step in range(1, 1000))
        return next((share for share in shares if self.threshold(share) is not None), 1.0)


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """Probability of at most so many successes."""
    if successes < 0:
        return 0.0
    if successes >= trials or chance <= 0:
        return 1.0
    if chance >= 1:
        return 0.0
    odds = math.log(chance) - math.log1p(-chance)
    term = trials * math.log1p(-chance)
    terms = [term]
    for k in range(successes):
        term += math.log((trials - k) / (k + 1)) + odds
        terms.append(term)
    most = max(terms)
    return min(1.0, math.exp(most) * math.fsum(math.exp(term - most) for term in terms))


def upper_bound(wrong: int, answered: int) -> float:
    """What the share of wrong answers is at most, with confidence 0.95 (Clopper and Pearson, 1934).

    1 where nothing was answered.
    """
    if wrong >= answered:
        return 1.0
    return _root(lambda p: 1 - binomial_cdf(wrong, answered, p), 1 - RISK_OF_A_PROMISE)


def lower_bound(right: int, n: int) -> float:
    """What a share is at least, with confidence 0.95 (Clopper and Pearson, 1934)."""
    return 1 - upper_bound(n - right, n)


def _root(rising, value: float) -> float:
    """Where a function that rises on [0, 1] takes a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low
