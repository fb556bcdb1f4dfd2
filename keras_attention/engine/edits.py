"""What a model answers if it is made to: other weights, a beginning that is given, tokens unseen.

The what-if page computes the same in a browser (`web/what_if_assets/engine.js`).
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from keras_attention.engine.attention import MASKED
from keras_attention.engine.decoder import END, START, UNKNOWN, Model, log_softmax
from keras_attention.engine.search import Decoded

LARGEST_ERROR_OF_A_SUM = 1e-3


@dataclasses.dataclass(frozen=True)
class Edits:
    """Changes to the decoding of one source of S tokens; positions count from 0.

    They apply in this order: a hidden position gets a score of minus infinity; then `uniform` or
    `order` changes what the softmax gave, among the positions that are not hidden; then `rows`
    replaces whole steps, hidden positions included.

    Attributes:
        prefix: Ids of target tokens that the answer begins with, whatever the model thinks of them.
        hidden: Source positions that attention cannot look at. The encoder still reads them, so
            the hidden states beside them know of them.
        erased: Source positions at which the encoder reads the unknown token.
        uniform: Whether every visible position gets the same weight.
        order: A permutation of 0 … S-1, or None: the i-th visible position gets the weight of the
            i-th visible position in this order.
        rows: Weights `(S,)` by step, taken as they are.
    """

    prefix: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    erased: tuple[int, ...] = ()
    uniform: bool = False
    order: tuple[int, ...] | None = None
    rows: Mapping[int, np.ndarray] = dataclasses.field(default_factory=dict)


def decode(model: Model, ids: np.ndarray, edits: Edits) -> Decoded:
    """Decodes one source greedily under edits.

    Args:
        model: A single model with attention.
        ids: int `(S,)`.
        edits: What to change.

    Returns:
        As `search.greedy`, n = k = 1; the weights are those that were used. The log-probability is
        the model's own of what was said, the prefix included.
    """
    ids = ids.copy()
    ids[list(edits.erased)] = UNKNOWN
    width = max(len(ids), 1)  # the engine pads a source without tokens as well
    padded = np.zeros((1, width), ids.dtype)
    padded[0, : len(ids)] = ids
    progress = model.start(padded, np.array([len(ids)]), 1)
    visible = np.ones(len(ids), bool)
    visible[list(edits.hidden)] = False
    tokens, looked, gains = [], [], []
    token = START
    for step in range(model.longest_output):

        def change(scores: np.ndarray, normalise, step=step) -> np.ndarray:
            return _changed(scores[0, 0], normalise, step, visible, edits)[None, None]

        logits, weights = progress.advance(np.array([token]), change if len(ids) else None)
        log_probabilities = log_softmax(logits)
        given = step < len(edits.prefix)
        token = edits.prefix[step] if given else int(log_probabilities[0].argmax())
        gains.append(log_probabilities[0, token])
        if token == END:
            break
        tokens.append(token)
        if weights is not None:
            looked.append(weights[0, : len(ids)])
    said = np.zeros(max(len(tokens), 1), np.int32)  # a search makes one step at least
    said[: len(tokens)] = tokens
    attention = np.zeros((len(said), len(ids)), np.float32)
    attention[: len(tokens)] = looked or 0
    each = np.array(gains, np.float32)
    return Decoded(
        said[None, None],
        np.array([[len(tokens)]]),
        each.sum()[None, None],
        attention[None, None],
        each[None, None],
    )


def _changed(
    scores: np.ndarray, normalise, step: int, visible: np.ndarray, edits: Edits
) -> np.ndarray:
    """The weights `(S,)` of one step, from its scores."""
    if step in edits.rows:
        return np.asarray(edits.rows[step], np.float32)
    weights = np.zeros(len(scores), np.float32)
    if not visible.any():
        return weights
    if edits.uniform:
        weights[visible] = 1 / np.count_nonzero(visible)
        return weights
    own = normalise(np.where(visible, scores, MASKED)[None])[0]
    if edits.order is not None:
        taken = np.array([place for place in edits.order if visible[place]])
        weights[visible] = own[taken]
        return weights
    return own * visible


def checked_positions(positions: Sequence[int], name: str, length: int) -> tuple[int, ...]:
    """Source positions that a caller named.

    Raises:
        ValueError: one is not from 0 to `length` - 1.
    """
    for position in positions:
        if not 0 <= operator.index(position) < length:
            raise ValueError(
                f"{name} must hold source positions from 0 to {length - 1}. Received: {position!r}"
            )
    return tuple(positions)


def checked_order(order: Sequence[int], length: int) -> tuple[int, ...]:
    """An order of all source positions that a caller named.

    Raises:
        ValueError: it is not a permutation of 0 … `length` - 1.
    """
    if sorted(order) != list(range(length)):
        raise ValueError(
            f"weights must be 'own', 'uniform' or a permutation of 0 to {length - 1}. "
            f"Received: weights={order!r}"
        )
    return tuple(order)


def checked_rows(
    rows: Mapping[int, Sequence[float]], length: int, longest_output: int
) -> dict[int, np.ndarray]:
    """Weights by step that a caller gave.

    Raises:
        ValueError: a step beyond the longest output; a row that is not `length` numbers, none of
            them negative, whose sum is 1.
    """
    checked = {}
    for step, row in rows.items():
        if not 0 <= operator.index(step) < longest_output:
            raise ValueError(
                f"rows must be of steps from 0 to {longest_output - 1}. Received: {step!r}"
            )
        given = np.asarray(row, np.float32)
        proper = given.shape == (length,) and (given >= 0).all()
        if not proper or abs(given.sum() - 1) > LARGEST_ERROR_OF_A_SUM:
            raise ValueError(
                f"rows must be {length} weights each, none negative, that sum to 1. "
                f"Received: rows[{step}]={row!r}"
            )
        checked[step] = given
    return checked
