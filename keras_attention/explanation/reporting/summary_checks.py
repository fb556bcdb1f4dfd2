"""Arrays of the contrast and of the two checks of the map itself into numbers."""

from __future__ import annotations

import numpy as np

from keras_attention.explanation.measures.adversary import EPSILON
from keras_attention.explanation.measures.distances import kendall_tau, top_agreement
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.measures.sanity import NOISE, NOISES, SHUFFLES
from keras_attention.explanation.reporting.estimate import Estimator
from keras_attention.explanation.reporting.report import (
    ContrastReport,
    RandomisedReport,
    StabilityReport,
)


def contrast_report(measured: Measured, estimator: Estimator) -> ContrastReport | None:
    found = measured.contrast
    if found is None:
        return None
    attention = np.nan_to_num(measured.attention)
    contribution = np.nan_to_num(found.contribution)
    positions = np.arange(attention.shape[-1])
    mask = ~np.isnan(measured.attention) & (positions < measured.examples.compared[:, None, None])
    margins = np.nan_to_num(found.margin).astype(np.float64).sum(axis=1)
    by_attention = contribution.astype(np.float64).sum(axis=(1, 2))
    return ContrastReport(
        margin=estimator.mean(
            found.margin, "logit of the answer's token minus that of the likeliest other one"
        ),
        through_attention=estimator.ratio(
            by_attention,
            margins,
            "share of all margins that comes from source positions through their attention "
            "weights; the rest comes from the decoder's state",
            "steps",
            int((~np.isnan(found.margin)).sum()),
        ),
        top_1=estimator.mean(
            top_agreement(attention, contribution, mask),
            "share of steps whose largest weight is on the position that adds most to the margin",
        ),
        kendall_tau=estimator.mean(
            kendall_tau(attention, contribution, mask),
            "Kendall's τ-b of attention with what each position adds to the margin, mean over "
            "steps",
        ),
    )


def randomised_report(measured: Measured, estimator: Estimator) -> RandomisedReport | None:
    found = measured.randomised
    if found is None:
        return None
    with_what = f"of attention with that of the model with shuffled weights, {SHUFFLES} of these"
    return RandomisedReport(
        kendall_tau=estimator.mean(
            found.kendall_tau.mean(axis=-1), f"Kendall's τ-b {with_what}, mean over steps"
        ),
        top_1=estimator.mean(
            found.top_1.mean(axis=-1), f"share of steps with one largest token {with_what}"
        ),
        divergence=estimator.mean(
            found.divergence.mean(axis=-1),
            f"Jensen-Shannon divergence in nats {with_what}, mean over steps",
        ),
    )


def stability_report(measured: Measured, estimator: Estimator) -> StabilityReport | None:
    found = measured.stability
    if found is None:
        return None
    noise = f"noise of {NOISE:.0%} of the embeddings' norm, {NOISES} draws for each example"
    stays = np.where(found.distance <= EPSILON, found.divergence, np.nan)
    kept = np.where(np.isnan(found.distance), np.nan, found.distance <= EPSILON)

    def over_draws(values: np.ndarray) -> np.ndarray:
        return values.mean(axis=-1)

    return StabilityReport(
        noise=NOISE,
        divergence=estimator.mean(
            over_draws(found.divergence),
            f"Jensen-Shannon divergence of attention in nats under {noise}",
        ),
        distance=estimator.mean(
            over_draws(found.distance), f"total variation distance of the output under {noise}"
        ),
        same_top=estimator.mean(
            over_draws(found.same_top),
            f"share of steps whose largest weight stays at its position under {noise}",
        ),
        output_stays=estimator.mean(
            over_draws(kept),
            f"share of steps whose output moves by at most {EPSILON:g} under {noise}",
        ),
        divergence_where_output_stays=estimator.mean(
            stays,
            f"the same divergence where the output moves by at most {EPSILON:g}",
            "draws of steps",
        ),
    )
