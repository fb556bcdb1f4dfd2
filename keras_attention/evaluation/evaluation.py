"""How good a model is: real decoding of strings against their references."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from keras_attention.engine.calibration import MEANINGS, Calibration, Meaning, reservation
from keras_attention.evaluation.attention_spread import AttentionSpread, attention_spread
from keras_attention.evaluation.calibration_fit import fit
from keras_attention.evaluation.confidence import (
    BINS,
    CoveragePoint,
    accuracy_coverage,
    auroc,
    expected_calibration_error,
)
from keras_attention.evaluation.metrics import edit_distance, exact_match, token_error_rate
from keras_attention.evaluation.sentences import qualities, rank_correlation
from keras_attention.evaluation.translation_quality import score
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator
from keras_attention.text.tokens import VocabularyKind, counted_tokens

# Upper bounds of source lengths in tokens; the last slice is open.
LENGTH_BOUNDS = (*range(5, 65, 5), 80, 100, 150, 200)


@dataclasses.dataclass(frozen=True)
class LengthSlice:
    """The pairs whose sources have `shortest` to `longest` tokens."""

    shortest: int
    longest: int
    n: int
    exact_match: float


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a model made of some pairs.

    Attributes:
        n: Number of pairs.
        exact_match: Share of outputs equal to a target of their source to the last character.
        token_error_rate: Edits per target token; of several targets, from the nearest. Words are
            counted where tokens are subwords, so that models can be compared.
        by_length: The same exact match in slices of the source's length.
        calibration_error: See `confidence.expected_calibration_error`.
        auroc: Of the confidence, right against wrong; None where all are right or all wrong.
        coverage: Exact match among the surest answers, by how many are given, and their quality
            where confidence is of it.
        right: Whether each output equals a target of its source, in the order of the pairs.
        translations: The outputs, in the order of the pairs.
        sources_with_several: Sources that stand in the pairs with several targets.
        own_target_match: Share of outputs equal to the target of their own pair.
        own_target_ceiling: The most that `own_target_match` can be: one answer a source.
        references: The target of each pair, which BLEU and chrF compare with.
        edits, reference_lengths: Of each pair, what the token error rate adds up.
        nearest: Of each source's targets the one with the fewest edits from the output.
        confidence_means: What the model's confidence is, a key of `calibration.MEANINGS`.
        qualities: Of each answer, where that is its expected quality; see `sentences.qualities`.
    """

    n: int
    exact_match: float
    token_error_rate: float
    by_length: tuple[LengthSlice, ...]
    calibration_error: float
    auroc: float | None
    coverage: tuple[CoveragePoint, ...]
    right: tuple[bool, ...]
    translations: tuple[Translation, ...]
    sources_with_several: int = 0
    own_target_match: float | None = None
    own_target_ceiling: float = 1.0
    references: tuple[str, ...] = ()
    edits: tuple[int, ...] = ()
    reference_lengths: tuple[int, ...] = ()
    nearest: tuple[str, ...] = ()
    confidence_means: Meaning = "right"
    qualities: tuple[float, ...] = ()

    def summary(self, sentences: bool = False) -> dict:
        """The figures that `metrics.json` holds for a data set; with BLEU and chrF of sentences."""
        figures = {
            "exact_match": self.exact_match,
            "token_error_rate": self.token_error_rate,
            "n": self.n,
        }
        return figures | ({"bleu": self.bleu(), "chrf": self.chrf()} if sentences else {})

    def to_dict(self) -> dict:
        """All figures, without the translations."""
        return self.summary() | {
            "by_length": [dataclasses.asdict(part) for part in self.by_length],
            "expected_calibration_error": self.calibration_error,
            "calibration_reservation": self.reservation,
            "confidence": MEANINGS[self.confidence_means],
            "auroc": self.auroc,
            "rank_correlation": self.rank_correlation,
            "coverage": [dataclasses.asdict(point) for point in self.coverage],
            "sources_with_several_targets": self.sources_with_several,
            "own_target_match": self.own_target_match,
            "own_target_ceiling": self.own_target_ceiling,
        }

    @property
    def reservation(self) -> str | None:
        """Why the figures of confidence say little here; None where they do."""
        return reservation(self.n, self.right.count(False), self.confidence_means)

    @property
    def rank_correlation(self) -> float | None:
        """Of confidence and quality, Spearman's; None where confidence is not of quality."""
        sure = [each.confidence for each in self.translations]
        return rank_correlation(sure, self.qualities) if self.qualities else None

    def bleu(self) -> float:
        """BLEU of the outputs, each against the target of its own pair, 0 to 100."""
        return score("bleu", [each.text for each in self.translations], self.references)

    def chrf(self) -> float:
        """chrF of the outputs, each against the target of its own pair, 0 to 100."""
        return score("chrf", [each.text for each in self.translations], self.references)

    def attention_spread(self) -> AttentionSpread | None:
        """How much attention moves; None for a model without attention."""
        return attention_spread(each.attention_weights for each in self.translations)

    def fit_calibration(self, meaning: Meaning = "right") -> Calibration:
        """The map from log-probability to confidence that fits these outputs best.

        Args:
            meaning: What the confidence is to be, a key of `calibration.MEANINGS`.
        """
        outputs = [translation.text for translation in self.translations]
        return fit(
            [translation.log_probability for translation in self.translations],
            [len(translation.target_tokens) for translation in self.translations],
            self.right if meaning == "right" else qualities(outputs, self.references),
            meaning,
        )

    def to_text(self) -> str:
        """All figures as lines for people."""
        lines = [
            f"exact match: {self.exact_match:.4f} (n={self.n})",
            *self._several_text(),
            f"token error rate: {self.token_error_rate:.4f}",
            "exact match by source length:",
        ]
        lines += [
            f"  {part.shortest:>4} to {part.longest:>4}: {part.exact_match:.4f} (n={part.n})"
            for part in self.by_length
        ]
        lines.append(f"confidence: {MEANINGS[self.confidence_means]}")
        lines.append(f"expected calibration error ({BINS} bins): {self.calibration_error:.4f}")
        if self.reservation is not None:
            lines.append(f"  says little: {self.reservation}")
        return "\n".join([*lines, *self._confidence_text()])

    def _confidence_text(self) -> list[str]:
        lines = []
        if not self.qualities:
            if self.auroc is not None:
                lines.append(f"AUROC of the confidence, right against wrong: {self.auroc:.4f}")
            lines.append("exact match of the surest answers:")
        else:
            if self.rank_correlation is not None:
                shown = f"{self.rank_correlation:.4f}"
                lines.append(f"rank correlation of confidence and chrF (Spearman): {shown}")
            lines.append("mean chrF of the surest answers, and the risk, which is 1 minus it:")
        for point in self.coverage:
            if point.quality is None:
                found = f"{point.exact_match:.4f}"
            else:
                found = f"{point.quality:.4f}, risk {1 - point.quality:.4f}"
            lines.append(
                f"  {point.coverage:>5.1%} with confidence of at least "
                f"{point.min_confidence:.4f}: {found}"
            )
        return lines

    def _several_text(self) -> list[str]:
        if not self.sources_with_several:
            return []
        count = self.sources_with_several
        sources = "1 source has" if count == 1 else f"{count:,} sources have"
        return [
            f"  {sources} several targets, and an answer is right if it is one of them; it is the "
            f"line's own in {self.own_target_match:.4f}, which for any model is at most "
            f"{self.own_target_ceiling:.4f}"
        ]


