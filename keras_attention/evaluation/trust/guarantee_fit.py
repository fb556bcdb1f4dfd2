"""Promises from validation pairs that did not choose the weights: `engine.guarantees`, fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_attention.engine.guarantees import Abstention, CandidateSets
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator

# What an export's beam is by default, and one that reaches further.
BEAM_WIDTHS = (5, 20)
# Sources that sets are fitted on, at most: a beam of 20 takes its time.
MOST_SOURCES = 500
THRESHOLDS = 20
# Scores agree between artefacts to about as many digits.
_DIGITS = 5


def fit_sets(translator: Translator, pairs: Sequence[Pair]) -> tuple[CandidateSets, ...]:
    """The promise of sets of answers, for each of `BEAM_WIDTHS` up to one that misses nothing.

    Args:
        translator: With the final weights.
        pairs: Of `pairs.splits.set_aside`; of several with one source, any target is right.
    """
    answers = Answers(pairs)
    sources = list(dict.fromkeys(pair.source for pair in pairs))[:MOST_SOURCES]
    sets = []
    for width in BEAM_WIDTHS:
        scores = []
        for source, found in zip(sources, translator.translate(sources, width, 0.0), strict=True):
            right = [
                each.log_probability
                for each in found.hypotheses
                if each.text in answers.targets(source)
            ]
            scores += [round(max(right), _DIGITS)] if right else []
        sets.append(CandidateSets(width, tuple(sorted(scores)), len(sources) - len(scores)))
        if len(scores) == len(sources):
            break
    return tuple(sets)


def fit_abstention(
    chosen: Sequence[Translation], promising: Sequence[Translation], right: Sequence[bool]
) -> Abstention:
    """The promise that errors are rare among confident answers.

    Args:
        chosen: Answers to the pairs that chose the weights, whose confidences are the thresholds.
        promising: Answers to the others.
        right: Whether each of those is right.
    """
    falling = np.sort([each.confidence for each in chosen])[::-1]
    ranks = np.ceil(np.arange(1, THRESHOLDS + 1) / THRESHOLDS * len(falling)).astype(int) - 1
    # Cut off, so that an answer as sure as the last one counts as answered in every artefact.
    thresholds = np.floor(falling[ranks] * 1e4) / 1e4
    confidences, wrong = np.array([each.confidence for each in promising]), ~np.array(right)
    answered = confidences[None] >= thresholds[:, None]
    return Abstention(
        len(promising),
        tuple(thresholds.tolist()),
        tuple(answered.sum(axis=1).tolist()),
        tuple((answered & wrong).sum(axis=1).tolist()),
    )
