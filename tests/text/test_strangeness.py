"""Texts unlike the training's are told of, once for each kind, and answered all the same."""

import pytest

from keras_attention.text.strangeness import Strangeness, telling_of_strange
from keras_attention.text.vocabulary import Vocabulary

WORDS = Vocabulary("word", ("cat", "sat", "the"))
LETTERS = Vocabulary("char", tuple(sorted("abcdé ")), "NFC")
UPPER = Vocabulary("char", tuple(sorted("ABC ")))
PIECES = Vocabulary("subword", (" ", "a", "b", "der", "H"))


@pytest.mark.parametrize(
    ("vocabulary", "text", "kinds"),
    [
        (WORDS, "the cat sat", set()),
        (WORDS, "", {"empty"}),
        (WORDS, "The cat sat", {"capitals", "unknown"}),  # one word of three
        (WORDS, "the cat sat mat", set()),  # one of four
        (LETTERS, "abc", set()),
        (LETTERS, "Abcd", {"capitals"}),
        (LETTERS, "xyz", {"unknown"}),
        (LETTERS, "e\u0301", set()),  # known in its normal form
        (UPPER, "ABc", {"small letters", "unknown"}),
        (PIECES, "H ab", set()),
        (PIECES, "Zug", {"unknown"}),
    ],
)
def test_what_is_strange(vocabulary, text, kinds):
    assert Strangeness(vocabulary).of(text).keys() == kinds


def test_the_first_of_each_kind_is_told_of_and_all_texts_come_through():
    texts = ["the cat", "", "zzz", "", "yyy"]
    lines = []
    assert list(telling_of_strange(texts, WORDS, "TEXT {}".format, lines.append)) == texts
    assert [line.split(" (")[0] for line in lines] == [
        "TEXT 1 is empty; its answer means nothing",
        "TEXT 2 has 100% words that no training source had; its answer is a guess",
    ]