def evaluate(
    translator: Translator,
    pairs: Sequence[Pair],
    beam_width: int = 1,
    length_penalty: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Translates all sources and compares with the targets; no target is shown to the model.

    Where a source stands in several pairs, an output is right if it is the target of one of them.

    Args:
        translator: A run, an export or a `.tflite` file, loaded.
        pairs: Sources and targets; at least one.
        beam_width: Hypotheses kept at each step; 1 decodes greedily.
        length_penalty, progress: As for `Translator.translate`.
    """
    sources = [pair.source for pair in pairs]
    translations = translator.translate(sources, beam_width, length_penalty, progress)
    answers = Answers(pairs)
    outputs = [translation.text for translation in translations]
    references = [
        _nearest(translation, pair, answers, translator.target_kind)
        for translation, pair in zip(translations, pairs, strict=True)
    ]
    counted = [_counted(translation, translator.target_kind) for translation in translations]
    expected = [counted_tokens(reference, translator.target_kind) for reference in references]
    confidences = [translation.confidence for translation in translations]
    right = tuple(a == b for a, b in zip(outputs, references, strict=True))
    means = translator.confidence_means
    worth = qualities(outputs, references) if means == "quality" else ()
    return Evaluation(
        n=len(pairs),
        exact_match=exact_match(outputs, references),
        token_error_rate=token_error_rate(counted, expected),
        edits=tuple(map(edit_distance, counted, expected)),
        reference_lengths=tuple(map(len, expected)),
        nearest=tuple(references),
        by_length=_by_length(translations, outputs, references),
        calibration_error=expected_calibration_error(confidences, worth or right),
        auroc=auroc(confidences, right),
        coverage=accuracy_coverage(confidences, right, qualities=worth),
        confidence_means=means,
        qualities=worth,
        right=right,
        translations=tuple(translations),
        sources_with_several=answers.sources_with_several,
        own_target_match=exact_match(outputs, [pair.target for pair in pairs]),
        own_target_ceiling=answers.ceiling,
        references=tuple(pair.target for pair in pairs),
    )


def _counted(translation: Translation, kind: VocabularyKind) -> Sequence[str]:
    """What the token error rate counts of an output."""
    if kind != "subword":
        return translation.target_tokens
    return counted_tokens(translation.text, kind)


def _nearest(translation: Translation, pair: Pair, answers: Answers, kind: VocabularyKind) -> str:
    """Of a source's targets the one with the fewest edits from the output, its own among equals."""
    targets = answers.targets(pair.source)
    if len(targets) == 1 or translation.text == pair.target:
        return pair.target
    if translation.text in targets:
        return translation.text

    def edits(target: str) -> tuple[int, bool]:
        distance = edit_distance(_counted(translation, kind), counted_tokens(target, kind))
        return distance, target != pair.target

    return min(targets, key=edits)


def _by_length(translations, outputs, references) -> tuple[LengthSlice, ...]:
    slices = []
    shortest = 0
    for bound in (*LENGTH_BOUNDS, None):
        rows = [
            row
            for row, translation in enumerate(translations)
            if len(translation.source_tokens) >= shortest
            and (bound is None or len(translation.source_tokens) <= bound)
        ]
        if rows:
            lengths = [len(translations[row].source_tokens) for row in rows]
            slices.append(
                LengthSlice(
                    min(lengths),
                    max(lengths),
                    len(rows),
                    exact_match([outputs[r] for r in rows], [references[r] for r in rows]),
                )
            )
        if bound is not None:
            shortest = bound + 1
    return tuple(slices)
