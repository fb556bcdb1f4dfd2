"""The result type that every reader of a model returns, whatever file the model came from."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.readers.attention_links import WeightedLink, links_of


@dataclasses.dataclass(frozen=True)
class AnswerSet:
    """Answers among which the right one is with a promised probability.

    Attributes:
        texts: Different answers, best first; at least one.
        coverage: The probability that was asked for.
        promised: The probability that is promised: `coverage`, or less where all hypotheses
            together hold the right answer less often. The set is then all of them.
    """

    texts: tuple[str, ...]
    coverage: float
    promised: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Translation:
    """What a model made of one source string.

    Attributes:
        text: The answer; token texts joined (characters directly, words by a space).
        log_probability: Natural logarithm of the probability of the tokens and the end symbol,
            summed over them.
        confidence: Probability that `text` is right, in [0, 1].
        source_tokens: Tokens of the source in reading order, S of them.
        target_tokens: Tokens of the answer without the end symbol, T of them.
        attention_weights: float32 `[T, S]`, rows are target tokens, columns source tokens in
            reading order; rows sum to 1 unless S is 0. None for a model without attention.
        alternatives: The other hypotheses of a beam search, best first; empty for greedy decoding.
        token_confidence: Probability that each target token is right, T of them; None where the
            file, of an earlier version, does not say.
        token_log_probability: Of each target token, given those before it; None likewise, and for
            SavedModels and LiteRT files.
        answer_set: The set that was asked for with `coverage`.
    """

    text: str
    log_probability: float
    confidence: float
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    attention_weights: np.ndarray | None
    alternatives: tuple[Translation, ...] = ()
    token_confidence: tuple[float, ...] | None = None
    token_log_probability: tuple[float, ...] | None = None
    answer_set: AnswerSet | None = None

    @property
    def hypotheses(self) -> tuple[Translation, ...]:
        """This one and the alternatives."""
        return (self, *self.alternatives)

    @property
    def alignment(self) -> tuple[WeightedLink, ...]:
        """Which source token each target token comes from, see `attention_links.links_of`.

        Raises:
            ValueError: the model has no attention.
        """
        if self.attention_weights is None:
            raise ValueError("a model without attention has no alignment")
        return links_of(self.attention_weights)

    def __repr__(self) -> str:
        """Short enough for a line: what was answered, and how sure of it the model is."""
        shape = None if self.attention_weights is None else self.attention_weights.shape
        return (
            f"Translation(text={self.text!r}, confidence={self.confidence:.4f}, "
            f"log_probability={self.log_probability:.4f}, attention_weights={shape}, "
            f"alternatives={len(self.alternatives)})"
        )
