"""Every audited example as one table of matrices, for figures and pages of one's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from keras_attention.explanation.measures.importance import MEASURES
from keras_attention.explanation.measures.measured import Measured

FORMAT = 1


def matrices_of(measured: Measured) -> tuple[dict[str, Any], ...]:
    """One dict an example, ready for JSON; matrices have a row for each token of the answer.

    Keys: `source`, `answer`, `reference` (tokens), `links` (gold, as [source, target, sure],
    counted in the reference), and what was measured of `attention`, `adversarial`, the measures of
    importance and `contrast` (float `[T][S]`, null where nothing is compared), `margin` (`[T]`, in
    logits) and `runner_up` (T names).
    """
    return tuple(_of_example(measured, row) for row in range(len(measured.examples)))


def to_json(matrices: dict[str, Any]) -> str:
    """One example's file."""
    return json.dumps(matrices, ensure_ascii=False, allow_nan=False) + "\n"


def _of_example(measured: Measured, row: int) -> dict[str, Any]:
    examples = measured.examples
    source, answer = examples.source_tokens[row], examples.answer_tokens[row]
    arrays: dict[str, np.ndarray] = {"attention": measured.attention}
    if measured.adversary is not None:
        arrays["adversarial"] = measured.adversary.weights
    if (importance := measured.importance) is not None:
        arrays |= {name: importance[name] for name in MEASURES}
    if measured.contrast is not None:
        arrays["contrast"] = measured.contrast.contribution
    content: dict[str, Any] = {
        "format": FORMAT,
        "source": list(source),
        "answer": list(answer),
        "reference": list(examples.reference_tokens[row]),
        "links": [list(link) for link in examples.alignments[row] or ()],
    }
    for name, array in arrays.items():
        content[name] = _rounded(array[row, : len(answer), : len(source)])
    if measured.contrast is not None:
        columns = measured.contrast.runner_up[row, : len(answer)]
        content["runner_up"] = [examples.output_names[column] for column in columns]
        content["margin"] = _rounded(measured.contrast.margin[row, : len(answer)])
    return content


def _rounded(values: np.ndarray):
    """Nested lists of numbers of four decimals; what is no number is null."""
    if values.ndim > 1:
        return [_rounded(row) for row in values]
    return [None if np.isnan(value) else round(float(value), 4) + 0.0 for value in values]
