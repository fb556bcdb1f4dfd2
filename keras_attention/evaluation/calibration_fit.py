"""The map from log-probability to confidence, fitted on validation data.

The map itself is `engine.calibration.Calibration`. A fit falls back to the identity where the data
say nothing, as on a task with hardly an error to learn from; one of quality to the mean probability
of a token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_attention.engine.calibration import IDENTITY, LEAST_DOUBT, Calibration, Meaning

# Weight of the pull towards leaving probabilities as they are, in examples.
PULL = 1.0

_NEWTON_STEPS = 100
# Which slopes may be bound to 0, of those that must not be negative. A map of being right has
# nothing of the mean, so that only the first two are free.
_MEAN = 4
_BOUND: dict[Meaning, list[list[int]]] = {
    "right": [[_MEAN], [0, _MEAN], [1, _MEAN], [0, 1, _MEAN]],
    "quality": [[], [0], [1], [_MEAN], [0, 1], [0, _MEAN], [1, _MEAN], [0, 1, _MEAN]],
}
# What a fit is pulled towards.
_RESTING: dict[Meaning, np.ndarray] = {
    "right": IDENTITY,
    "quality": np.array([0.0, 0.0, 0.0, 0.0, 1.0]),
}


def fit(
    log_probabilities: Sequence[float],
    lengths: Sequence[int],
    outcomes: Sequence[float],
    meaning: Meaning = "right",
) -> Calibration:
    """The map of highest likelihood, gently pulled towards what it falls back to.

    Args:
        log_probabilities: Of the answers, in nats.
        lengths: Tokens of the answers.
        outcomes: Of each answer, whether it was right, or its quality from 0 to 1.
        meaning: Which of the two.

    Raises:
        ValueError: the three differ in number, or there is no answer.
    """
    hits = np.asarray(outcomes, np.float64)
    log_p = np.asarray(log_probabilities, np.float64)
    if not len(hits) == len(log_p) == len(lengths) or not len(hits):
        raise ValueError(
            "log_probabilities, lengths and outcomes must be as many, at least one. Received: "
            f"{len(log_p)}, {len(lengths)} and {len(hits)}"
        )
    doubt = 1.0 + LEAST_DOUBT - np.exp(np.minimum(log_p, 0.0))
    length = np.asarray(lengths, np.float64)
    features = np.stack(
        [log_p, -np.log(doubt), np.ones_like(log_p), length, log_p / (length + 1.0)], axis=1
    )
    # The problem is convex: its bound solution is free in some slopes and 0 in the others.
    resting = _RESTING[meaning]
    solutions = [_newton(features, hits, fixed, resting) for fixed in _BOUND[meaning]]
    best = min((s for s in solutions if s[0][[0, 1, _MEAN]].min() >= 0), key=_loss_of)
    a, b, c, d, e = (float(value) for value in best[0])
    return Calibration(a, b, c, d, len(hits), int((hits < 1).sum()), e, meaning)


def _loss_of(solution: tuple[np.ndarray, float]) -> float:
    return solution[1]


def _newton(
    features: np.ndarray, right: np.ndarray, fixed: list[int], resting: np.ndarray
) -> tuple[np.ndarray, float]:
    """Coefficients and loss of the logistic regression whose `fixed` coefficients are 0."""
    free = np.setdiff1d(np.arange(len(resting)), fixed)
    values = resting.copy()
    values[fixed] = 0.0

    # A step of the length's slope moves a logit by the length.
    pull = PULL * np.array([1.0, 1.0, 1.0, max(1.0, np.square(features[:, 3]).mean()), 1.0])

    def loss_at(values):
        logits = features @ values
        likelihood = np.logaddexp(0.0, logits) - right * logits
        return likelihood.sum() + 0.5 * (pull * np.square(values - resting)).sum()

    loss = loss_at(values)
    for _ in range(_NEWTON_STEPS):
        chances = 1.0 / (1.0 + np.exp(-np.clip(features @ values, -500, 500)))
        gradient = features.T @ (chances - right) + pull * (values - resting)
        curvature = (features.T * (chances * (1 - chances))) @ features + np.diag(pull)
        step = np.zeros(len(resting))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        size = 1.0
        while size > 1e-6 and loss_at(values - size * step) > loss:
            size /= 2
        if size <= 1e-6:
            break
        values = values - size * step
        before, loss = loss, loss_at(values)
        if before - loss < 1e-10 * max(1.0, before):
            break
    return values, loss
