"""Do two readers of one model say the same? Texts, scores and attention weights compared."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from keras_attention.readers.translation import Translation

TOLERANCE = 1e-4
# Tokens of a source up to which it holds; of longer ones float32 adds up the rounding of as many
# more steps, so that it grows with their length.
TOLERANCE_LENGTH = 500

# Sources that no training data hold, as people and programs send them. What is not UTF-8 stands
# here as bytes.
HOSTILE_SOURCES: tuple[str | bytes, ...] = (
    "",
    " ",
    "1",
    "\0",
    "1\x002",
    "\0\0",
    "ग़ाज़ियाबाद 14 मई",
    "👩🏽‍🚀👨‍👩‍👧‍👦 1.1.01",
    "2003\u1102\u1167\u11ab 3\u110b\u116f\u11af 25\u110b\u1175\u11af",  # decomposed Hangul
    "\u200f12/31/99\u200e",
    "\u202e1994-09-27\u202c",
    "a" * 2000,
    "12/31/99 " * 200,
    "\ufeff1 May 2001",
    "\tMay\n1,\r2001\x0b",
    b"\xff\xfe",
    b"May 1, 20\xc3",
    b"\xed\xa0\x80 \xf8\x88\x80\x80\x80",
)


@dataclasses.dataclass(frozen=True)
class Parity:
    """How far translations are from their reference.

    Attributes:
        n: Compared texts.
        same_text: How many of them agree to the last character.
        score_difference: Largest difference of `log_probability`, in nats, or of `confidence` where
            the texts agree.
        attention_difference: Largest difference of any attention weight where the texts agree.
        first_difference: The first source whose text, score or weights differ beyond the
            tolerance, or are no numbers, with what both say; empty if there is none.
    """

    n: int
    same_text: int
    score_difference: float
    attention_difference: float
    first_difference: str

    @property
    def holds(self) -> bool:
        """Whether all texts are equal and all numbers within `TOLERANCE`, see there."""
        return not self.first_difference


def compare(reference: Sequence[Translation], other: Sequence[Translation]) -> Parity:
    """Compares translations of the same sources, with all their alternatives.

    Raises:
        ValueError: the two differ in number.
    """
    if len(reference) != len(other):
        raise ValueError(
            "reference and other must be as many. "
            f"Received: len(reference)={len(reference)}, len(other)={len(other)}"
        )
    same = 0
    largest = {"score": 0.0, "attention": 0.0}
    first = ""
    for ours, theirs in zip(reference, other, strict=True):
        differences = _differences(ours, theirs)
        if differences is not None:
            same += 1
            for name, value in differences.items():
                largest[name] = float(np.maximum(largest[name], value))  # keeps a NaN
        allowed = TOLERANCE * max(1.0, len(ours.source_tokens) / TOLERANCE_LENGTH)
        agree = differences is not None and all(d <= allowed for d in differences.values())
        if not first and not agree:
            first = (
                f"{''.join(ours.source_tokens)[:60]!r}: {ours.text!r} ({ours.log_probability:.6f}) "
                f"against {theirs.text!r} ({theirs.log_probability:.6f})"
            )
    return Parity(len(reference), same, largest["score"], largest["attention"], first)


def _differences(ours: Translation, theirs: Translation) -> dict[str, float] | None:
    """Largest differences over all hypotheses; None where texts, numbers of them or shapes differ.

    A difference is NaN where one of the two is.
    """
    pairs = list(zip((ours, *ours.alternatives), (theirs, *theirs.alternatives), strict=False))
    same_count = len(ours.alternatives) == len(theirs.alternatives)
    if not same_count or any(_outline(a) != _outline(b) for a, b in pairs):
        return None
    scores = [np.subtract(_scores(a), _scores(b)) for a, b in pairs]
    weights = [
        np.subtract(a.attention_weights, b.attention_weights).ravel()
        for a, b in pairs
        if a.attention_weights is not None and b.attention_weights is not None
    ]
    return {
        "score": float(np.abs(scores).max()),
        "attention": float(np.abs(np.concatenate([[0.0], *weights])).max()),
    }


def _outline(translation: Translation) -> tuple:
    """All that must be equal to the last bit."""
    weights = translation.attention_weights
    shape = weights is not None and weights.shape
    return translation.text, translation.from_exceptions, shape


def _scores(translation: Translation) -> tuple[float, float]:
    return translation.log_probability, translation.confidence


def milliseconds_per_call(call: Callable[[], object], calls: int = 50) -> float:
    """Median time of one call, after a warm-up."""
    for _ in range(3):
        call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)
