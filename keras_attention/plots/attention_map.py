"""An attention map: checked weights over two lists of tokens, and what can be said of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.errors import UserError


def checked_weights(
    attention_weights, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> np.ndarray:
    """The weights as float64 `[T, S]`: rows are target tokens, columns source tokens.

    With no source or no target tokens any empty array is taken. Rounding errors up to 1e-3 outside
    0..1 are clipped away.

    Raises:
        UserError: there are no weights, because the model has no attention.
        TypeError: weights that are no real numbers, or tokens that are no strings.
        ValueError: another shape than `[T, S]`, or a value that is not finite or outside 0..1.
    """
    if attention_weights is None:
        raise UserError("the model has no attention, so there are no attention weights to show")
    for name, tokens in (("source_tokens", source_tokens), ("target_tokens", target_tokens)):
        _check_tokens(name, tokens)
    weights = _as_numbers(attention_weights)
    shape = (len(target_tokens), len(source_tokens))
    if weights.size == 0 and 0 in shape:
        return np.zeros(shape)
    if weights.shape != shape:
        raise ValueError(
            "attention_weights must have one row for each target token and one column for each "
            f"source token, that is shape {shape}. Received: attention_weights.shape="
            f"{weights.shape}, len(target_tokens)={shape[0]}, len(source_tokens)={shape[1]}"
        )
    if not np.isfinite(weights).all() or weights.min() < -1e-3 or weights.max() > 1 + 1e-3:
        raise ValueError(
            "attention_weights must be finite and lie in [0, 1] (they are weights after the "
            f"softmax, not scores). Received: attention_weights from {weights.min()} to "
            f"{weights.max()}"
        )
    return weights.clip(0.0, 1.0)


def _check_tokens(name: str, tokens: Sequence[str]) -> None:
    if not isinstance(tokens, Iterable) or isinstance(tokens, bytes):
        raise TypeError(f"{name} must be a sequence of strings. Received: {name}={tokens!r}")
    for index, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"{name} must be strings. Received: {name}[{index}]={token!r}")


def _as_numbers(attention_weights) -> np.ndarray:
    try:
        if np.iscomplexobj(attention_weights):
            raise TypeError
        return np.asarray(attention_weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "attention_weights must be an array of real numbers with rows of one length. "
            f"Received: attention_weights={attention_weights!r:.80}"
        ) from None


def row_entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each row in bits, float64 `[T]`: 0 for one source token, log2(S) for all alike."""
    logarithm = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logarithm).sum(axis=1) + 0.0  # + 0.0 turns -0.0 into 0.0


def describe(
    weights: np.ndarray, source_labels: Sequence[str], target_labels: Sequence[str], rows: int = 80
) -> str:
    """The map in words, for people who cannot see it: where each target token looks most."""
    count, width = weights.shape
    size = f"{count} target tokens (rows) by {width} source tokens (columns)"
    if not weights.size:
        return f"Empty attention heatmap, {size}: {empty_note(count, width)}"
    peaks = weights.argmax(axis=1)
    looks = [
        f"{target_labels[row]} at {source_labels[peaks[row]]} "
        f"(column {peaks[row] + 1}, {weights[row, peaks[row]]:.2f})"
        for row in range(min(count, rows))
    ]
    rest = "" if count <= rows else f", and {count - rows} more rows"
    return f"Attention heatmap, {size}. Each row looks most: {'; '.join(looks)}{rest}."


def empty_note(target_length: int, source_length: int) -> str:
    """Why a map without cells has none."""
    if source_length == 0:
        return "the source is empty, so there is nothing to attend to"
    return "the answer is empty" if target_length == 0 else ""
