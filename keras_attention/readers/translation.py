"""The result type that every reader of a model returns, whatever file the model came from."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class Translation:
    """What a model made of one source string.

    Attributes:
        text: The answer; token texts joined (characters directly, words by a space).
        log_probability: Natural logarithm of the probability of the tokens and the end symbol,
            summed over them.
        confidence: Probability that `text` is right, in [0, 1]; of a model of sentences the chrF
            to expect of it, see `Translator.confidence_means`.
        source_tokens: Tokens of the source in reading order, S of them.
        target_tokens: Tokens of the answer without the end symbol, T of them.
        attention_weights: float32 `[T, S]`, rows are target tokens, columns source tokens in
            reading order; rows sum to 1 unless S is 0. None for a model without attention.
        alternatives: The other hypotheses of a beam search, best first; empty for greedy decoding.
        from_exceptions: Whether the dictionary beside the model answered, and not the model. Such
            an answer has confidence 1, no alternatives, and weights of 0: it looked at nothing.
    """

    text: str
    log_probability: float
    confidence: float
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    attention_weights: np.ndarray | None
    alternatives: tuple[Translation, ...] = ()
    from_exceptions: bool = False

    def __init__(
        self,
        text: str,
        log_probability: float,
        confidence: float,
        source_tokens: tuple[str, ...],
        target_tokens: tuple[str, ...],
        attention_weights: np.ndarray | None,
        alternatives: tuple[Translation, ...] = (),
        from_exceptions: bool = False,
    ):
        # What a frozen dataclass writes here goes through `object.__setattr__` field by field, and
        # takes longer than half the decoding of a date.
        fields = self.__dict__
        fields["text"] = text
        fields["log_probability"] = log_probability
        fields["confidence"] = confidence
        fields["source_tokens"] = source_tokens
        fields["target_tokens"] = target_tokens
        fields["attention_weights"] = attention_weights
        fields["alternatives"] = alternatives
        fields["from_exceptions"] = from_exceptions

    def __repr__(self) -> str:
        """Short enough for a line: what was answered, and how sure of it the model is."""
        shape = None if self.attention_weights is None else self.attention_weights.shape
        return (
            f"Translation(text={self.text!r}, confidence={self.confidence:.4f}, "
            f"log_probability={self.log_probability:.4f}, attention_weights={shape}, "
            f"alternatives={len(self.alternatives)}"
            + (", from_exceptions=True)" if self.from_exceptions else ")")
        )
