"""All that was measured into a report, verdict included."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_attention.explanation.measures.alignment import compare
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.reporting.estimate import Estimator, Number
from keras_attention.explanation.reporting.matrices import matrices_of
from keras_attention.explanation.reporting.report import PositionRow, Report
from keras_attention.explanation.reporting.shown import show
from keras_attention.explanation.reporting.summary_checks import (
    contrast_report,
    randomised_report,
    stability_report,
)
from keras_attention.explanation.reporting.summary_comparison import (
    alignment_report,
    baselines_report,
)
from keras_attention.explanation.reporting.summary_faithfulness import (
    adversarial_report,
    agreement_report,
    dependence_report,
    erasure_report,
    interventions_report,
)
from keras_attention.explanation.reporting.verdict import judge

MOST_POSITIONS = 40

# What the columns of the table by output position hold.
POSITION_COLUMNS = {
    "largest_weight": "mean largest attention weight",
    "kendall_tau": "Kendall's τ-b of attention with leave_one_out",
    "top_1": "share of examples where attention and gradient have one largest token",
    "permutation": "median total variation distance under permutations, mean over examples",
    "adversarial": "largest Jensen-Shannon divergence found, in nats, output within ε",
    "comprehensiveness": "probability lost without the most attended token, minus a random one",
    "pointing_accuracy": "share of examples whose largest weight is on a gold link",
}


def summarise(
    measured: Measured, seed: int, task: str, description: str, data_fingerprint: str
) -> Report:
    """The whole report, verdict included."""
    estimator = Estimator(seed)
    examples = measured.examples
    parts: dict[str, Any] = {
        "dependence": dependence_report(measured, estimator),
        "agreement": agreement_report(measured, estimator),
        "interventions": interventions_report(measured.interventions, estimator),
        "adversarial": adversarial_report(measured, estimator),
        "erasure": erasure_report(measured.erasure, estimator),
        "contrast": contrast_report(measured, estimator),
        "randomised": randomised_report(measured, estimator),
        "stability": stability_report(measured, estimator),
        "alignment": alignment_report(measured, seed, estimator),
        "baselines": baselines_report(measured, estimator),
    }
    return Report(
        task=task,
        description=description,
        n_examples=len(examples),
        n_steps=int(examples.answer_lengths.sum()),
        seed=seed,
        data_fingerprint=data_fingerprint,
        verdict=judge(_judged(parts)),
        **parts,
        positions=_positions(measured, estimator),
        examples=show(measured),
        matrices=matrices_of(measured),
    )


def _judged(parts: dict) -> dict[str, Number]:
    """The number that each criterion of the verdict's table looks at."""
    where: dict[str, tuple[str, str]] = {
        "dependence": ("dependence", "varies"),
        "agreement": ("agreement", "relative_to_ceiling"),
        "permutation": ("interventions", "permutation_of_answer"),
        "adversarial": ("adversarial", "max_jsd_of_bound"),
        "erasure": ("erasure", "beyond_random"),
        "need": ("baselines", "need"),
        "seeds": ("baselines", "between_seeds_jsd_of_bound"),
        "alignment": ("alignment", "below_best_control"),
    }
    numbers = {}
    for criterion, (part, field) in where.items():
        number = getattr(parts[part], field) if parts[part] is not None else None
        if number is not None:
            numbers[criterion] = number
    return numbers


def _positions(measured: Measured, estimator: Estimator) -> tuple[PositionRow, ...]:
    """One row for each output position, the first MOST_POSITIONS of them."""
    steps = min(int(measured.examples.answer_lengths.max(initial=0)), MOST_POSITIONS)
    arrays = _by_position(measured)
    names = _position_names(measured.examples, steps)
    rows = []
    for position in range(steps):
        numbers: dict[str, Any] = dict.fromkeys(POSITION_COLUMNS)
        for name, values in arrays.items():
            if position < values.shape[1]:
                definition = POSITION_COLUMNS[name]
                numbers[name] = estimator.mean(values[:, position], definition, "examples")
        rows.append(PositionRow(position, names[position], **numbers))
    return tuple(rows)


def _by_position(measured: Measured) -> dict[str, np.ndarray]:
    """float `[E, T]` for each column that was measured."""
    largest = np.nan_to_num(measured.attention).max(axis=-1)
    arrays = {"largest_weight": np.where(measured.steps, largest, np.nan)}
    if measured.agreement is not None:
        arrays["kendall_tau"] = measured.agreement.kendall_tau["leave_one_out"]
        arrays["top_1"] = measured.agreement.top_1["gradient"]
    if measured.interventions is not None:
        arrays["permutation"] = measured.interventions.permutation_median
    if measured.adversary is not None:
        arrays["adversarial"] = measured.adversary.divergence
    if measured.erasure is not None:
        erasure = measured.erasure
        beyond = erasure.comprehensiveness - erasure.random_comprehensiveness
        arrays["comprehensiveness"] = beyond[..., 0]
    if measured.forced_attention is not None:
        gold = measured.gold(measured.forced_attention)
        if gold is not None:
            arrays["pointing_accuracy"] = compare(measured.forced_attention, gold).in_possible
    return arrays


def _position_names(examples: Examples, steps: int) -> list[str]:
    """The field at each position where all examples that have one agree, else nothing."""
    names = []
    for position in range(steps):
        found = {
            fields[position] for fields in examples.fields if fields and position < len(fields)
        }
        names.append(found.pop() if len(found) == 1 else "")
    return names
