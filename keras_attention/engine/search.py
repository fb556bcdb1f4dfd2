"""Steps into answers: greedy and beam search, as `models.decoding` does them in a graph."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from keras_attention.engine.decoder import END, NEG_INF, PADDING, START, log_softmax

# Rows that have ended are dropped once they are this share: dropping copies what is left.
_DROPPED_SHARE = 0.25


class Decoder(Protocol):
    """A model, or several as one."""

    longest_output: int
    has_attention: bool
    target_size: int

    def start(self, ids: np.ndarray, lengths: np.ndarray, hypotheses: int):
        """See `decoder.Model.start`."""


class Decoded(NamedTuple):
    """What decoding returns; all arrays belong to the caller.

    Attributes:
        token_ids: int32 `(n, k, T)`, the end symbol left out, 0 behind the last token.
        lengths: int64 `(n, k)`, tokens of each output, the end symbol not counted.
        log_probability: float32 `(n, k)`, of the tokens and the end symbol, in nats. A hypothesis
            that does not exist, in a beam wider than there are outputs, has `NEG_INF`.
        attention_weights: float32 `(n, k, T, S)`, zero behind the last token; None without
            attention.
        token_log_probability: float32 `(n, k, T)`, of each token and, behind them, of the end
            symbol; then 0. They add up to `log_probability`.

    T is the number of steps that were made, at most the model's longest output.
    """

    token_ids: np.ndarray
    lengths: np.ndarray
    log_probability: np.ndarray
    attention_weights: np.ndarray | None
    token_log_probability: np.ndarray


def greedy(model: Decoder, ids: np.ndarray, lengths: np.ndarray) -> Decoded:
    """Takes the likeliest token at every step, until all rows have ended.

    Args:
        model: A model or an ensemble.
        ids: int `(n, S)`, right-padded with 0; rows of falling length.
        lengths: int `(n,)`, tokens of each row.

    Returns:
        One hypothesis a row: k = 1.
    """
    progress, n = _start(model, ids, lengths, 1), len(ids)
    tokens = np.zeros((n, model.longest_output), np.int32)
    gains = np.zeros(tokens.shape, np.float32)
    looked = np.zeros((*tokens.shape, ids.shape[1]), np.float32) if model.has_attention else None
    row_of: slice | np.ndarray = slice(None)  # where the rows that are still computed belong
    rows = np.arange(n)
    token = np.full(n, START)
    finished = np.zeros(n, bool)
    for step in range(model.longest_output):
        logits, weights = progress.advance(token)
        token = logits.argmax(axis=-1)
        tokens[row_of, step] = token
        logits -= logits[rows, token][:, None]  # a log-softmax, of the chosen token alone
        gains[row_of, step] = -np.log(np.add.reduce(np.exp(logits), axis=-1))
        if looked is not None:
            looked[row_of, step] = weights[:, : ids.shape[1]]
        finished |= token == END
        running = len(finished) - np.count_nonzero(finished)
        if not running:
            break
        if running < (1 - _DROPPED_SHARE) * len(finished):
            kept = np.flatnonzero(~finished)
            progress.select(kept, kept)
            row_of = np.arange(n)[row_of][kept]
            rows, token, finished = rows[:running], token[kept], finished[kept]
    return _cut_at_the_end(tokens, gains, looked, step + 1)


def _cut_at_the_end(
    tokens: np.ndarray, gains: np.ndarray, looked: np.ndarray | None, steps: int
) -> Decoded:
    """Leaves out what was computed behind the first end symbol of each row.

    Args:
        tokens, gains: `(n, T)`, what was said and its log-probabilities; 0 where nothing was.
        looked: `(n, T, S)`, the attention weights, or None.
        steps: How many steps were made.
    """
    tokens, gains = tokens[:, :steps], gains[:, :steps]
    over = np.logical_or.accumulate(tokens == END, axis=1)
    tokens[over] = PADDING
    gains[:, 1:][over[:, :-1]] = 0.0  # the end symbol's own counts
    if looked is not None:
        looked = looked[:, None, :steps]
        looked[:, 0][over] = 0.0
    lengths = np.add.reduce(tokens != PADDING, axis=1, keepdims=True)
    score = np.add.reduce(gains, axis=1, keepdims=True)
    return Decoded(tokens[:, None], lengths, score, looked, gains[:, None])


def beam(
    model: Decoder,
    ids: np.ndarray,
    lengths: np.ndarray,
    beam_width: int,
    length_penalty: float = 0.0,
) -> Decoded:
    """Keeps the k best hypotheses of every row; returns them best first.

    A finished hypothesis stays in the beam and competes with the running ones.

    Args:
        model, ids, lengths: As in `greedy`.
        beam_width: k.
        length_penalty: Exponent a in `log_probability / length ** a` by which hypotheses are
            ranked, the end symbol counted; 0 ranks by the log-probability itself.
    """
    n, k = len(ids), beam_width
    progress = _start(model, ids, lengths, k)
    steps = []  # (token, parent, gain, weights) of each, over all n rows
    row_of = np.arange(n)
    token = np.full((n, k), START)
    length = np.zeros((n, k), np.float32)
    finished = np.zeros((n, k), bool)
    # One hypothesis to begin with: k equal ones would all make the same choices.
    score = np.full((n, k), NEG_INF)
    score[:, 0] = 0.0
    final = score.copy()
    for _ in range(model.longest_output):
        logits, weights = progress.advance(token.ravel())
        length += ~finished
        candidates = _candidates(score, log_softmax(logits).reshape(len(score), k, -1), finished)
        before = score
        parent, token, score = _best(candidates, length, length_penalty)
        rows = np.arange(len(score))[:, None]
        gain = score - before[rows, parent]
        length = length[rows, parent]
        finished = finished[rows, parent] | (token == END)
        token = np.where(finished, PADDING, token)
        hypotheses = (rows * k + parent).ravel()
        if weights is not None:
            weights = weights[hypotheses].reshape(len(score), k, -1)
            weights[finished] = 0.0
            weights = _spread(weights, row_of, n)
        spread = _spread_parents(parent, row_of, n, k)
        steps.append((_spread(token, row_of, n), spread, _spread(gain, row_of, n), weights))
        final[row_of] = score
        running = ~(finished | (score <= NEG_INF / 2)).all(axis=1)
        ended = len(running) - np.count_nonzero(running)
        if ended == len(running):
            break
        if ended > _DROPPED_SHARE * len(running):
            sources = np.flatnonzero(running)
            progress.select(hypotheses.reshape(-1, k)[sources].ravel(), sources)
            row_of, token, score = row_of[sources], token[sources], score[sources]
            length, finished = length[sources], finished[sources]
        else:
            progress.select(hypotheses)
    return _traced_back(steps, final, ids.shape[1])


def _start(model: Decoder, ids: np.ndarray, lengths: np.ndarray, hypotheses: int):
    if (np.diff(lengths) > 0).any():
        raise ValueError(f"rows must be of falling length. Received: lengths={lengths}")
    if not ids.shape[1]:  # all sources are empty
        ids = np.zeros((len(ids), 1), ids.dtype)
    return model.start(ids, lengths, hypotheses)


def _spread(part: np.ndarray, row_of: np.ndarray, n: int) -> np.ndarray:
    """What was computed for some rows, among n rows of which the others are 0."""
    if len(part) == n:
        return part
    whole = np.zeros((n, *part.shape[1:]), part.dtype)
    whole[row_of] = part
    return whole


def _spread_parents(parent: np.ndarray, row_of: np.ndarray, n: int, k: int) -> np.ndarray:
    """The same for parents: every hypothesis of a row that has ended is its own."""
    if len(parent) == n:
        return parent
    whole = np.broadcast_to(np.arange(k), (n, k)).copy()
    whole[row_of] = parent
    return whole


def _candidates(
    score: np.ndarray, log_probabilities: np.ndarray, finished: np.ndarray
) -> np.ndarray:
    """Log-probabilities `(n, k, V)` of all hypotheses with one token more."""
    # A finished hypothesis goes on with padding alone, at no cost.
    log_probabilities[finished] = NEG_INF
    log_probabilities[finished, PADDING] = 0.0
    log_probabilities += score[..., None]
    return log_probabilities


def _best(
    candidates: np.ndarray, length: np.ndarray, length_penalty: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best candidates of each row, best first: parent, token and score, `(n, k)` each."""
    n, k, size = candidates.shape
    ranks = candidates
    if length_penalty:
        ranks = candidates / np.maximum(length, 1)[..., None] ** np.float32(length_penalty)
    ranks = ranks.reshape(n, k * size)
    best = np.argpartition(ranks, -k, axis=1)[:, -k:]
    best.sort(axis=1)  # among equals the first wins
    order = np.argsort(-np.take_along_axis(ranks, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    score = np.take_along_axis(candidates.reshape(n, k * size), best, axis=1)
    return best // size, best % size, np.maximum(score, NEG_INF)


def _traced_back(steps: list, score: np.ndarray, width: int) -> Decoded:
    """Follows each hypothesis that stands in the beam at the end from its last step to its first.

    Args:
        steps: Of each step token and parent, int `(n, k)`, the token's log-probability `(n, k)`,
            and weights `(n, k, S)` or None.
        score: `(n, k)` at the end.
        width: S.
    """
    n, k = score.shape
    rows, branch = np.arange(n)[:, None], np.broadcast_to(np.arange(k), (n, k))
    said, looked, gained = [], [], []
    for token, parent, gain, weights in reversed(steps):
        said.append(token[rows, branch])
        gained.append(gain[rows, branch])
        if weights is not None:
            looked.append(weights[rows, branch])
        branch = parent[rows, branch]
    exists = score > NEG_INF / 2
    tokens = np.stack(said[::-1], axis=2).astype(np.int32) * exists[..., None]
    attention = np.stack(looked[::-1], axis=2)[..., :width] if looked else None
    gains = np.where(exists[..., None], np.stack(gained[::-1], axis=2), np.float32(0.0))
    return Decoded(
        tokens,
        np.count_nonzero(tokens, axis=2),
        np.where(exists, score, NEG_INF),
        attention,
        gains,
    )
