"""Measured numbers into a verdict, by one table of thresholds.

First comes a precondition: a map that is the same at every step of every example explains nothing.
Four criteria are about faithfulness: does attention say what the answer came from? Two more are
there with trained baselines. Alignment is about plausibility: it can keep attention from being an
explanation, never make it one, since a picture that pleases people may still be untrue.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from keras_attention.explanation.reporting.estimate import Number

YES, PARTLY, NO, UNDEFINED = "yes", "partly", "no", "undefined"

IS = "attention IS an explanation here"
MIGHT = "attention MIGHT be an explanation here"
IS_NOT = "attention is NOT an explanation here"
UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Criterion:
    """One row of the table.

    Attributes:
        name: Key.
        question: To which "yes" speaks for attention as an explanation.
        measure: What is compared with the thresholds.
        yes, no: Thresholds; between them the outcome is "partly". Where `yes` is above `no`, larger
            is better, else smaller.
        about: "precondition", "faithfulness" or "plausibility".
        why: Why these thresholds.
        limits: What the criterion does not show.
    """

    name: str
    question: str
    measure: str
    yes: float
    no: float
    about: str
    why: str
    limits: str

    def outcome(self, value: float | None) -> str:
        """YES, PARTLY, NO, or UNDEFINED for None. A threshold itself counts as reached."""
        if value is None:
            return UNDEFINED
        sign = 1 if self.yes > self.no else -1
        if sign * value >= sign * self.yes:
            return YES
        return NO if sign * value <= sign * self.no else PARTLY


TABLE = (
    Criterion(
        "dependence",
        "Does the map depend on the step or on the input?",
        "mutual information of step and position, or the divergence between examples at one step, "
        "whichever is larger; in nats",
        0.05,
        0.01,
        "precondition",
        "Below 0.01 nats two maps differ by less than a tenth of their weight: for a reader they "
        "are one map.",
        "A map that moves may still move without a reason; the other criteria are about that.",
    ),
    Criterion(
        "agreement",
        "Does attention rank the source as measures of importance do?",
        "mean Kendall τ-b of attention with gradient, integrated gradients and leave-one-out, "
        "divided by the mean τ among these three",
        0.75,
        0.5,
        "faithfulness",
        "No measure agrees perfectly with another, so τ alone cannot be read; against this "
        "ceiling, published values are about 0.5 (LSTM) and 0.1 (LSTM, dot) for sentiment, 0.9 "
        "without an LSTM.",
        "Ranks count the many unimportant tokens as much as the few important ones, and the "
        "measures of importance have faults of their own.",
    ),
    Criterion(
        "permutation",
        "Do other weights change the answer?",
        "the answer's most sensitive step: median total variation distance under "
        "100 permutations of the weights, averaged over answers",
        0.5,
        0.2,
        "faithfulness",
        "At one half the typical permutation moves most of the probability. Published medians for "
        "sentiment are 0.03 to 0.11, for question answering and medical codes 0.7 to 0.9.",
        "That random weights break an answer does not show that only these weights give it.",
    ),
    Criterion(
        "adversarial",
        "Must the weights be these ones?",
        "largest Jensen-Shannon divergence of weights that keep the output within ε, divided by "
        "the largest that any weights have; mean over steps",
        0.2,
        0.5,
        "faithfulness",
        "Published means for recurrent models are 0.5 to 0.95 of the bound.",
        "Alternatives must be searched for: the model itself does not produce them. Neighbouring "
        "encoder states carry much the same, so weight moved to a neighbour may tell the same "
        "story; the divergence by segment tells these cases apart where there is a gold alignment.",
    ),
    Criterion(
        "erasure",
        "Does the answer need what attention points at?",
        "AOPC comprehensiveness of the most attended tokens minus that of random ones",
        0.2,
        0.05,
        "faithfulness",
        "A difference of 0.2 is a fifth of all probability; below 0.05 pointing is hardly better "
        "than chance.",
        "Sources with erased tokens are unlike any that were trained on.",
    ),
    Criterion(
        "need",
        "Does the task need learned attention?",
        "exact match of the model minus that of the better of two trained with uniform attention "
        "and without attention",
        0.05,
        0.01,
        "faithfulness",
        "Where a model without learned attention does as well, the weights are free to say "
        "anything (Wiegreffe and Pinter 2019).",
        "One training of each: repeat with other seeds before a small difference is believed.",
    ),
    Criterion(
        "seeds",
        "Do trainings from other seeds learn the same attention?",
        "Jensen-Shannon divergence between seeds, divided by the largest that any weights have",
        0.2,
        0.5,
        "faithfulness",
        "The scale of the adversary, whose divergence means little where seeds differ as much.",
        "Few seeds, one recipe.",
    ),
    Criterion(
        "alignment",
        "Does attention point where a person would?",
        "alignment error rate of the best control minus that of the model",
        0.15,
        0.05,
        "plausibility",
        "Wrong attention fits a gold alignment, too, to some degree: only the distance from it "
        "counts.",
        "Pointing at the right place is not proof that the place was used.",
    ),
)


STANDS_STILL = (
    "The map is the same at every step of every example: it depends neither on the step nor on "
    "the input, so it cannot say what an answer came from."
)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A criterion with its measured number and outcome."""

    criterion: Criterion
    number: Number
    outcome: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The judgements, and what follows from them.

    Attributes:
        overall: IS, MIGHT, IS_NOT or UNDECIDED.
        reason: Why, in one or two sentences.
        judgements: One for each criterion that was measured, in the order of TABLE.
    """

    overall: str
    reason: str
    judgements: tuple[Judgement, ...]


# Without these four there is no verdict as a whole.
REQUIRED = ("agreement", "permutation", "adversarial", "erasure")


def judge(numbers: Mapping[str, Number]) -> Verdict:
    """The verdict on measured numbers, by the names of TABLE."""
    judgements = tuple(
        Judgement(row, numbers[row.name], row.outcome(numbers[row.name].value))
        for row in TABLE
        if row.name in numbers
    )
    outcomes = {each.criterion.name: each.outcome for each in judgements}
    if outcomes.get("dependence") == NO:
        return Verdict(IS_NOT, STANDS_STILL, judgements)
    missing = [name for name in REQUIRED if name not in outcomes]
    if missing:
        return Verdict(UNDECIDED, f"Not measured: {', '.join(missing)}.", judgements)
    faithful = {
        each.criterion.name: each.outcome
        for each in judgements
        if each.criterion.about == "faithfulness" and each.outcome != UNDEFINED
    }
    if not faithful:
        return Verdict(UNDECIDED, "Every criterion is undefined on these examples.", judgements)
    if all(outcome == NO for outcome in faithful.values()):
        return Verdict(
            IS_NOT, f"No criterion of faithfulness holds: {_listed(faithful)}.", judgements
        )
    if all(outcome == YES for outcome in faithful.values()):
        if outcomes.get("alignment") == NO:
            reason = "Every criterion of faithfulness holds, but attention points elsewhere than "
            return Verdict(MIGHT, reason + "people would.", judgements)
        return Verdict(IS, "Every criterion of faithfulness holds.", judgements)
    sides = {
        word: [name for name, outcome in faithful.items() if outcome == kind]
        for word, kind in (("for it", YES), ("against it", NO), ("neither", PARTLY))
    }
    spoken = "; ".join(f"{word}: {_listed(names)}" for word, names in sides.items() if names)
    return Verdict(MIGHT, f"The criteria disagree: {spoken}.", judgements)


def _listed(names) -> str:
    return ", ".join(names)
