"""Plausibility: does attention point where a person would, measured against a gold alignment?

Word alignment's measures (Och and Ney 2003): a step's hypothesis is the source position with the
largest weight, S are the sure links, P the possible ones, of which S is a part. Steps without a
gold link, such as the dashes of a date, are left out. Forced decoding: the references are fed, as
is the custom, so that wrong answers count, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_attention.explanation.measures.examples import Examples

# Attention that should fit worse, or the measure shows nothing. In the order of the report.
CONTROLS = {
    "rows_shifted_up": "each step with the weights of the next one",
    "rows_shifted_down": "each step with the weights of the one before",
    "diagonal": "step t of T looks at source position t S / T",
    "another_example": "the weights of another example",
    "reversal_not_undone": "source positions counted from the end",
    "random": "a random position",
}


@dataclasses.dataclass(frozen=True)
class Gold:
    """Gold links as arrays: bool `[E, T, S]` each.

    Attributes:
        sure: S.
        possible: P, which holds S.
        segments: int `[E, S]`: positions that the alignment does not tell apart have one number;
            all unlinked ones are segment 0. Two positions are together where they are linked to the
            same step, so a month's name is one segment and the digits of a year are four.
    """

    sure: np.ndarray
    possible: np.ndarray
    segments: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """bool `[E, T]`: steps with any link."""
        return np.any(self.possible, axis=-1)


@dataclasses.dataclass(frozen=True)
class Alignment:
    """Counts of one attention against the gold; float `[E, T]`, NaN at steps without gold.

    Attributes:
        in_possible: 1 where the hypothesis is a possible link.
        in_sure: 1 where it is a sure one.
        sure_links: Sure links of the step.
        near: 1 where a possible link lies at most one position away.
        mass: Attention weight on possible links.
    """

    in_possible: np.ndarray
    in_sure: np.ndarray
    sure_links: np.ndarray
    near: np.ndarray
    mass: np.ndarray

    def error_rate(self) -> tuple[np.ndarray, np.ndarray]:
        """Numerators and denominators `[E]` of AER = 1 - (|A and P| + |A and S|) / (|A| + |S|)."""
        found = np.nansum(self.in_possible + self.in_sure, axis=1)
        sizes = (~np.isnan(self.in_possible)).sum(axis=1) + np.nansum(self.sure_links, axis=1)
        return sizes - found, sizes

    def restricted(self, steps: np.ndarray) -> Alignment:
        """Only the steps where bool `[E, T]` is True."""
        return Alignment(
            *(np.where(steps, getattr(self, f.name), np.nan) for f in dataclasses.fields(self))
        )


def gold_of(examples: Examples, steps: int, source_length: int) -> Gold | None:
    """The gold links of all examples that have them, None where none has; T and S are given.

    Links behind the last step are left out, and so are sources of one token, at which any
    attention points rightly.
    """
    several = examples.source.lengths > 1
    if not any(links for links, more in zip(examples.alignments, several, strict=True) if more):
        return None
    sure = np.zeros((len(examples), steps, source_length), bool)
    possible = np.zeros_like(sure)
    for row, links in enumerate(examples.alignments):
        for link in links or () if several[row] else ():
            if link.target >= steps:
                continue
            possible[row, link.target, link.source] = True
            sure[row, link.target, link.source] |= link.sure
    return Gold(sure, possible, _segments(possible))


def compare(weights: np.ndarray, gold: Gold) -> Alignment:
    """Compares weights `[E, T, S]`, NaN where there are none, with the gold of the same steps."""
    filled = np.nan_to_num(weights)
    pointed = filled.argmax(axis=-1)  # [E, T]
    steps = gold.steps

    def at(links, position):
        return np.take_along_axis(links, position[..., None], axis=-1)[..., 0]

    last = weights.shape[-1] - 1
    near = at(gold.possible, pointed)
    for shift in (-1, 1):
        near = near | at(gold.possible, np.clip(pointed + shift, 0, last))
    values = (
        at(gold.possible, pointed),
        at(gold.sure, pointed),
        gold.sure.sum(axis=-1),
        near,
        (filled * gold.possible).sum(axis=-1),
    )
    return Alignment(*(np.where(steps, part.astype(np.float64), np.nan) for part in values))


def controls(examples: Examples, weights: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Attention `[E, T, S]` that is wrong in each way of CONTROLS."""
    makers: dict[str, Callable] = {
        # The step at the edge keeps its own row, in favour of the control.
        "rows_shifted_up": lambda own, length, steps, rng: own[np.r_[1:steps, steps - 1]],
        "rows_shifted_down": lambda own, length, steps, rng: own[np.r_[0, 0 : steps - 1]],
        "diagonal": lambda own, length, steps, rng: _one_hot(
            np.arange(steps) * length // steps, length
        ),
        "reversal_not_undone": lambda own, length, steps, rng: own[:, ::-1],
        "random": lambda own, length, steps, rng: _one_hot(
            rng.integers(length, size=steps), length
        ),
    }
    results = {name: np.zeros_like(weights) for name in CONTROLS}
    lengths = examples.source.lengths
    counts = (~np.isnan(weights[..., 0])).sum(axis=1)
    circle = np.random.default_rng([seed, *b"partners"]).permutation(len(examples))
    for place, row in enumerate(circle):
        steps, length = int(counts[row]), int(lengths[row])
        own = np.nan_to_num(weights[row, :steps, :length])
        rng = np.random.default_rng([seed, *b"control", int(row)])
        for name, maker in makers.items():
            if steps and length:
                results[name][row, :steps, :length] = maker(own, length, steps, rng)
        other = np.nan_to_num(weights[circle[place - 1]])
        results["another_example"][row, :steps, :length] = other[:steps, :length]
    return {name: results[name] for name in CONTROLS}


def monotonicity(weights: np.ndarray) -> np.ndarray:
    """1 where a step looks no further left than the step before, float `[E, T - 1]`."""
    pointed = np.nan_to_num(weights).argmax(axis=-1)
    there = ~np.isnan(weights[..., 0])
    forward = (pointed[:, 1:] >= pointed[:, :-1]).astype(np.float64)
    return np.where(there[:, 1:], forward, np.nan)


def by_segment(weights: np.ndarray, gold: Gold) -> np.ndarray:
    """Weights `[E, T, S]` summed over each gold segment: `[E, T, segments]`."""
    one_hot = np.eye(int(gold.segments.max()) + 1, dtype=np.float32)[gold.segments]
    return np.einsum("ets,esg->etg", np.nan_to_num(weights), one_hot)


def _segments(possible: np.ndarray) -> np.ndarray:
    """Connected parts of the alignment, numbered from 1; 0 for positions without a link."""
    segments = np.zeros((possible.shape[0], possible.shape[2]), np.int64)
    for row, links in enumerate(possible):
        for step in links:
            together = np.flatnonzero(step)
            if len(together):
                joined = set(segments[row, together]) - {0}
                number = min(joined) if joined else segments[row].max() + 1
                segments[row, np.isin(segments[row], list(joined))] = number
                segments[row, together] = number
    return segments


def _one_hot(positions: np.ndarray, length: int) -> np.ndarray:
    return np.eye(length, dtype=np.float32)[positions]
