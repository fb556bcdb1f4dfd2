"""All arrays of an audit in one place, before they become numbers."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.explanation.measures.adversary import Adversary
from keras_attention.explanation.measures.agreement import Agreement
from keras_attention.explanation.measures.alignment import Gold, gold_of
from keras_attention.explanation.measures.baselines import Baselines
from keras_attention.explanation.measures.contrast import Contrast
from keras_attention.explanation.measures.dependence import Dependence
from keras_attention.explanation.measures.erasure import Erasure
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.interventions import Interventions
from keras_attention.explanation.measures.sanity import Randomised, Stability


@dataclasses.dataclass(frozen=True)
class Measured:
    """All arrays of an audit; parts that were not measured are None.

    Attributes:
        examples: What was audited.
        attention: float `[E, T, S]` at the model's own answers, NaN where there is none.
        dependence: See there; always measured.
        importance: As `measure_importance` returns it.
        agreement, interventions, adversary, erasure, contrast, randomised, stability, baselines:
            See there.
        forced_attention: float `[E, T, S]` at the references.
    """

    examples: Examples
    attention: np.ndarray
    dependence: Dependence
    importance: dict[str, np.ndarray] | None
    agreement: Agreement | None
    interventions: Interventions | None
    adversary: Adversary | None
    erasure: Erasure | None
    contrast: Contrast | None
    randomised: Randomised | None
    stability: Stability | None
    forced_attention: np.ndarray | None
    baselines: Baselines | None

    @property
    def steps(self) -> np.ndarray:
        """bool `[E, T]`, True at real steps of the answers."""
        lengths = self.examples.answer_lengths
        return np.arange(self.attention.shape[1]) < lengths[:, None]

    def gold(self, weights: np.ndarray) -> Gold | None:
        """The gold alignment in the shape of `attention` or `forced_attention`, if there is any."""
        return gold_of(self.examples, weights.shape[1], weights.shape[2])
