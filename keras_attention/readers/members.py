"""Which runs can decode together."""

from __future__ import annotations

import pathlib
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from keras_attention.errors import UserError
from keras_attention.folders.run_folder import length_penalty_of
from keras_attention.text.vocabulary import Vocabulary

RunPath = str | pathlib.Path


class Kind(NamedTuple):
    """What runs that decode together must agree in."""

    source: Vocabulary
    target: Vocabulary
    has_attention: bool


def check_members(paths: Sequence[RunPath], kinds: Sequence[Kind]) -> None:
    """Whether runs can decode together.

    Raises:
        UserError: one does not fit the first.
    """
    first = kinds[0]
    for path, kind in zip(paths, kinds, strict=True):
        if (kind.source, kind.target) != (first.source, first.target):
            raise UserError(
                f"{path}: has other vocabularies than {paths[0]}; runs that decode together "
                "must be trained on the same data with the same token options"
            )
        if kind.has_attention != first.has_attention:
            raise UserError(
                f"{path}: has {'' if kind.has_attention else 'no '}attention, and "
                f"{paths[0]} is of the other kind; runs that decode together must agree in that"
            )


def length_penalty_of_members(paths: Sequence[RunPath]) -> float:
    """The length penalty of runs that decode together: the mean of what their trainings chose."""
    return statistics.fmean(map(length_penalty_of, paths))
