"""Attention into links: the rule on weights made by hand."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from keras_attention.pairs.alignment import places_as_written
from keras_attention.readers.attention_links import links_of, path_in_order
from keras_attention.readers.printed import pharaoh, written_links
from keras_attention.readers.translation import Translation


def test_a_path_in_order_is_taken_where_it_keeps_most_of_the_weight():
    """The second letter looks at a later copy of itself, which costs little to put right."""
    weights = np.array([[0.9, 0.1, 0.0], [0.0, 0.45, 0.55], [0.0, 0.9, 0.1]])
    assert [link[:2] for link in links_of(weights)] == [(0, 0), (1, 1), (1, 2)]
    assert [link.weight for link in links_of(weights)] == [0.9, 0.45, 0.9]


def test_another_order_is_kept():
    weights = np.array([[0.0, 0.1, 0.9], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0]])
    assert [link[:2] for link in links_of(weights)] == [(2, 0), (1, 1), (0, 2)]


def test_nothing_is_linked_with_nothing():
    assert links_of(np.zeros((3, 0))) == ()
    assert links_of(np.zeros((0, 3))) == ()


@hypothesis.given(strategies.integers(0, 2**32 - 1), strategies.integers(1, 4))
@hypothesis.settings(max_examples=40)
def test_no_path_in_order_keeps_more(seed, size):
    weights = np.random.default_rng(seed).random((4, size))
    path = path_in_order(weights)
    assert (np.diff(path) >= 0).all()
    kept = weights[np.arange(4), path].sum()
    ways = itertools.combinations_with_replacement(range(size), 4)
    best = max(weights[np.arange(4), list(way)].sum() for way in ways)
    assert kept == pytest.approx(best)


def test_positions_are_those_of_the_texts_as_written():
    """The three parts of a syllable are one character; a phone is a word."""
    weights = np.eye(3)
    found = Translation("k a", 0.0, 1.0, tuple("\u1112\u1161\u11ab"), ("k", "a"), weights[:2])
    links = written_links(found, "\ud55c")
    assert pharaoh(links) == "0-0 0-1"
    assert places_as_written("\ud55c", tuple("\u1112\u1161\u11ab")) == [0, 0, 0]
    assert places_as_written("ab", ("x", "y")) is None
