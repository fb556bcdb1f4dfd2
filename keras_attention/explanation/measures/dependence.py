"""Before all criteria: does the attention map depend on anything, on the step or on the input?

A map that is the same at every step of every example cannot say what an answer came from, however
well it agrees with measures of importance.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.explanation.measures.examples import Examples


@dataclasses.dataclass(frozen=True)
class Dependence:
    """How much the maps vary; float `[E]` in nats, NaN where there is nothing to compare.

    Attributes:
        on_step: Mutual information of step and position, each step alike: 0 where all steps have
            one map. NaN for answers of one step and sources of one token.
        on_input: Jensen–Shannon divergence from the map of another example at the same step, cut
            to the positions that both have and scaled to sum to 1; mean over steps. Positions are
            counted from the start or from the end, whichever brings the maps of all examples
            closer together.
        one_position: 1 where the largest weight is at one position in every step, else 0.
    """

    on_step: np.ndarray
    on_input: np.ndarray
    one_position: np.ndarray


def depend(examples: Examples, attention: np.ndarray, seed: int) -> Dependence:
    """Measures what the maps `attention` `[E, T, S]`, as of `attention_of`, depend on."""
    count = len(examples)
    maps = [
        attention[row, :steps, :length].astype(np.float64)
        for row, (steps, length) in enumerate(
            zip(examples.answer_lengths, examples.source.lengths, strict=True)
        )
    ]
    on_step, one_position = np.full(count, np.nan), np.full(count, np.nan)
    for row, weights in enumerate(maps):
        if min(weights.shape) >= 2:
            on_step[row] = _information(weights)
            looked_at = weights.argmax(axis=1)
            one_position[row] = (looked_at == looked_at[0]).all()
    circle = np.random.default_rng([seed, *b"dependence"]).permutation(count)
    both_ways = np.full((2, count), np.nan)
    for place, row in enumerate(circle):
        other = maps[circle[place - 1]]
        for way, step in enumerate((1, -1)):
            both_ways[way, row] = _between(maps[row][:, ::step], other[:, ::step])
    counted = ~np.isnan(both_ways[0])
    way = int(both_ways[1, counted].sum() < both_ways[0, counted].sum())
    return Dependence(on_step, both_ways[way], one_position)


def _information(weights: np.ndarray) -> float:
    """Mean Kullback–Leibler divergence of the steps' maps from their mean."""
    mean = weights.mean(axis=0)
    return max(0.0, float(_entropy(mean) - np.mean([_entropy(row) for row in weights])))


def _between(own: np.ndarray, other: np.ndarray) -> float:
    """Mean divergence of the steps that both have, over the positions that both have."""
    steps, length = np.minimum(own.shape, other.shape)
    if steps < 1 or length < 2:
        return np.nan
    pair = []
    for weights in (own, other):
        cut = weights[:steps, :length]
        total = cut.sum(axis=1, keepdims=True)
        pair.append(np.divide(cut, total, out=np.full(cut.shape, 1 / length), where=total > 0))
    divergences = [_information(np.stack(rows)) for rows in zip(*pair, strict=True)]
    return float(np.mean(divergences))


def _entropy(distribution: np.ndarray) -> float:
    there = distribution[distribution > 0]
    return float(-(there * np.log(there)).sum())
