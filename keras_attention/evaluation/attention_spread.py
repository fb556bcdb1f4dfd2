"""Does attention move at all? What a training or an evaluation can see of its maps at a glance."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

# From this share of the examples on, maps that stand still are no accident.
STANDS_STILL = 0.9
LEAST_EXAMPLES = 20  # of fewer nothing is said


@dataclasses.dataclass(frozen=True)
class AttentionSpread:
    """Two figures of many attention maps.

    Attributes:
        mean_largest_weight: Mean over all steps of the largest weight; None without a step.
        one_position: Share of the examples whose largest weight is at one position in every step;
            None where no example has two steps and two source tokens.
        n: How many examples have these.
    """

    mean_largest_weight: float | None
    one_position: float | None
    n: int


def attention_spread(maps: Iterable[np.ndarray | None]) -> AttentionSpread | None:
    """The figures of maps float `[T, S]`, one an example; None for models without attention."""
    largest: list[np.ndarray] = []
    still: list[bool] = []
    for weights in maps:
        if weights is None:
            return None
        if weights.size == 0:
            continue
        largest.append(weights.max(axis=1))
        if min(weights.shape) >= 2:
            looked_at = weights.argmax(axis=1)
            still.append(bool((looked_at == looked_at[0]).all()))
    return AttentionSpread(
        float(np.concatenate(largest).mean()) if largest else None,
        float(np.mean(still)) if still else None,
        len(still),
    )


def warn_of_stillness(spread: AttentionSpread | None) -> str | None:
    """One line where attention hardly ever moves, without a full stop; else None."""
    if spread is None or spread.one_position is None or spread.n < LEAST_EXAMPLES:
        return None
    if spread.one_position < STANDS_STILL:
        return None
    return (
        f"in {spread.one_position:.0%} of the validation examples attention looks at one position "
        "in every step: it has not learnt to move and its maps explain nothing; try another "
        "--attention, a lower --learning-rate or --warmup"
    )
