"""Arrays of the comparisons, with a gold alignment and with other models, into numbers."""

from __future__ import annotations

import numpy as np

from keras_attention.explanation.measures.alignment import (
    Alignment,
    Gold,
    compare,
    controls,
    monotonicity,
)
from keras_attention.explanation.measures.distances import LARGEST_JSD
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.reporting.estimate import Estimator, Number
from keras_attention.explanation.reporting.report import (
    AlignmentReport,
    AlignmentRow,
    BaselinesReport,
    Histogram,
)


def alignment_report(measured: Measured, seed: int, estimator: Estimator) -> AlignmentReport | None:
    weights = measured.forced_attention
    if weights is None:
        return None
    examples = measured.examples
    forward = estimator.mean(
        monotonicity(weights),
        "share of steps that look no further left than the step before",
    )
    gold = measured.gold(weights)
    if gold is None:
        return AlignmentReport(forward, None, {}, None, {}, {})
    own = compare(weights, gold)
    wrong = {
        name: compare(other, gold) for name, other in controls(examples, weights, seed).items()
    }
    rates = {name: _error_rate(other, name, estimator) for name, other in wrong.items()}
    fields = _names(examples, gold)
    groups = np.array([group or "" for group in examples.groups])
    return AlignmentReport(
        monotonicity=forward,
        gold=_alignment_row(own, "", estimator),
        controls=rates,
        below_best_control=_below(own, wrong, rates, estimator),
        by_field={
            name: _alignment_row(own.restricted(fields == name), name, estimator)
            for name in dict.fromkeys(fields[gold.steps])
            if name
        },
        by_group={
            str(name): _alignment_row(
                own.restricted((groups == name)[:, None]), str(name), estimator
            )
            for name in np.unique(groups)
            if name and own.restricted((groups == name)[:, None]).error_rate()[1].sum()
        },
    )


def _error_rate(alignment: Alignment, of: str, estimator: Estimator) -> Number:
    definition = "alignment error rate, 1 - (|A∩P| + |A∩S|) / (|A| + |S|), over all steps with gold"
    steps = int((~np.isnan(alignment.in_possible)).sum())
    return estimator.ratio(
        *alignment.error_rate(),
        f"{definition}: {of.replace('_', ' ')}" if of else definition,
        "steps",
        steps,
    )


def _below(own: Alignment, wrong: dict, rates: dict[str, Number], estimator: Estimator) -> Number:
    """The best control's error rate minus the model's; both have the same denominators."""
    # All have the same denominators, so that all are defined or none is.
    best = min(rates, key=lambda name: rates[name].value or 0.0)
    missed, sizes = own.error_rate()
    return estimator.ratio(
        wrong[best].error_rate()[0] - missed,
        sizes,
        f"alignment error rate of the best control ({best.replace('_', ' ')}) minus that of the "
        "model",
        "steps",
        int((~np.isnan(own.in_possible)).sum()),
    )


def _alignment_row(alignment: Alignment, of: str, estimator: Estimator) -> AlignmentRow:
    steps = (~np.isnan(alignment.in_possible)).sum(axis=1)
    return AlignmentRow(
        alignment_error_rate=_error_rate(alignment, of, estimator),
        precision=estimator.mean(
            alignment.in_possible, "|A∩P| / |A|: share of steps that point at a possible link"
        ),
        recall=estimator.ratio(
            np.nansum(alignment.in_sure, axis=1),
            np.nansum(alignment.sure_links, axis=1),
            "|A∩S| / |S|: share of sure links that are pointed at",
            "sure links",
        ),
        pointing_accuracy=estimator.mean(
            alignment.in_possible, "share of steps whose largest weight is on a gold link"
        ),
        pointing_accuracy_within_1=estimator.mean(
            alignment.near, "share of steps whose largest weight is at most one token from one"
        ),
        mass=estimator.ratio(
            np.nansum(alignment.mass, axis=1),
            steps,
            "attention weight on gold links",
            "steps",
        ),
    )


def baselines_report(measured: Measured, estimator: Estimator) -> BaselinesReport | None:
    found = measured.baselines
    if found is None:
        return None
    examples = measured.examples
    right = examples.right(examples.answer_ids)
    others = {
        "uniform attention": found.right["uniform_trained"],
        "no attention": found.right.get("no_attention"),
    }
    rivals = {name: hits for name, hits in others.items() if hits is not None}
    better = max(rivals, key=lambda name: rivals[name].sum())
    between = found.between_seeds.mean(axis=-1)
    largest = _largest_divergence(measured.attention)
    there = ~np.isnan(between) & ~np.isnan(largest)

    def share(hits, what: str) -> Number:
        return estimator.share(hits, f"share of answers equal to the reference: {what}")

    return BaselinesReport(
        exact_match=share(right, "the model itself"),
        uniform_trained=share(found.right["uniform_trained"], "trained with uniform attention"),
        no_attention=(
            share(found.right["no_attention"], "trained without attention")
            if "no_attention" in found.right
            else None
        ),
        other_seeds={
            name: share(hits, f"trained with another seed ({name})")
            for name, hits in found.right.items()
            if name.startswith("seed_")
        },
        between_seeds_jsd=estimator.mean(
            between,
            "Jensen-Shannon divergence in nats of the attention of trainings from other seeds, "
            "mean over them",
        ),
        between_seeds_jsd_of_bound=estimator.ratio(
            np.where(there, between, 0.0).sum(axis=1),
            np.where(there, largest, 0.0).sum(axis=1),
            "the same divided by the largest divergence that any weights have",
            "steps",
            int(there.sum()),
        ),
        need=estimator.mean(
            right.astype(np.float64) - rivals[better],
            "exact match of the model minus that of the better of the models trained without "
            f"learned attention, here the one with {better}",
            "examples",
        ),
        spread=Histogram.of(between, 0.0, 0.7, 28),
    )


def _largest_divergence(weights: np.ndarray) -> np.ndarray:
    """What `Adversary.bound` is, from weights `[E, T, S]` alone."""
    least = np.nanmin(np.where(np.isnan(weights), np.inf, weights), axis=-1)
    least = np.where(np.isinf(least), np.nan, least)
    logarithm = np.log(np.maximum(least, 1e-30))
    return LARGEST_JSD - 0.5 * ((1 + least) * np.log1p(least) - least * logarithm)


def _names(examples: Examples, gold: Gold) -> np.ndarray:
    """The field of each step, str `[E, T]`, empty where there is none."""
    names = np.full(gold.steps.shape, "", dtype=object)
    for row, fields in enumerate(examples.fields):
        for step, name in enumerate(fields or ()):
            names[row, step] = name
    return names
