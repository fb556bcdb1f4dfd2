"""An old model and the one that is to replace it: what gets better, what worse, what is chance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from keras_attention.evaluation import bootstrap
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.pairs.pair import Pair

# Below it a difference counts as more than chance.
SIGNIFICANT = 0.05
# Changed answers that the text shows of a kind; JSON has all.
SHOWN = 10

_KINDS = ("broken", "fixed", "other")


@dataclasses.dataclass(frozen=True)
class ChangedAnswer:
    """One source that the two models answer differently.

    Attributes:
        source, target: The pair.
        old, new: The answers.
        kind: "fixed" (only the new one is right), "broken" (only the old one), or "other".
    """

    source: str
    target: str
    old: str
    new: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Change:
    """What replacing one model by another changes, on the same pairs.

    Attributes:
        n: Number of pairs.
        exact_match: Of the old model and of the new one.
        token_error_rate: Likewise.
        exact_match_p: How often chance alone would divide the answers that only one of the two has
            right at least as unevenly: McNemar's test in its exact form, two-sided.
        token_error_rate_p: See `bootstrap.Difference`; None where the two are measured against
            other references, since a source has several.
        changed: All answers that differ.
    """

    n: int
    exact_match: tuple[float, float]
    token_error_rate: tuple[float, float]
    exact_match_p: float
    token_error_rate_p: float | None
    changed: tuple[ChangedAnswer, ...]

    @classmethod
    def of(cls, pairs: Sequence[Pair], old: Evaluation, new: Evaluation) -> Change:
        """Compares two evaluations of the same pairs.

        Args:
            pairs: What both were evaluated on.
            old: Of the version that is published.
            new: Of the one that may replace it.

        Raises:
            ValueError: they are not of these pairs.
        """
        targets = tuple(pair.target for pair in pairs)
        if not targets == old.references == new.references:
            raise ValueError(
                "old and new must be evaluations of pairs. "
                f"Received: {len(pairs)} pairs, old.n={old.n}, new.n={new.n}"
            )
        changed = tuple(
            ChangedAnswer(pair.source, pair.target, before.text, after.text, _kind(was, now))
            for pair, before, after, was, now in zip(
                pairs, old.translations, new.translations, old.right, new.right, strict=True
            )
            if before.text != after.text
        )
        error_p = None
        if old.reference_lengths == new.reference_lengths:
            found = bootstrap.difference(new.edits, old.edits, new.reference_lengths)
            error_p = found.p_value if found.value else 1.0
        counts = [sum(each.kind == kind for each in changed) for kind in ("broken", "fixed")]
        return cls(
            len(pairs),
            (old.exact_match, new.exact_match),
            (old.token_error_rate, new.token_error_rate),
            mcnemar(*counts),
            error_p,
            changed,
        )

    @property
    def worse(self) -> tuple[str, ...]:
        """The figures by which the new model is significantly worse."""
        found = []
        if self.exact_match[1] < self.exact_match[0] and self.exact_match_p < SIGNIFICANT:
            found.append("exact match")
        error_p = self.token_error_rate_p
        if self.token_error_rate[1] > self.token_error_rate[0]:
            if error_p is not None and error_p < SIGNIFICANT:
                found.append("token error rate")
        return tuple(found)

    def count(self, kind: str) -> int:
        """How many answers changed in one way.

        Args:
            kind: "fixed", "broken" or "other".
        """
        return sum(each.kind == kind for each in self.changed)

    def to_dict(self) -> dict:
        """All of it, by name."""
        return dataclasses.asdict(self) | {
            "worse": list(self.worse),
            "counts": {kind: self.count(kind) for kind in _KINDS},
            "significant_below": SIGNIFICANT,
        }

    def to_text(self) -> str:
        """Figures and some of the changed answers, as lines for people."""
        lines = [f"old and new on {self.n} pairs"]
        rows = (
            ("exact match", self.exact_match, self.exact_match_p, "McNemar's exact test"),
            ("token error rate", self.token_error_rate, self.token_error_rate_p, "bootstrap"),
        )
        for name, (old, new), p_value, test in rows:
            chance = "" if p_value is None else f", p = {p_value:.3g} ({test})"
            lines.append(f"{name}: {old:.4f} → {new:.4f} ({new - old:+.4f}{chance})")
        lines.append(
            f"answers that changed: {len(self.changed)} (fixed {self.count('fixed')}, broken "
            f"{self.count('broken')}, wrong in another way {self.count('other')})"
        )
        for kind in _KINDS:
            chosen = [each for each in self.changed if each.kind == kind]
            lines += [
                f"  {kind}: {each.source} → {each.new} (was {each.old}, expected {each.target})"
                for each in chosen[:SHOWN]
            ]
            if len(chosen) > SHOWN:
                lines.append(f"  {kind}: {len(chosen) - SHOWN} more")
        return "\n".join(lines)


def mcnemar(first: int, second: int) -> float:
    """Two-sided p-value of McNemar's test in its exact, binomial form (McNemar, 1947).

    Args:
        first: Pairs that only one model has right.
        second: Pairs that only the other one has right.
    """
    n, least = first + second, min(first, second)
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, 2 * tail / 2**n)


def _kind(was_right: bool, is_right: bool) -> str:
    if was_right == is_right:
        return "other"
    return "fixed" if is_right else "broken"
