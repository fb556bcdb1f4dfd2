"""Which examples a report shows: the model's attention beside the adversary's."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_attention.explanation.measures.adversary import Adversary
from keras_attention.explanation.measures.measured import Measured
from keras_attention.explanation.reporting.report import ShownExample

# Longer ones fill the page and are not read.
MOST_SOURCE, MOST_ANSWER = 40, 30


def show(measured: Measured) -> tuple[ShownExample, ...]:
    """The example with the most, a typical and the least divergent adversarial attention."""
    examples, adversary = measured.examples, measured.adversary
    if adversary is None:
        return ()
    there = ~np.isnan(adversary.divergence)
    counts = there.sum(axis=1)
    means = np.divide(
        np.where(there, adversary.divergence, 0.0).sum(axis=1),
        counts,
        out=np.full(len(counts), np.nan),
        where=counts > 0,
    )
    short = (examples.source.lengths <= MOST_SOURCE) & (examples.answer_lengths <= MOST_ANSWER)
    if (short & (counts > 0)).any():
        means = np.where(short, means, np.nan)
    if np.isnan(means).all():
        return ()
    picked: dict[int, str] = {}
    wanted = (
        ("furthest", np.nanmax(means)),
        ("typical", np.nanmedian(means)),
        ("nearest", np.nanmin(means)),
    )
    for why, value in wanted:
        row = int(np.nanargmin(np.abs(means - value)))
        picked.setdefault(row, why)
    return tuple(_shown(measured, adversary, row, why) for row, why in picked.items())


def _shown(measured: Measured, adversary: Adversary, row: int, why: str) -> ShownExample:
    examples = measured.examples
    source = examples.source_tokens[row]
    answer = examples.answer_tokens[row]
    right = answer == examples.reference_tokens[row]
    steps, source_length = len(answer), len(source)
    return ShownExample(
        why=why,
        source=source,
        answer=answer,
        reference=examples.reference_tokens[row],
        attention=_rounded(measured.attention[row, :steps, :source_length]),
        adversarial=_rounded(adversary.weights[row, :steps, :source_length]),
        divergence=_rounded(adversary.divergence[row, :steps]),
        probability=_rounded(adversary.probability[row, :steps]),
        adversarial_probability=_rounded(adversary.adversarial_probability[row, :steps]),
        links=tuple(
            (link.source, link.target, link.sure)
            for link in (examples.alignments[row] or () if right else ())
        ),
        **_contrast(measured, row, steps, source_length),
    )


def _contrast(measured: Measured, row: int, steps: int, source_length: int) -> dict[str, Any]:
    found = measured.contrast
    if found is None:
        return {}
    names = measured.examples.output_names
    return {
        "runner_up": tuple(names[column] for column in found.runner_up[row, :steps]),
        "margin": _rounded(found.margin[row, :steps]),
        "contribution": _rounded(found.contribution[row, :steps, :source_length]),
    }


def _rounded(values: np.ndarray):
    """Four decimals, as nested tuples; a NaN, which JSON has not, as 0."""
    if values.ndim == 2:
        return tuple(_rounded(row) for row in values)
    return tuple(round(float(value), 4) + 0.0 for value in np.nan_to_num(values))
