"""Answers that are sentences: whether a task has them, and how good each one is.

Hardly any translated sentence equals its reference to the last character, so that exact match tells
neither epochs nor answers apart. What does is chrF (Popović, 2015), of one answer at a time: the
share of character n-grams that answer and reference have in common.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

import numpy as np

from keras_attention.pairs.pair import Pair
from keras_attention.text.tokens import split_tokens

# From this exact match on, answers are told apart by it. Well above what sentences reach, and
# below what a model worth keeping has on words and dates.
ENOUGH_RIGHT = 0.2
SENTENCE = 4  # words of the median target from which on answers count as sentences


def are_sentences(pairs: Sequence[Pair], share_right: float) -> bool:
    """Whether answers are to be judged by their quality, since few can be right as a whole.

    Args:
        pairs: Of the task, at least one.
        share_right: Exact match of a trained model on them.
    """
    words = statistics.median(len(split_tokens(pair.target, "word")) for pair in pairs)
    return share_right < ENOUGH_RIGHT and words >= SENTENCE


def qualities(outputs: Sequence[str], references: Sequence[str]) -> tuple[float, ...]:
    """chrF of each output by itself, from 0 to 1; 1 where it equals its reference.

    Args:
        outputs: What a model answered.
        references: One for each output.

    Raises:
        ValueError: the two differ in number.
    """
    return tuple(
        1.0 if output == reference else min(_sentence_chrf(output, reference), 1.0)
        for output, reference in zip(outputs, references, strict=True)
    )


def _sentence_chrf(output: str, reference: str) -> float:
    return float(_chrf().sentence_score(output, [reference]).score) / 100.0


@functools.cache
def _chrf():
    import sacrebleu  # a command that shows no quality does without

    return sacrebleu.CHRF()


def rank_correlation(scores: Sequence[float], others: Sequence[float]) -> float | None:
    """Spearman's: 1 where both put everything in the same order, equal ones sharing their rank.

    None where one of them has only equal numbers.

    Args:
        scores, others: As many, at least one.

    Raises:
        ValueError: the two differ in number, or there are none.
    """
    if len(scores) != len(others) or not len(scores):
        raise ValueError(
            "scores and others must be as many, and at least one. "
            f"Received: len(scores)={len(scores)}, len(others)={len(others)}"
        )
    first, second = (_ranks(np.asarray(values, np.float64)) for values in (scores, others))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
