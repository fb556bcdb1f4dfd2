"""Texts that are unlike those that a model was trained on, and what to do about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from keras_attention.text.normal_form import normalise
from keras_attention.text.tokens import split_tokens
from keras_attention.text.vocabulary import Vocabulary

# Share of a text's words, or characters, that the model does not know, from which on its answer is
# a guess.
MANY_UNKNOWN = 0.3


class Strangeness:
    """Says of texts what sets them apart from the training texts.

    Args:
        vocabulary: Of the sources in training.
    """

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._tokens = frozenset(vocabulary.tokens)
        letters = frozenset("".join(vocabulary.tokens))
        self._has_capitals = any(map(str.isupper, letters))
        self._has_small = any(map(str.islower, letters))

    def of(self, text: str) -> dict[str, str]:
        """What is strange, a line without a full stop for each kind of strangeness."""
        if not text:
            return {"empty": "is empty; its answer means nothing"}
        found = {}
        if self._has_small and not self._has_capitals and any(map(str.isupper, text)):
            found["capitals"] = (
                "has capital letters, and no training source had any; change it to lower case"
            )
        if self._has_capitals and not self._has_small and any(map(str.islower, text)):
            found["small letters"] = (
                "has small letters, and no training source had any; change it to upper case"
            )
        unit, share = self._unknown(text)
        if share >= MANY_UNKNOWN:
            found["unknown"] = (
                f"has {share:.0%} {unit} that no training source had; its answer is a guess"
            )
        return found

    def _unknown(self, text: str) -> tuple[str, float]:
        text = normalise(text, self._vocabulary.normal_form)
        words = self._vocabulary.kind == "word"
        # Pieces hold every single character that training had.
        tokens = split_tokens(text, "word" if words else "char")
        unknown = sum(token not in self._tokens for token in tokens)
        return "words" if words else "characters", unknown / max(len(tokens), 1)


def telling_of_strange(
    texts: Iterable[str],
    vocabulary: Vocabulary,
    name: Callable[[int], str],
    tell: Callable[[str], None],
) -> Iterator[str]:
    """Yields the texts as they are, and tells of the first one of each kind of strangeness.

    Args:
        texts: Sources, repaired.
        vocabulary: Of the sources in training.
        name: Of the text with that index, as the message begins.
        tell: Takes each line, which has no full stop.
    """
    strangeness = Strangeness(vocabulary)
    told: set[str] = set()
    for index, text in enumerate(texts):
        for kind, what in strangeness.of(text).items():
            if kind not in told:
                told.add(kind)
                tell(f"{name(index)} {what} (later ones like it are not mentioned)")
        yield text
