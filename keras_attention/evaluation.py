"""How good a model is: real decoding of strings against their references."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras_attention.data import Pair, split_tokens
from keras_attention.metrics import exact_match, token_error_rate
from keras_attention.translation import Translation
from keras_attention.translator import Translator

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
        translations: The outputs, in the order of the pairs.
    """

    n: int
    exact_match: float
    token_error_rate: float
    by_length: tuple[LengthSlice, ...]
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
        return self.summary() | {"by_length": [dataclasses.asdict(part) for part in self.by_length]}

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
        return "\n".join(lines)


def evaluate(translator: Translator, pairs: Sequence[Pair], beam_width: int = 1) -> Evaluation:
    """Translates all sources and compares with the targets; no target is shown to the model."""
    translations = translator.translate([pair.source for pair in pairs], beam_width)
    outputs = [translation.text for translation in translations]
    references = [pair.target for pair in pairs]
    return Evaluation(
        n=len(pairs),
        exact_match=exact_match(outputs, references),
        token_error_rate=token_error_rate(
            [translation.target_tokens for translation in translations],
            [split_tokens(reference, translator.target_kind) for reference in references],
        ),
        by_length=_by_length(translations, outputs, references),
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
