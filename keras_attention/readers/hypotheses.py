"""What a search found, as arrays, into translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

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
    # Converted at once: one number at a time costs as much as the decoding.
    scores = decoded.log_probability.astype(np.float64)
    confidence = confidence_of(calibration, scores, decoded.lengths)
    if calibration is not None and calibration.familiarity is not None:
        familiarity = calibration.familiarity
        found = decoded.token_ids, decoded.lengths, scores
        confidence *= familiarity.factor(familiarity.surprise(*source_ids, *found))
    confidence = confidence.tolist()
    gains = decoded.token_log_probability.astype(np.float64)
    trust = token_confidence_of(calibration, gains, decoded.lengths[..., None]).tolist()
    gains = gains.tolist()
    possible = (scores > NEG_INF / 2).tolist()
    scores, lengths = scores.tolist(), decoded.lengths.tolist()
    answers = _answers(decoded.token_ids, lengths, target)
    looked = decoded.attention_weights

    def hypothesis(row: int, k: int) -> Translation:
        text, tokens = answers[row][k]
        weights = None
        if looked is not None:
            weights = looked[row, k, : len(tokens), : len(sources[row])]
        return Translation(
            *(text, scores[row][k], confidence[row][k], sources[row], tokens, weights),
            token_log_probability=tuple(gains[row][k][: len(tokens)]),
            token_confidence=tuple(trust[row][k][: len(tokens)]),
        )

    results = []
    for row, is_possible in enumerate(possible):
        best, *others = (hypothesis(row, k) for k, real in enumerate(is_possible) if real)
        results.append(dataclasses.replace(best, alternatives=tuple(others)) if others else best)
    return results


def _answers(
    token_ids: np.ndarray, lengths: list[list[int]], target: Vocabulary
) -> list[list[tuple[str, tuple[str, ...]]]]:
    """Text and tokens of every hypothesis."""
    if target.kind != "char" or "\0" in target.tokens:
        return [
            [
                (target.join(tokens), tokens)
                for ids, length in zip(row, row_lengths, strict=True)
                for tokens in (target.tokens_of(ids[:length]),)
            ]
            for row, row_lengths in zip(token_ids.tolist(), lengths, strict=True)
        ]
    # All at once: an array of code points, the zeros behind the last cut off, is an array of texts.
    points = np.zeros(len(target), np.uint32)
    points[len(RESERVED) :] = [ord(token) for token in target.tokens]
    spelt = np.ascontiguousarray(points[token_ids])  # (n, k, T)
    texts = spelt.view(f"<U{spelt.shape[-1]}")[..., 0].tolist()
    return [[(text, tuple(text)) for text in row] for row in texts]
