"""Subwords: lossless, cut by one rule, in Python as in a graph."""

import random

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.errors import UserError
from keras_attention.text.subword_learning import learn_subwords
from keras_attention.text.subwords import Pieces, join_pieces, split_pieces
from keras_attention.text.vocabulary import (
    RESERVED,
    UNKNOWN,
    Vocabulary,
    load_vocabularies,
    save_vocabularies,
)
from keras_attention.text.vocabulary_graph import SourceGraph, TargetGraph

PIECES = (
    " ",
    " the",
    " them",
    "the",
    "th",
    "em",
    "e",
    "a",
    "ab",
    "abc",
    "bcd",
    "  ",
    "한국",
    "\n a",
)
HOSTILE = "  theмabcdём한국어\u0301\u00a0\u200b\t\n\0\U0001f600▁▅é<unk>"


def vocabulary_of(pieces=PIECES, normal_form="none"):
    return Vocabulary("subword", tuple(sorted(pieces)), normal_form)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("the", [" the"]),
        ("them the", [" them", " the"]),
        ("thee", [" the", "e"]),
        ("abcd", [" ", "abc", "d"]),  # the longest from the left, although a + bcd has no unknown
        (" ", ["  "]),
        ("xthe", [" ", "x", "the"]),
        ("한국어", [" ", "한국", "어"]),
    ],
)
def test_the_rule_by_hand(text, tokens):
    assert split_pieces(text, Pieces(PIECES)) == tokens
    assert join_pieces(tokens) == text


@given(st.text(st.sampled_from(HOSTILE), max_size=20), st.sets(st.text(min_size=1, max_size=5)))
def test_every_text_comes_back_from_its_pieces(text, pieces):
    for known in (PIECES, pieces):
        vocabulary = vocabulary_of(known)
        tokens = vocabulary.split(text)
        assert vocabulary.join(tokens) == text
        ids = vocabulary.encode([text]).flat
        assert len(ids) == len(tokens)
        for token, token_id in zip(tokens, ids, strict=True):
            if token_id == UNKNOWN:
                assert len(token) == 1 and token not in known  # single characters only
            else:
                assert vocabulary.tokens_of([token_id]) == (token,)


def random_texts(count, seed=0):
    rng = random.Random(seed)
    characters = [*HOSTILE, "the", "them", " a", "e\u0301", "가", "\u1100\u1161"]
    return ["".join(rng.choices(characters, k=rng.randrange(12))) for _ in range(count)]


def hostile_strings(count, seed=0):
    """Characters from all planes, what was learned, and what breaks careless programs."""
    rng = random.Random(seed)
    ranges = [(0, 0x80), (0x80, 0x250), (0x300, 0x370), (0x1100, 0x1200), (0x2000, 0x2070)]
    ranges += [(0xAC00, 0xD7A4), (0xE000, 0x10000), (0x1F300, 0x1FB00), (0xE0000, 0x110000)]
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(10)):
            parts.append(
                rng.choice(PIECES)
                if rng.random() < 0.5
                else "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(2))
            )
        yield "".join(parts)


@pytest.mark.slow
def test_100_000_hostile_strings_come_back_and_the_graph_cuts_them_alike():
    vocabulary = vocabulary_of()
    encode = tf.function(SourceGraph(vocabulary).encode, reduce_retracing=True)
    texts = list(hostile_strings(100_000))
    assert len(set("".join(texts))) > 50_000  # characters
    for first in range(0, len(texts), 10_000):
        chunk = texts[first : first + 10_000]
        tokens = [vocabulary.split(text) for text in chunk]
        assert [vocabulary.join(each) for each in tokens] == chunk
        encoded, expected = encode(tf.constant(chunk)), vocabulary.encode(chunk)
        np.testing.assert_array_equal(encoded.ids, expected.padded(np.arange(len(chunk))))
        for row, each in zip(encoded.tokens.numpy().tolist(), tokens, strict=True):
            assert [token.decode() for token in row[: len(each)]] == each


@pytest.mark.slow  # 10,000 texts
@pytest.mark.parametrize("form", ["none", "NFC", "NFD"])
def test_the_graph_cuts_as_python_does(form):
    texts = random_texts(10_000)
    vocabulary = vocabulary_of((*PIECES, "é", "e\u0301", "가", "\u1100\u1161"), form)
    encoded = tf.function(SourceGraph(vocabulary).encode)(tf.constant(texts))
    expected = vocabulary.encode(texts)
    rows = np.arange(len(texts))
    np.testing.assert_array_equal(encoded.lengths, expected.lengths)
    np.testing.assert_array_equal(encoded.ids, expected.padded(rows))
    tokens = encoded.tokens.numpy().tolist()
    for row in rows:
        written = [token.decode() for token in tokens[row][: expected.lengths[row]]]
        assert written == vocabulary.split(texts[row])


