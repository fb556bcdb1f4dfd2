"""The result of an audit as one typed object, and as JSON. Knows neither models nor drawing."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from keras_attention.explanation.reporting.estimate import Number
from keras_attention.explanation.reporting.verdict import Verdict

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How values are spread: `counts[i]` of them lie from `edges[i]` to `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    quartiles: tuple[float, float, float] | None  # None where there is no value

    @classmethod
    def of(cls, values: np.ndarray, low: float, high: float, bins: int) -> Histogram:
        """Of all values that are not NaN; what lies outside falls into the outer bins."""
        values = values[~np.isnan(values)]
        edges = np.linspace(low, high, bins + 1)
        counts, _ = np.histogram(np.clip(values, low, high), edges)
        quartiles = None
        if len(values):
            low, middle, high = (round(float(q), 6) for q in np.percentile(values, [25, 50, 75]))
            quartiles = low, middle, high
        return cls(
            tuple(round(float(edge), 6) for edge in edges), tuple(map(int, counts)), quartiles
        )


@dataclasses.dataclass(frozen=True)
class DependenceReport:
    """Before all criteria: do the maps depend on the step or on the input?"""

    varies: Number
    on_step: Number
    on_input: Number
    one_position: Number


@dataclasses.dataclass(frozen=True)
class AgreementReport:
    """Criterion 1. Keys of the dicts are measures, of the ceiling pairs of them."""

    kendall_tau: dict[str, Number]
    top_1: dict[str, Number]
    null_kendall_tau: dict[str, Number]
    null_top_1: dict[str, Number]
    ceiling_kendall_tau: dict[str, Number]
    ceiling_top_1: dict[str, Number]
    undefined: Number
    completeness_error: Number
    relative_to_ceiling: Number
    spread: dict[str, Histogram]


@dataclasses.dataclass(frozen=True)
class InterventionReport:
    """One change of the weights: what it does to single steps, and to whole answers."""

    description: str
    total_variation: Number
    answer_changed: Number
    exact_match: Number


@dataclasses.dataclass(frozen=True)
class WeightBin:
    """Steps whose largest weight lies from `low` to `high`."""

    low: float
    high: float
    median: Number
    spread: Histogram


@dataclasses.dataclass(frozen=True)
class InterventionsReport:
    """Criterion 2, first half."""

    exact_match: Number
    uniform: InterventionReport
    permutation: InterventionReport
    another_example: InterventionReport
    largest_removed: InterventionReport
    random_removed: InterventionReport
    only_largest: InterventionReport
    permutation_median: Number
    permutation_by_largest_weight: tuple[WeightBin, ...]
    permutation_of_answer: Number


@dataclasses.dataclass(frozen=True)
class AdversarialReport:
    """Criterion 2, second half."""

    epsilon: float
    max_jsd: Number
    max_jsd_of_bound: Number
    survives: Number
    bound: Number
    max_jsd_by_segment: Number | None
    spread: Histogram


@dataclasses.dataclass(frozen=True)
class ErasureReport:
    """Keys of the dicts are shares of the tokens, in per cent."""

    aopc_comprehensiveness: Number
    aopc_sufficiency: Number
    random_aopc_comprehensiveness: Number
    random_aopc_sufficiency: Number
    beyond_random: Number
    comprehensiveness: dict[str, Number]
    sufficiency: dict[str, Number]
    random_comprehensiveness: dict[str, Number]
    random_sufficiency: dict[str, Number]


@dataclasses.dataclass(frozen=True)
class ContrastReport:
    """Why this token and not the runner-up."""

    margin: Number
    through_attention: Number
    top_1: Number
    kendall_tau: Number


@dataclasses.dataclass(frozen=True)
class RandomisedReport:
    """The map against that of a model with shuffled weights: it should be another."""

    kendall_tau: Number
    top_1: Number
    divergence: Number


@dataclasses.dataclass(frozen=True)
class StabilityReport:
    """Noise on the embeddings: where the output stays, the map should stay."""

    noise: float
    divergence: Number
    distance: Number
    same_top: Number
    output_stays: Number
    divergence_where_output_stays: Number


@dataclasses.dataclass(frozen=True)
class AlignmentRow:
    """Alignment of one attention, or of one field or group of examples."""

    alignment_error_rate: Number
    precision: Number
    recall: Number
    pointing_accuracy: Number
    pointing_accuracy_within_1: Number
    mass: Number


@dataclasses.dataclass(frozen=True)
class AlignmentReport:
    """Against the gold; all but `monotonicity` is None or empty where there is none."""

    monotonicity: Number
    gold: AlignmentRow | None
    controls: dict[str, Number]
    below_best_control: Number | None
    by_field: dict[str, AlignmentRow]
    by_group: dict[str, AlignmentRow]


@dataclasses.dataclass(frozen=True)
class BaselinesReport:
    """Other models, trained for comparison on the same data by the same recipe."""

    exact_match: Number
    uniform_trained: Number
    no_attention: Number | None  # a classifier has none
    other_seeds: dict[str, Number]
    between_seeds_jsd: Number
    between_seeds_jsd_of_bound: Number
    need: Number
    spread: Histogram


@dataclasses.dataclass(frozen=True)
class PositionRow:
    """One output position over all examples. Numbers of parts that were not measured are None."""

    position: int
    name: str
    largest_weight: Number
    kendall_tau: Number | None
    top_1: Number | None
    permutation: Number | None
    adversarial: Number | None
    comprehensiveness: Number | None
    pointing_accuracy: Number | None


@dataclasses.dataclass(frozen=True)
class ShownExample:
    """One example with the model's attention and the adversary's.

    Attributes:
        why: Why this one is shown.
        source, answer, reference: Tokens.
        attention, adversarial: Weights, `[T][S]`.
        divergence: Of each step, in nats.
        probability, adversarial_probability: Of each answer token under either attention.
        links: Gold links as (source, target, sure).
        runner_up: For each step the likeliest other token; empty where no contrast was measured.
        margin: Logit of the answer's token minus that of the runner-up, for each step.
        contribution: What each source token adds to the margin, `[T][S]`.
    """

    why: str
    source: tuple[str, ...]
    answer: tuple[str, ...]
    reference: tuple[str, ...]
    attention: tuple[tuple[float, ...], ...]
    adversarial: tuple[tuple[float, ...], ...]
    divergence: tuple[float, ...]
    probability: tuple[float, ...]
    adversarial_probability: tuple[float, ...]
    links: tuple[tuple[int, int, bool], ...]
    runner_up: tuple[str, ...] = ()
    margin: tuple[float, ...] = ()
    contribution: tuple[tuple[float, ...], ...] = ()


@dataclasses.dataclass(frozen=True)
class Report:
    """All that an audit found.

    Attributes:
        task: "sequence-to-sequence" or "classification".
        description: The model in a few words.
        n_examples, n_steps: How many examples and steps were audited.
        seed: Of everything random.
        data_fingerprint: SHA-256 of the audited pairs.
        matrices: Every example as `matrices.matrices_of` makes it; files of their own, and no part
            of the JSON.
        Parts that were not measured are None.
    """

    task: str
    description: str
    n_examples: int
    n_steps: int
    seed: int
    data_fingerprint: str
    verdict: Verdict
    dependence: DependenceReport
    agreement: AgreementReport | None
    interventions: InterventionsReport | None
    adversarial: AdversarialReport | None
    erasure: ErasureReport | None
    contrast: ContrastReport | None
    randomised: RandomisedReport | None
    stability: StabilityReport | None
    alignment: AlignmentReport | None
    baselines: BaselinesReport | None
    positions: tuple[PositionRow, ...]
    examples: tuple[ShownExample, ...]
    matrices: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict:
        """Plain dicts, lists, numbers and strings."""
        plain = _plain(dataclasses.replace(self, matrices=()))
        del plain["matrices"]
        return {"format": FORMAT} | plain

    def to_json(self) -> str:
        """The same for the same model, data, options and seed; without times and paths."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value):
    if isinstance(value, Number):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
