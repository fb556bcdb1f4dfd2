"""Whether promises hold on pairs that nothing was fitted on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras_attention.engine.guarantees import lower_bound, upper_bound
from keras_attention.errors import UserError
from keras_attention.evaluation.evaluation import LENGTH_BOUNDS, Evaluation
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import AnswerSet, Translation
from keras_attention.readers.translator import Translator

COVERAGES = (0.9, 0.95, 0.99)
MOST_WRONG = 0.01
CONFIDENCE_BOUNDS = (0.5, 0.9, 0.99, 1.0)


@dataclasses.dataclass(frozen=True)
class HeldPart:
    """The sets of some sources.

    Attributes:
        name: Which sources.
        n: How many.
        held: Share whose set holds a right answer.
        low, high: What the share is at least and at most, each with confidence 0.95.
        mean_size: Answers in a set.
    """

    name: str
    n: int
    held: float
    low: float
    high: float
    mean_size: float


@dataclasses.dataclass(frozen=True)
class MeasuredSets:
    """The sets of one coverage, measured.

    Attributes:
        coverage: What was asked for.
        promised: What was promised, see `translation.AnswerSet`.
        all: All sources.
        by_length, by_confidence: Parts of them: a promise is about all, and may fail for a part.
    """

    coverage: float
    promised: float
    all: HeldPart
    by_length: tuple[HeldPart, ...]
    by_confidence: tuple[HeldPart, ...]

    def to_text(self) -> str:
        """Lines for people."""
        asked = f"sets of coverage {self.coverage:g}"
        if self.promised < self.coverage:
            asked += f" (only {self.promised:.4f} can be promised)"
        lines = [f"{asked}: {_text(self.all)}"]
        for title, parts in (("length", self.by_length), ("confidence", self.by_confidence)):
            lines += [f"  {title} {part.name}: {_text(part)}" for part in parts]
        return "\n".join(lines)


def measure_sets(translator: Translator, pairs: Sequence[Pair], coverage: float) -> MeasuredSets:
    """How often sets hold a right answer, and how large they are.

    Args:
        translator: Of a run or an export with promises.
        pairs: That nothing was fitted on; at least one.
        coverage: What is asked for.

    Raises:
        UserError: there is no such promise.
    """
    answers = Answers(pairs)
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    found = translator.translate(sources, coverage=coverage)
    rows = []
    for source, each in zip(sources, found, strict=True):
        texts = _set_of(each).texts
        held = any(text in answers.targets(source) for text in texts)
        rows.append((len(each.source_tokens), each.confidence, held, len(texts)))
    return MeasuredSets(
        coverage,
        _set_of(found[0]).promised,
        _part("all", rows),
        _parts(rows, 0, [bound for bound in LENGTH_BOUNDS if bound % 10 == 0]),
        _parts(rows, 1, CONFIDENCE_BOUNDS),
    )


def measured_promises(
    translator: Translator, pairs: Sequence[Pair], test: Evaluation, most: int
) -> dict:
    """What `metrics.json` holds of promises; empty where the model makes none.

    Args:
        translator: Of the trained model.
        pairs: The test pairs, of which the first `most` are searched with a beam.
        test: What the model makes of all of them.
        most: See above.
    """
    found: dict = {}
    try:
        found["sets"] = [
            {
                "coverage": sets.coverage,
                "promised": round(sets.promised, 4),
                "held": round(sets.all.held, 4),
                "mean_size": round(sets.all.mean_size, 3),
                "n": sets.all.n,
            }
            for sets in (measure_sets(translator, pairs[:most], each) for each in COVERAGES)
        ]
        least = translator.confidence_for(MOST_WRONG)
    except UserError:  # no promise of the one kind, or of either
        return found
    return found | {"abstention": abstention(test, least, MOST_WRONG)}


def abstention(test: Evaluation, least: float, most_wrong: float) -> dict:
    """How many answers are at least so confident, and how many of those are wrong."""
    given = [
        right
        for each, right in zip(test.translations, test.right, strict=True)
        if each.confidence >= least
    ]
    wrong = given.count(False)
    return {
        "most_wrong": most_wrong,
        "min_confidence": least,
        "answered": len(given) / test.n,
        "wrong": wrong / len(given) if given else 0.0,
        "wrong_at_most": upper_bound(wrong, len(given)),
    }


def _parts(rows: Sequence[tuple], column: int, bounds: Sequence[float]) -> tuple[HeldPart, ...]:
    parts, low = [], None
    for bound in (*bounds, None):
        inside = [
            row
            for row in rows
            if (low is None or row[column] > low) and (bound is None or row[column] <= bound)
        ]
        if inside:
            name = f"above {low:g}" if bound is None else f"up to {bound:g}"
            parts.append(_part(name, inside))
        low = bound
    return tuple(parts)


def _part(name: str, rows: Sequence[tuple]) -> HeldPart:
    held, n = sum(row[2] for row in rows), len(rows)
    low, high = lower_bound(held, n), upper_bound(held, n)
    return HeldPart(name, n, held / n, low, high, sum(row[3] for row in rows) / n)


def _text(part: HeldPart) -> str:
    return (
        f"{part.held:.4f} hold the right answer [{part.low:.4f}, {part.high:.4f}], "
        f"{part.mean_size:.2f} answers each (n={part.n})"
    )


def _set_of(translation: Translation) -> AnswerSet:
    if translation.answer_set is None:
        raise ValueError("a translator that was asked for sets gave none")
    return translation.answer_set