@pytest.mark.parametrize("texts", [[], [""], ["", "", "a"], ["a", ""], ["a" * 5000, "b"]])
@pytest.mark.parametrize("pieces", [(), PIECES])
def test_the_graph_takes_empty_and_long_texts(texts, pieces):
    vocabulary = vocabulary_of(pieces)
    encoded = SourceGraph(vocabulary).encode(tf.constant(texts, tf.string, [len(texts)]))
    expected = vocabulary.encode(texts)
    np.testing.assert_array_equal(encoded.ids, expected.padded(np.arange(len(texts))))


def test_the_graph_joins_as_python_does():
    vocabulary = vocabulary_of()
    texts = ["the abc", "", " the", "ab"]
    ids = vocabulary.encode(texts)
    decoded, _ = TargetGraph(vocabulary).decode(
        tf.constant(ids.padded(np.arange(4))), tf.constant(ids.lengths, tf.int32)
    )
    assert [text.decode() for text in decoded.numpy()] == texts


def test_the_graph_is_saved_with_core_operators_alone(tmp_path):
    vocabulary = vocabulary_of()
    module = SourceGraph(vocabulary)
    signature = tf.function(
        lambda texts: module.encode(texts).ids, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    concrete = signature.get_concrete_function()
    operators = {op.type for op in concrete.graph.get_operations()}
    assert not {name for name in operators if "HashTable" in name or "PyFunc" in name}
    holder = tf.Module()
    holder.encode = signature
    tf.saved_model.save(holder, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(
        loaded.encode(tf.constant(["the x"])), vocabulary.encode(["the x"]).padded(np.arange(1))
    )


def test_it_is_saved_and_loaded(tmp_path):
    vocabulary = vocabulary_of()
    save_vocabularies(tmp_path / "vocabulary.json", vocabulary, vocabulary)
    assert load_vocabularies(tmp_path / "vocabulary.json") == (vocabulary, vocabulary)
    assert len(vocabulary) == len(RESERVED) + len(PIECES)


def test_subwords_are_learned_not_collected():
    with pytest.raises(ValueError, match="kind must be one of char, word. Received: .*subword"):
        Vocabulary.from_texts(["a"], "subword")
    with pytest.raises(ValueError, match=r"must not be empty. Received: tokens\[0\]=''"):
        vocabulary_of(("",))


class TestLearning:
    TEXTS = (
        "the cat sat on the mat",
        "The other cats sat there!",
        "a\u2581b \u2585\t\0 새 고양이",
    ) * 20

    def test_frequent_words_become_one_piece_and_every_character_is_known(self, capfd):
        vocabulary = learn_subwords(self.TEXTS, 80)
        assert vocabulary.split("the cat") == [" the", " cat"]
        assert set("".join(self.TEXTS)) <= set(vocabulary.tokens)
        assert len(vocabulary.tokens) <= 80
        assert UNKNOWN not in vocabulary.encode(self.TEXTS).flat
        for text in self.TEXTS[:3]:
            assert vocabulary.join(vocabulary.split(text)) == text
        assert capfd.readouterr().err == ""
        # Every longer piece is used, and more of them make shorter texts.
        used = {token for text in self.TEXTS for token in vocabulary.split(text)}
        assert all(token in used for token in vocabulary.tokens if len(token) > 1)
        smaller = learn_subwords(self.TEXTS, 45)
        assert len(smaller.encode(self.TEXTS).flat) > len(vocabulary.encode(self.TEXTS).flat)

    def test_the_same_texts_give_the_same_pieces(self):
        assert learn_subwords(self.TEXTS, 60) == learn_subwords(self.TEXTS, 60)
        sampled = [learn_subwords(iter(self.TEXTS), 60, seed=s, sample=5) for s in (1, 1)]
        assert sampled[0] == sampled[1]
        assert set("".join(self.TEXTS)) <= set(sampled[0].tokens)

    def test_a_normal_form_is_learned_in(self):
        vocabulary = learn_subwords(["고양이"] * 9, 40, normal_form="NFD")
        assert vocabulary.split("고양이") == vocabulary.split(
            "\u1100\u1169\u110b\u1163\u11bc\u110b\u1175"
        )
        assert all(not "가" <= c <= "힣" for token in vocabulary.tokens for c in token)

    def test_too_few_pieces_for_the_characters(self):
        with pytest.raises(UserError, match="--subwords: must be at least 4, .*Received: 3"):
            learn_subwords(["abc"], 3)
        assert learn_subwords(["abc"], 4).tokens == (" ", "a", "b", "c")
