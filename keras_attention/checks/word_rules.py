"""What words there are in sentences: how many of them a model will know, and what helps."""

import collections
import statistics
from collections.abc import Iterator

from keras_attention.checks.findings import Finding, Part
from keras_attention.text.tokens import VocabularyKind, split_tokens

SENTENCE = 6  # words of a side's median text from which on it counts as sentences
RARE = 0.02  # share of the running words, occurring once or unknown, that is worth a line


def rare_words(
    parts: list[Part], source_tokens: VocabularyKind, target_tokens: VocabularyKind
) -> Iterator[Finding]:
    """Sentences whose running words are rare, on a side that is not cut into subwords.

    A running word is one at its place in a text: a word that occurs twice is two of them.
    """
    if not parts or not parts[0].pairs:
        return
    for side, kind in (("source", source_tokens), ("target", target_tokens)):
        if kind == "subword":
            continue
        words = [[split_tokens(getattr(p, side), "word") for p in part.pairs] for part in parts]
        if statistics.median(map(len, words[0])) < SENTENCE:
            continue
        counts = collections.Counter(word for text in words[0] for word in text)
        running = counts.total()
        once = sum(count == 1 for count in counts.values()) / running
        later = [word for part in words[1:] for text in part for word in text]
        unknown = sum(word not in counts for word in later) / len(later) if later else 0.0
        if max(once, unknown) < RARE:
            continue
        shares = f"{once:.1%} of the {running:,} running words occur once"
        if later:
            shares += f", and {unknown:.1%} of those of validation and test are unknown"
        yield Finding(
            f"rare_{side}_words",
            "warning" if kind == "word" else "info",
            parts[0].name,
            1,
            (),
            f"the {side}s are sentences: {shares}; --{side}-tokens subword cuts words into pieces "
            "that the model knows",
        )
