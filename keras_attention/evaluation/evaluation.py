"""How good a model is: real decoding of strings against their references."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras_attention.evaluation.calibration_fit import fit
from keras_attention.evaluation.confidence import (
    BINS,
    CoveragePoint,
    accuracy_coverage,
    auroc,
    expected_calibration_error,
)
from keras_attention.evaluation.metrics import exact_match, token_error_rate
from keras_attention.pairs.pair import Pair
from keras_attention.readers.calibration import Calibration
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator
from keras_attention.text.tokens import split_tokens

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
        exact_match: Share of outputs equal to their target to the last character.
        token_error_rate: Edits per target token.
        by_length: The same exact match in slices of the source's length.
        calibration_error: See `confidence.expected_calibration_error`.
        auroc: Of the confidence, right against wrong; None where all are right or all wrong.
        coverage: Exact match among the surest answers, by how many are given.
        right: Whether each output equals its target, in the order of the pairs.
        translations: The outputs, in the order of the pairs.
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

    def summary(self) -> dict:
        """The three figures that `metrics.json` holds for a data set."""
        return {
            "exact_match": self.exact_match,
            "token_error_rate": self.token_error_rate,
            "n": self.n,
        }

    def to_dict(self) -> dict:
        """All figures, without the translations."""
        return self.summary() | {
            "by_length": [dataclasses.asdict(part) for part in self.by_length],
            "expected_calibration_error": self.calibration_error,
            "auroc": self.auroc,
            "coverage": [dataclasses.asdict(point) for point in self.coverage],
        }

    def fit_calibration(self) -> Calibration:
        """The map from log-probability to confidence that fits these outputs best."""
        return fit(
            [translation.log_probability for translation in self.translations],
            [len(translation.target_tokens) for translation in self.translations],
            self.right,
        )

    def to_text(self) -> str:
        """All figures as lines for people."""
        lines = [
            f"exact match: {self.exact_match:.4f} (n={self.n})",
            f"token error rate: {self.token_error_rate:.4f}",
            "exact match by source length:",
        ]
        lines += [
            f"  {part.shortest:>4} to {part.longest:>4}: {part.exact_match:.4f} (n={part.n})"
            for part in self.by_length
        ]
        lines.append(f"expected calibration error ({BINS} bins): {self.calibration_error:.4f}")
        if self.auroc is not None:
            lines.append(f"AUROC of the confidence, right against wrong: {self.auroc:.4f}")
        lines.append("exact match of the surest answers:")
        lines += [
            f"  {point.coverage:>5.1%} with confidence of at least {point.min_confidence:.4f}: "
            f"{point.exact_match:.4f}"
            for point in self.coverage
        ]
        return "\n".join(lines)


def evaluate(translator: Translator, pairs: Sequence[Pair], beam_width: int = 1) -> Evaluation:
    """Translates all sources and compares with the targets; no target is shown to the model."""
    translations = translator.translate([pair.source for pair in pairs], beam_width)
    outputs = [translation.text for translation in translations]
    references = [pair.target for pair in pairs]
    confidences = [translation.confidence for translation in translations]
    right = tuple(a == b for a, b in zip(outputs, references, strict=True))
    return Evaluation(
        n=len(pairs),
        exact_match=exact_match(outputs, references),
        token_error_rate=token_error_rate(
            [translation.target_tokens for translation in translations],
            [split_tokens(reference, translator.target_kind) for reference in references],
        ),
        by_length=_by_length(translations, outputs, references),
        calibration_error=expected_calibration_error(confidences, right),
        auroc=auroc(confidences, right),
        coverage=accuracy_coverage(confidences, right),
        right=right,
        translations=tuple(translations),
    )


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
