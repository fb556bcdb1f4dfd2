"""Several models that decode as one: the mean of what they say at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keras_attention.engine.decoder import Model, log_softmax


class Ensemble:
    """Decodes by the mean of its members' probabilities; its attention is the mean of theirs.

    Args:
        members: At least one model; all number their tokens alike. They have attention, or none.
    """

    def __init__(self, members: Sequence[Model]):
        self._members = list(members)
        self.longest_output = max(member.longest_output for member in members)
        self.has_attention = all(member.has_attention for member in members)
        self.target_size = members[0].target_size

    def start(self, ids: np.ndarray, lengths: np.ndarray, hypotheses: int) -> EnsembleProgress:
        """See `decoder.Model.start`."""
        parts = [member.start(ids, lengths, hypotheses) for member in self._members]
        return EnsembleProgress(parts, self.has_attention)


class EnsembleProgress:
    """One batch on its way through all members, see `decoder.Progress`."""

    def __init__(self, parts: list, has_attention: bool):
        self._parts = parts
        self._has_attention = has_attention

    def advance(self, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """One step of every member, as `decoder.Progress.advance`."""
        said, looked = zip(*(part.advance(tokens) for part in self._parts), strict=True)
        stacked = np.stack([log_softmax(logits) for logits in said])
        most = stacked.max(axis=0)
        mean = np.log(np.exp(stacked - most).sum(axis=0)) + most - np.float32(math.log(len(said)))
        return mean, np.mean(looked, axis=0) if self._has_attention else None

    def select(self, rows: np.ndarray, sources: np.ndarray | None = None) -> None:
        """See `decoder.Progress.select`."""
        for part in self._parts:
            part.select(rows, sources)
