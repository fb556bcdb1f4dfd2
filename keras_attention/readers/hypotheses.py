"""What a search found, as arrays, into translations."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.engine.calibration import Calibration, confidence_of, token_confidence_of
from keras_attention.engine.decoder import NEG_INF
from keras_attention.engine.search import Decoded
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import RESERVED, Vocabulary


def translations_of(
    sources: Sequence[tuple[str, ...]],
    decoded: Decoded,
    target: Vocabulary,
    calibration: Calibration | None,
    source_ids: tuple[np.ndarray, np.ndarray],
) -> list[Translation]:
    """The rows of arrays `(n, k, ...)` as results, each with its k - 1 alternatives.

    Args:
        sources: The tokens of each source.
        decoded: What was found for them.
        target: The vocabulary of the answers.
        calibration: From log-probability to confidence; None takes the probability itself.
        source_ids: What was decoded: int `(n, S)`, right-padded with 0, and lengths `(n,)`.
    """
    n, k = decoded.log_probability.shape
    # Converted at once: one number at a time costs as much as the decoding.
    scores = decoded.log_probability.astype(np.float64)
    confidence = confidence_of(calibration, scores, decoded.lengths)
    if calibration is not None and calibration.familiarity is not None:
        familiarity = calibration.familiarity
        answers = decoded.token_ids, decoded.lengths, scores
        confidence = confidence * familiarity.factor(familiarity.surprise(*source_ids, *answers))
    confidence = confidence.ravel().tolist()
    token_ids = decoded.token_ids.reshape(n * k, decoded.token_ids.shape[-1])
    texts, tokens = _answers(token_ids, decoded.lengths.ravel(), target)
    read = sources if k == 1 else [source for source in sources for _ in range(k)]
    looked = _trimmed(decoded.attention_weights, tokens, read)
    gains = decoded.token_log_probability
    trust = token_confidence_of(calibration, gains, decoded.lengths[..., None])
    each = (
        [row[: len(said)] for row, said in zip(_flat(a), tokens, strict=True)]
        for a in (trust, gains)
    )
    fields = (texts, scores.ravel().tolist(), confidence, read, tokens, looked)
    hypotheses = list(map(Translation, *fields, itertools.repeat(()), *each))
    if k == 1:
        return hypotheses
    exists = (scores > NEG_INF / 2).ravel().tolist()
    results = []
    for first in range(0, n * k, k):
        ranked = slice(first, first + k)
        best, *others = itertools.compress(hypotheses[ranked], exists[ranked])
        results.append(dataclasses.replace(best, alternatives=tuple(others)))
    return results


def _flat(scores: np.ndarray) -> np.ndarray:
    """`(n, k, T)` as `(n * k, T)`."""
    return scores.reshape(-1, scores.shape[-1])


def _trimmed(
    attention: np.ndarray | None, tokens: Sequence[tuple], sources: Sequence[tuple]
) -> Iterable[np.ndarray | None]:
    """Attention weights of every hypothesis, `(n * k,)`, without padding."""
    if attention is None:
        return itertools.repeat(None, len(tokens))
    each = attention.reshape(len(tokens), *attention.shape[2:])
    return [
        weights[: len(said), : len(source)]
        for weights, said, source in zip(each, tokens, sources, strict=True)
    ]


def _answers(
    token_ids: np.ndarray, lengths: np.ndarray, target: Vocabulary
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Text and tokens of every hypothesis."""
    if target.kind != "char" or "\0" in target.tokens:
        each = zip(token_ids.tolist(), lengths.tolist(), strict=True)
        tokens = [target.tokens_of(ids[:length]) for ids, length in each]
        return list(map(target.join, tokens)), tokens
    # All at once: an array of code points, the zeros behind the last cut off, is an array of texts.
    points = np.zeros(len(target), np.uint32)
    points[len(RESERVED) :] = target.code_points
    spelt = np.ascontiguousarray(points[token_ids])  # (n * k, T)
    texts = spelt.view(f"<U{spelt.shape[-1]}")[:, 0].tolist()
    return texts, list(map(tuple, texts))
