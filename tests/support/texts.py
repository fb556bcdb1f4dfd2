"""Tokens that tests build vocabularies of, and random texts of them."""

from __future__ import annotations

import numpy as np

from keras_attention.text.vocabulary import Vocabulary

CHARACTERS = tuple(sorted("abcde 0123가나é😀"))
WORDS = tuple(sorted(["a", "bb", "ccc", "été", "날짜", "😀", "0"]))
# Pieces within pieces, with a space before, behind and alone.
SUBWORDS = tuple(sorted([*" abé가😀0", " a", "ab", " ab", "abé", "b가", "bb", " 😀", "😀 ", "0 a"]))
TOKENS_OF_KIND = {"char": CHARACTERS, "word": WORDS, "subword": SUBWORDS}


def random_texts(vocabulary: Vocabulary, n: int, seed: int = 0, longest: int = 20) -> list[str]:
    """Texts of known and unknown tokens that begin and end with a known one."""
    rng = np.random.default_rng(seed)
    tokens = [*vocabulary.tokens, "ж", "𝔛"]
    texts = []
    for length in rng.integers(1, longest + 1, n):
        chosen = [tokens[i] for i in rng.integers(0, len(tokens), length)]
        chosen[0] = chosen[-1] = vocabulary.tokens[-1]
        texts.append(vocabulary.join(chosen))
    return texts
