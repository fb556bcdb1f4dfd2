"""What a model is measured by: exact match, token error rate, pointing accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> float:
    """Share of outputs that equal their reference to the last character.

    Args:
        outputs: What a model answered.
        references: The right answers, as many.

    Raises:
        ValueError: the two differ in number, or there are none.
    """
    _check_pairs(outputs, references)
    return sum(a == b for a, b in zip(outputs, references, strict=True)) / len(references)


def token_error_rate(outputs: Sequence[Sequence], references: Sequence[Sequence]) -> float:
    """Edits that turn the outputs into their references, per reference token.

    With phones as tokens this is the phone error rate; with words the word error rate of speech
    recognition. Can exceed 1.

    Raises:
        ValueError: the two differ in number, or the references hold no token.
    """
    _check_pairs(outputs, references)
    length = sum(len(reference) for reference in references)
    if not length:
        raise ValueError("references hold no token. Expected at least one.")
    edits = sum(edit_distance(a, b) for a, b in zip(outputs, references, strict=True))
    return edits / length


def edit_distance(first: Sequence, second: Sequence) -> int:
    """Levenshtein distance: insertions, deletions and substitutions of tokens."""
    return Levenshtein.distance(first, second)


def _check_pairs(outputs: Sequence, references: Sequence) -> None:
    if len(outputs) != len(references) or not references:
        raise ValueError(
            "outputs and references must be as many, and at least one. "
            f"Received: len(outputs)={len(outputs)}, len(references)={len(references)}"
        )


def pointing_accuracy(
    attention_weights: Sequence[np.ndarray], alignments: Sequence[Sequence]
) -> float | None:
    """Share of aligned target tokens whose largest attention weight is on a linked source token.

    Args:
        attention_weights: One float `[T, S]` an example.
        alignments: One sequence of links an example, sure and possible alike, each with the
            positions `source` and `target`. Target tokens without a link do not count.

    Returns:
        None where no target token has a link.
    """
    hits = counted = 0
    for weights, links in zip(attention_weights, alignments, strict=True):
        linked: dict[int, set[int]] = {}
        for link in links:
            linked.setdefault(link.target, set()).add(link.source)
        for target, sources in linked.items():
            counted += 1
            hits += target < len(weights) and int(np.argmax(weights[target])) in sources
    return hits / counted if counted else None
