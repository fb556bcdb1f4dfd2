"""N-best lists, sets with a guarantee, and abstaining with one, whatever reads the model."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from keras_attention.engine.calibration import Calibration
from keras_attention.engine.guarantees import CandidateSets
from keras_attention.errors import UserError
from keras_attention.readers.translation import AnswerSet, Translation

WHY_NO_PROMISE = (
    "nothing was set aside to promise it from; that takes a run of this version with at least 100 "
    "validation pairs, whose answers are often right to the last character (an ensemble has none)"
)


def width_for(reader, n_best: int, beam_width: int) -> int:
    """The beam in which so many hypotheses are found.

    Raises:
        UserError: the reader has no beam as wide.
    """
    wanted = max(n_best, beam_width)
    only = getattr(reader, "only_beam_width", None)
    if only is None or wanted == 1:
        return wanted
    if only == 1:
        raise UserError(
            "--n-best: a .tflite file decodes greedily and has one answer; use a run or an export"
        )
    if n_best > only:
        raise UserError(
            f"--n-best: this export's beam holds {only}; ask for no more, leave out --engine "
            "tensorflow, or export again with --beam-width"
        )
    return only if beam_width == 1 else beam_width


def best_of(translation: Translation, n_best: int) -> Translation:
    """The same with at most so many hypotheses."""
    return dataclasses.replace(translation, alternatives=translation.alternatives[: n_best - 1])


def sets_for(
    reader,
    coverage: float,
    beam_width: int = 1,
    length_penalty: float | None = None,
    n_best: int | None = None,
) -> CandidateSets:
    """The promise for a coverage: of the narrowest beam that reaches it, or of the widest.

    Raises:
        TypeError: the coverage is no number.
        UserError: it is out of range, other options contradict it, or there is no promise.
    """
    _check_share(coverage, "--coverage")
    if beam_width != 1 or length_penalty is not None or n_best is not None:
        raise UserError(
            "--coverage: searches with the beam that the promise was made with; leave out "
            "--beam-width, --length-penalty and --n-best"
        )
    only = getattr(reader, "only_beam_width", None)
    if only == 1:
        raise UserError(
            "--coverage: a .tflite file decodes greedily and has one answer; use a run or an export"
        )
    calibration: Calibration | None = getattr(reader, "calibration", None)
    if calibration is None or not calibration.sets:
        raise UserError(f"--coverage: {WHY_NO_PROMISE}")
    possible = [sets for sets in calibration.sets if only in (None, sets.beam_width)]
    if not possible:
        widths = " or ".join(str(sets.beam_width) for sets in calibration.sets)
        raise UserError(
            f"--coverage: the promise is for beams of {widths}, and this SavedModel's has {only}; "
            "leave out --engine tensorflow, or export again with that --beam-width"
        )
    return next((sets for sets in possible if sets.reaches(coverage)), possible[-1])


def with_answer_set(translation: Translation, sets: CandidateSets, coverage: float) -> Translation:
    """A translation of that beam with its set."""
    found = translation.hypotheses
    p_values = sets.p_values(np.array([each.log_probability for each in found]))
    held = [each.text for each, p in zip(found, p_values, strict=True) if p > 1 - coverage]
    promised = coverage if sets.reaches(coverage) else sets.largest_coverage
    texts = tuple(dict.fromkeys([translation.text, *held]))
    return dataclasses.replace(translation, answer_set=AnswerSet(texts, coverage, promised))


def confidence_for(reader, most_wrong: float) -> float:
    """See `Translator.confidence_for`."""
    _check_share(most_wrong, "--max-wrong")
    calibration: Calibration | None = getattr(reader, "calibration", None)
    if calibration is None or calibration.abstention is None:
        raise UserError(f"--max-wrong: {WHY_NO_PROMISE}")
    abstention = calibration.abstention
    threshold = abstention.threshold(most_wrong)
    if threshold is None:
        raise UserError(
            f"--max-wrong: {most_wrong:g} cannot be promised from {abstention.n} pairs; the least "
            f"that can is {abstention.least():g}; train with more validation pairs, or a better "
            "model"
        )
    return threshold


def _check_share(value: float, option: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{option} must be a number. Received: {value!r}")
    if not (math.isfinite(value) and 0 < value < 1):
        raise UserError(f"{option}: must be above 0 and below 1. Received: {value:g}")
