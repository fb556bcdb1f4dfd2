"""Tokenisation and detokenisation in the graph do what the vocabulary does outside of it."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_attention.evaluation.parity import HOSTILE_SOURCES
from keras_attention.text.repair import clean
from keras_attention.text.vocabulary import RESERVED, Vocabulary
from keras_attention.text.vocabulary_graph import SourceGraph, TargetGraph

VOCABULARIES = {
    "char": Vocabulary("char", tuple(sorted(set(" 0aéé가\u1112\u200d😀\u202e\ufffd")))),
    "word": Vocabulary("word", tuple(sorted(["a", "été", "가나", "😀", "-", "\u00a0", "\u2003b"]))),
    "empty char": Vocabulary("char", ()),
}
GRAPHS = {name: SourceGraph(vocabulary) for name, vocabulary in VOCABULARIES.items()}
ENCODE = {
    name: tf.function(graph.encode, input_signature=[tf.TensorSpec([None], tf.string)])
    for name, graph in GRAPHS.items()
}


def check_encoding(name, texts: list[bytes]) -> None:
    vocabulary = VOCABULARIES[name]
    cleaned = [clean(text) for text in texts]
    expected = vocabulary.encode(cleaned)
    encoded = ENCODE[name](tf.constant(texts, tf.string, [len(texts)]))
    np.testing.assert_array_equal(encoded.ids, expected.padded(np.arange(len(texts))))
    np.testing.assert_array_equal(encoded.lengths, expected.lengths)
    assert encoded.ids.dtype == encoded.lengths.dtype == tf.int32
    for text, tokens, length in zip(cleaned, encoded.tokens.numpy(), encoded.lengths, strict=True):
        assert [token.decode() for token in tokens[:length]] == vocabulary.split(text)
        assert set(tokens[length:]) <= {b""}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_hostile_texts_are_encoded_as_outside_the_graph(name):
    texts = [t if isinstance(t, bytes) else t.encode() for t in HOSTILE_SOURCES]
    check_encoding(name, texts)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_texts_at_all(name):
    check_encoding(name, [])


@pytest.mark.parametrize("name", VOCABULARIES)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=12) | st.binary(max_size=12), max_size=4))
def test_any_texts_are_encoded_as_outside_the_graph(name, texts):
    check_encoding(
        name, [t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in texts]
    )


def test_words_are_cut_at_ascii_white_space_and_nowhere_else():
    """All 256 Latin-1 characters and every space of Unicode, between two words each."""
    spaces = [*map(chr, range(256)), "\u1680", *map(chr, range(0x2000, 0x2010)), "\u2028", "\u3000"]
    check_encoding("word", [f"a{space}a {space} a".encode() for space in spaces])


@pytest.mark.parametrize("name", ["char", "word"])
def test_answers_are_joined_as_outside_the_graph(name):
    vocabulary = VOCABULARIES[name]
    rng = np.random.default_rng(0)
    lengths = np.array([[0, 1], [5, 3]], np.int32)
    ids = rng.integers(len(RESERVED), len(vocabulary), (2, 2, 5)).astype(np.int32)
    ids[np.arange(5) >= lengths[..., None]] = 0
    decode = tf.function(TargetGraph(vocabulary).decode)
    texts, tokens = decode(tf.constant(ids), tf.constant(lengths))
    assert tokens.shape == (2, 2, 5) and texts.shape == (2, 2)
    for place in np.ndindex(2, 2):
        expected = vocabulary.tokens_of(ids[place][: lengths[place]])
        assert texts.numpy()[place].decode() == vocabulary.join(expected)
        assert [t.decode() for t in tokens.numpy()[place]] == [*expected] + [""] * (
            5 - len(expected)
        )


def test_no_answers_at_all():
    texts, tokens = TargetGraph(VOCABULARIES["char"]).decode(
        tf.zeros([0, 5], tf.int32), tf.zeros([0], tf.int32)
    )
    assert texts.shape == (0,) and tokens.shape == (0, 5)


def test_making_a_table_leaves_nothing_that_saving_would_warn_of():
    SourceGraph(VOCABULARIES["word"])
    graph = tf.compat.v1.get_default_graph()
    assert not graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
