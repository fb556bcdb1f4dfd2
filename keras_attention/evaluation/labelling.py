"""Sources without a target into training pairs: the answers that a model is sure of.

Self-training (Yarowsky, 1995) learns from them what few labelled pairs do not show; with an
ensemble for a teacher it is distillation at the level of sequences (Kim and Rush, 2016).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import twin_key
from keras_attention.readers.translator import Translator


@dataclasses.dataclass(frozen=True)
class Labelled:
    """What became of the sources.

    Attributes:
        pairs: Source, answer and confidence of each that is kept, in the order of the sources.
        sources: How many there were.
        repeated: Left out, since a source before differs from it in case, spaces or the form of
            characters only, or in nothing.
        withheld: Left out, since such a twin is among the sources that were to be left out.
        unknown: Left out, since they hold a token that the model was not trained on: its
            confidence says nothing about them.
        unsure: Left out, since the confidence is too low.
        empty: Left out, since the answer is empty, which no pair may be.
    """

    pairs: list[Pair]
    sources: int
    repeated: int
    withheld: int
    unknown: int
    unsure: int
    empty: int

    def to_text(self) -> str:
        """One line of counts."""
        left_out = {
            "repeated": self.repeated,
            "kept for validation, test or by --without": self.withheld,
            "with unknown tokens": self.unknown,
            "too unsure": self.unsure,
            "without an answer": self.empty,
        }
        told = ", ".join(f"{count:,} {why}" for why, count in left_out.items() if count)
        pairs = "pair" if len(self.pairs) == 1 else "pairs"
        sources = "source" if self.sources == 1 else "sources"
        return f"{len(self.pairs):,} {pairs} of {self.sources:,} {sources}" + (
            f"; left out: {told}" if told else ""
        )


def label(
    translator: Translator,
    sources: Sequence[str],
    min_confidence: float,
    withheld: Iterable[str] = (),
    beam_width: int = 1,
) -> Labelled:
    """Translates sources and keeps the answers that the model is sure of.

    Args:
        translator: The teacher.
        sources: Texts without a tab or a line feed.
        min_confidence: The least confidence of a pair, from 0 to 1.
        withheld: Sources that must not become training pairs, such as those of validation and
            test; neither must their twins, see `pairs.splits.twin_key`.
        beam_width: Of the search.
    """
    hidden = set(map(twin_key, withheld))
    seen: set[str] = set()
    asked: list[str] = []
    repeated = kept_away = 0
    for source in sources:
        key = twin_key(source)
        if key in hidden:
            kept_away += 1
        elif key in seen:
            repeated += 1
        else:
            asked.append(source)
        seen.add(key)
    known = _known(translator, asked)
    answers = translator.translate(known, beam_width)
    pairs, unsure, empty = [], 0, 0
    for source, answer in zip(known, answers, strict=True):
        if not answer.text.strip():
            empty += 1
        elif answer.confidence < min_confidence:
            unsure += 1
        else:
            pairs.append(Pair(source, answer.text, confidence=answer.confidence))
    counts = repeated, kept_away, len(asked) - len(known), unsure, empty
    return Labelled(pairs, len(sources), *counts)


def _known(translator: Translator, sources: list[str]) -> list[str]:
    """The sources all of whose tokens the model knows, where the model can tell."""
    vocabulary = translator.source_vocabulary
    if vocabulary is None:
        return sources
    known = set(vocabulary.tokens)
    return [source for source in sources if known.issuperset(vocabulary.split(source))]
