"""Arrays of the four criteria of faithfulness into the numbers of a report."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.adversary import EPSILON
from keras_attention.explanation.measures.agreement import CEILING, Agreement
from keras_attention.explanation.measures.alignment import by_segment
from keras_attention.explanation.measures.distances import LARGEST_JSD, jensen_shannon
from keras_attention.explanation.measures.erasure import SHARES, Erasure
from keras_attention.explanation.measures.interventions import PERMUTATIONS, Interventions
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.reporting.estimate import Estimator, Number
from keras_attention.explanation.reporting.report import (
    AdversarialReport,
    AgreementReport,
    DependenceReport,
    ErasureReport,
    Histogram,
    InterventionReport,
    InterventionsReport,
    WeightBin,
)

FAR = 0.6  # nats; what Jain and Wallace's figures show as almost another distribution
WEIGHT_BINS = ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))
TAU = "Kendall's τ-b over the source tokens of a step, mean over steps"


def dependence_report(measured: Measured, estimator: Estimator) -> DependenceReport:
    found = measured.dependence
    on_step = estimator.mean(
        found.on_step,
        "mutual information of step and source position in nats, mean over examples of two steps "
        "and two tokens or more: 0 where all steps of an answer have one map",
        "examples",
    )
    on_input = estimator.mean(
        found.on_input,
        "Jensen-Shannon divergence in nats from the map of another example at the same step, "
        "mean over examples: 0 where all examples have one map",
        "examples",
    )
    larger = on_input if (on_input.value or 0.0) > (on_step.value or 0.0) else on_step
    if on_step.value is None:
        larger = on_input
    return DependenceReport(
        varies=larger,
        on_step=on_step,
        on_input=on_input,
        one_position=estimator.mean(
            found.one_position,
            "share of examples whose largest weight is at one position in every step",
            "examples",
        ),
    )


def agreement_report(measured: Measured, estimator: Estimator) -> AgreementReport | None:
    found = measured.agreement
    if found is None or measured.importance is None:
        return None

    def means(group: dict[str, np.ndarray], what: str) -> dict[str, Number]:
        return {
            name: estimator.mean(values, f"{what}: {name.replace('/', ' with ')}")
            for name, values in group.items()
        }

    shown = [found.kendall_tau[name] for name in CEILING]
    top = "share of steps where both have their largest value at one token"
    spread = {name: found.kendall_tau[name] for name in CEILING}
    spread |= {f"ceiling {name}": values for name, values in found.ceiling_kendall_tau.items()}
    spread |= {f"null {name}": found.null_kendall_tau[name] for name in CEILING}
    return AgreementReport(
        kendall_tau=means(found.kendall_tau, f"{TAU}, attention with"),
        top_1=means(found.top_1, f"{top}, attention with"),
        null_kendall_tau=means(found.null_kendall_tau, f"{TAU}, shuffled attention with"),
        null_top_1=means(found.null_top_1, f"{top}, shuffled attention with"),
        ceiling_kendall_tau=means(found.ceiling_kendall_tau, TAU),
        ceiling_top_1=means(found.ceiling_top_1, top),
        undefined=estimator.mean(
            np.where(measured.steps, np.isnan(np.stack(shown)).any(axis=0), np.nan),
            "share of steps where some τ is undefined, because attention or a measure has one "
            "value for all tokens (no effect at all, or a source of one token)",
        ),
        completeness_error=estimator.median(
            measured.importance["completeness_error"],
            "median over steps of how far integrated gradients miss the difference of "
            "probabilities that they should sum to",
        ),
        relative_to_ceiling=_relative(found, estimator),
        spread={name: Histogram.of(values, -1.0, 1.0, 40) for name, values in spread.items()},
    )


def _relative(found: Agreement, estimator: Estimator) -> Number:
    """Mean τ of attention over mean τ of the ceiling, over steps where all are defined."""
    own = np.mean([found.kendall_tau[name] for name in CEILING], axis=0)
    ceiling = np.mean(list(found.ceiling_kendall_tau.values()), axis=0)
    both = ~np.isnan(own) & ~np.isnan(ceiling)
    ceiling_sums = np.where(both, ceiling, 0.0).sum(axis=1)
    definition = (
        "mean τ-b of attention with gradient, integrated gradients and leave-one-out, divided by "
        "the mean τ-b among these three"
    )
    # A ceiling near 0 says that the measures know nothing here: nothing to compare with.
    if not both.any() or ceiling_sums.sum() < 0.1 * both.sum():
        zeros = np.zeros(len(own))
        return estimator.ratio(zeros, zeros, definition, "steps", 0)
    return estimator.ratio(
        np.where(both, own, 0.0).sum(axis=1), ceiling_sums, definition, "steps", int(both.sum())
    )


_DESCRIPTIONS = {
    "uniform": "every source token the same weight",
    "permutation": "the weights of a step in a random order",
    "another_example": "the weights of another example",
    "largest_removed": "the largest weight removed, the others scaled to sum to 1",
    "random_removed": "one other weight removed instead",
    "only_largest": "all weight on the most attended token",
}


def interventions_report(
    found: Interventions | None, estimator: Estimator
) -> InterventionsReport | None:
    if found is None:
        return None

    def report(name: str) -> InterventionReport:
        what = _DESCRIPTIONS[name]
        return InterventionReport(
            what,
            estimator.mean(
                found.distance[name],
                f"total variation distance of a step's output, all other steps right: {what}",
            ),
            estimator.mean(
                found.flipped[name], f"share of steps whose likeliest token changes: {what}"
            ),
            estimator.share(
                found.right[name][found.changeable],
                "share of free-running answers to sources of two tokens or more that equal the "
                f"reference: {what}, at every step",
            ),
        )

    median = found.permutation_median
    largest = np.full(len(median), np.nan)
    filled = ~np.isnan(median).all(axis=1)
    largest[filled] = np.nanmax(median[filled], axis=1)
    return InterventionsReport(
        exact_match=estimator.share(
            found.right["unchanged"], "share of answers equal to the reference, nothing changed"
        ),
        **{name: report(name) for name in _DESCRIPTIONS},
        permutation_median=estimator.mean(
            median,
            f"median total variation distance under {PERMUTATIONS} permutations, mean over steps",
        ),
        permutation_by_largest_weight=tuple(
            _weight_bin(median, found.largest_weight, low, high, estimator)
            for low, high in WEIGHT_BINS
        ),
        permutation_of_answer=estimator.mean(
            largest,
            "the answer's most sensitive step: median total variation distance under "
            f"{PERMUTATIONS} permutations, mean over answers",
            "examples",
        ),
    )


def _weight_bin(median, largest, low: float, high: float, estimator: Estimator) -> WeightBin:
    inside = (largest >= low) & ((largest < high) | (high == 1.0))
    values = np.where(inside, median, np.nan)
    definition = (
        f"median over steps with a largest weight from {low:g} to {high:g} of the median total "
        f"variation distance under {PERMUTATIONS} permutations"
    )
    return WeightBin(
        low, high, estimator.median(values, definition), Histogram.of(values, 0.0, 1.0, 25)
    )


def adversarial_report(measured: Measured, estimator: Estimator) -> AdversarialReport | None:
    found = measured.adversary
    if found is None:
        return None
    divergence = found.divergence
    far = np.where(np.isnan(divergence), np.nan, (divergence > FAR) & (found.kept == 1))
    within = f"total variation of the output at most {EPSILON:g}"
    there = ~np.isnan(divergence)
    segments = None
    gold = measured.gold(measured.attention)
    if gold is not None:
        right = measured.examples.right(measured.examples.answer_ids)
        aligned = np.array([bool(links) for links in measured.examples.alignments])
        own, other = by_segment(measured.attention, gold), by_segment(found.weights, gold)
        moved = jensen_shannon(tf.constant(own), tf.constant(other.astype(np.float32))).numpy()
        # The gold is counted in the reference's tokens: only right answers have one.
        counted = there & (right & aligned)[:, None]
        segments = estimator.mean(
            np.where(counted, moved, np.nan),
            "divergence of the same adversarial weights after summing over the segments of the "
            "gold alignment, right answers only: what moves within a month's name is no "
            "other story",
        )
    return AdversarialReport(
        epsilon=EPSILON,
        max_jsd=estimator.mean(
            divergence,
            f"largest Jensen-Shannon divergence found, in nats, {within}; at most "
            f"{LARGEST_JSD:.4f}",
        ),
        max_jsd_of_bound=estimator.ratio(
            np.where(there, divergence, 0.0).sum(axis=1),
            np.where(there, found.bound, 0.0).sum(axis=1),
            "the same divided by the largest divergence that any weights have",
            "steps",
            int(there.sum()),
        ),
        survives=estimator.mean(
            far,
            f"share of steps that keep their likeliest token, {within}, under weights at a "
            f"divergence above {FAR:g}",
        ),
        bound=estimator.mean(
            found.bound,
            "largest divergence in nats that any weights have from the model's, whatever the "
            "output",
        ),
        max_jsd_by_segment=segments,
        spread=Histogram.of(divergence, 0.0, 0.7, 28),
    )


def erasure_report(found: Erasure | None, estimator: Estimator) -> ErasureReport | None:
    if found is None:
        return None
    words = {
        "comprehensiveness": "probability of the answer lost without",
        "sufficiency": "probability of the answer lost with only",
    }

    def curve(name: str) -> dict[str, Number]:
        who = "random" if name.startswith("random_") else "most attended"
        what = words[name.removeprefix("random_")]
        return {
            f"{100 * share:g}": estimator.mean(
                getattr(found, name)[..., place], f"{what} {100 * share:g} % {who} tokens"
            )
            for place, share in enumerate(SHARES)
        }

    def aopc(name: str) -> Number:
        shares = ", ".join(f"{100 * share:g}" for share in SHARES)
        return estimator.mean(
            getattr(found, name).mean(axis=-1),
            f"AOPC: mean over {shares} % of the tokens of {name.replace('_', ' ')}",
        )

    return ErasureReport(
        aopc_comprehensiveness=aopc("comprehensiveness"),
        aopc_sufficiency=aopc("sufficiency"),
        random_aopc_comprehensiveness=aopc("random_comprehensiveness"),
        random_aopc_sufficiency=aopc("random_sufficiency"),
        beyond_random=estimator.mean(
            (found.comprehensiveness - found.random_comprehensiveness).mean(axis=-1),
            "AOPC comprehensiveness of the most attended tokens minus that of random ones",
        ),
        comprehensiveness=curve("comprehensiveness"),
        sufficiency=curve("sufficiency"),
        random_comprehensiveness=curve("random_comprehensiveness"),
        random_sufficiency=curve("random_sufficiency"),
    )
