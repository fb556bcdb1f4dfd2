"""A model that answers as a dictionary says: for tests of what is made of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator


class Parrot:
    """A reader of no file.

    Args:
        answers: By source.
        confidence: By source; 0.9 where it names none.
    """

    has_attention = True
    batches_at_once = 1
    source_kind = target_kind = "char"

    def __init__(self, answers: Mapping[str, str], confidence: Mapping[str, float] | None = None):
        self._answers = answers
        self._confidence = confidence or {}

    def translator(self) -> Translator:
        return Translator(self)

    def translate_batch(self, texts: Sequence[str], *_) -> list[Translation]:
        return [self._translation(text, self._answers[text]) for text in texts]

    def _translation(self, text: str, answer: str) -> Translation:
        confidence = self._confidence.get(text, 0.9)
        weights = np.full((len(answer), len(text)), 1 / max(len(text), 1), np.float32)
        return Translation(
            answer, float(np.log(confidence)), confidence, tuple(text), tuple(answer), weights
        )
