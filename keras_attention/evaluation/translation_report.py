"""What translators measure of a model: figures with intervals, alone or against another model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras_attention.evaluation import bootstrap
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.evaluation.translation_quality import METRICS, Quality, quality

NAMES = {"bleu": "BLEU", "chrf": "chrF"}
SHARES = {"exact_match": "exact match", "token_error_rate": "token error rate"}


@dataclasses.dataclass(frozen=True)
class TranslationReport:
    """Figures of one model, each with an interval of 95 %.

    Attributes:
        qualities: BLEU and chrF by name, beside those of the other model where there is one.
        intervals: Exact match and token error rate by name.
        differences: The same two, minus the other model's; empty without one.
    """

    qualities: dict[str, Quality]
    intervals: dict[str, bootstrap.Interval]
    differences: dict[str, bootstrap.Difference]

    @classmethod
    def of(cls, evaluation: Evaluation, other: Evaluation | None = None) -> TranslationReport:
        """The report of an evaluation; `other` is another model's, on the same pairs.

        Raises:
            ValueError: the two are not of the same pairs.
        """
        if other is not None and other.references != evaluation.references:
            raise ValueError(
                "evaluation and other must be of the same pairs. "
                f"Received: evaluation.n={evaluation.n}, other.n={other.n}"
            )
        outputs, references = _texts(evaluation), evaluation.references
        others = None if other is None else _texts(other)
        parts = {name: _parts(evaluation, name) for name in SHARES}
        differences = {}
        if other is not None:
            # A model's nearest targets, and so their lengths, may be others than its rival's.
            differences["exact_match"] = bootstrap.difference(
                parts["exact_match"][0], _parts(other, "exact_match")[0], parts["exact_match"][1]
            )
            if other.reference_lengths == evaluation.reference_lengths:
                differences["token_error_rate"] = bootstrap.difference(
                    evaluation.edits, other.edits, evaluation.reference_lengths
                )
        return cls(
            {metric: quality(metric, outputs, references, others) for metric in METRICS},
            {name: bootstrap.ratio(*part) for name, part in parts.items()},
            differences,
        )

    def to_dict(self) -> dict:
        """All figures, by name."""
        found = {name: dataclasses.asdict(each) for name, each in self.qualities.items()}
        if not self.differences:
            for figures in found.values():
                del figures["other"], figures["p_value"]
        return found | {
            "intervals": {name: dataclasses.asdict(each) for name, each in self.intervals.items()},
            "against": {name: dataclasses.asdict(each) for name, each in self.differences.items()},
        }

    def to_text(self) -> str:
        """All figures as lines for people."""
        lines = []
        for name, each in self.qualities.items():
            lines.append(f"{NAMES[name]}: {each.score:.1f} [{each.low:.1f}, {each.high:.1f}]")
            if each.other is not None:
                lines.append(
                    f"  the other model: {each.other:.1f}; difference "
                    f"{each.score - each.other:+.1f}, p = {each.p_value:.3f}"
                )
            lines.append(f"  {each.signature}")
        for name, interval in self.intervals.items():
            lines.append(f"{SHARES[name]}: [{interval.low:.4f}, {interval.high:.4f}]")
            if name in self.differences:
                found = self.differences[name]
                lines.append(
                    f"  minus the other model's: {found.value:+.4f} "
                    f"[{found.low:+.4f}, {found.high:+.4f}], p = {found.p_value:.3f}"
                )
        lines.append("in brackets: 95 % of 1,000 bootstrap samples of the pairs")
        return "\n".join(lines)


def _texts(evaluation: Evaluation) -> list[str]:
    return [each.text for each in evaluation.translations]


def _parts(evaluation: Evaluation, name: str) -> tuple[Sequence[float], Sequence[float]]:
    """Of each pair the part and the whole of a share."""
    if name == "exact_match":
        return evaluation.right, [1] * evaluation.n
    return evaluation.edits, evaluation.reference_lengths
