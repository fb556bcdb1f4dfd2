"""Alignment error rate and segments against small alignments worked out by hand."""

import numpy as np
import pytest

from keras_attention.explanation.measures.alignment import (
    Gold,
    by_segment,
    compare,
    controls,
    gold_of,
    monotonicity,
)
from keras_attention.explanation.measures.examples import Examples
from keras_attention.pairs.alignment import Link
from keras_attention.text.vocabulary import RaggedIds


def examples(lengths, steps, alignments):
    total = int(np.sum(lengths))
    answers = np.zeros((len(lengths), max(steps)), np.int32)
    for row, count in enumerate(steps):
        answers[row, :count] = 1
    nothing = (None,) * len(lengths)
    ids = RaggedIds(np.ones(total, np.int32), np.cumsum([0, *lengths]))
    return Examples(
        *(ids, tuple(("x",) * length for length in lengths), answers),
        *(tuple(("y",) * count for count in steps), ids, (), np.array(lengths)),
        *(tuple(alignments), nothing, nothing),
    )


def links(text):
    """`0-1` is sure, `0p1` possible: source position, then step."""
    return tuple(Link(int(part[0]), int(part[2]), part[1] == "-") for part in text.split())


def one_hot(positions, width):
    return np.eye(width, dtype=np.float32)[np.array(positions)]


def test_alignment_error_rate_by_hand():
    # Step 0: sure 0. Step 1: sure 1, possible 2. Step 2: possible 3. Step 3: no link, left out.
    given = examples([5], [4], [links("0-0 1-1 2p1 3p2")])
    gold = gold_of(given, 4, 5)
    weights = one_hot([[0, 2, 4, 4]], 5)
    found = compare(weights, gold)
    # A = {0-0, 2-1, 4-2}: two in P, one in S; |A| = 3, |S| = 2.
    missed, sizes = found.error_rate()
    assert missed[0] / sizes[0] == pytest.approx(1 - (2 + 1) / (3 + 2))
    np.testing.assert_array_equal(found.in_possible[0], [1, 1, 0, np.nan])
    np.testing.assert_array_equal(found.in_sure[0], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(found.near[0], [1, 1, 1, np.nan])
    np.testing.assert_array_equal(found.mass[0], [1, 1, 0, np.nan])


def test_rates_are_of_the_corpus_not_means_of_examples():
    given = examples([2, 4], [1, 3], [links("0-0"), links("0-0 1-1 2-2")])
    gold = gold_of(given, 3, 4)
    weights = np.stack([one_hot([1, 0, 0], 4), one_hot([0, 1, 2], 4)])
    weights[0, 1:] = np.nan
    missed, sizes = compare(weights, gold).error_rate()
    assert missed.sum() / sizes.sum() == pytest.approx(2 / 8)  # not (1 + 0) / 2


def test_perfect_attention_makes_no_error_even_between_possible_links_alone():
    given = examples([3], [1], [links("1p0 2p0")])
    gold = gold_of(given, 1, 3)
    missed, _ = compare(one_hot([[2]], 3), gold).error_rate()
    assert missed.sum() == 0


def test_segments_are_what_the_alignment_does_not_tell_apart():
    # Month's name: positions 2 and 3, both with steps 0 and 1. Digits 0 and 1 by themselves.
    given = examples([6], [4], [links("2p0 3p0 2p1 3p1 0-2 1-3")])
    gold = gold_of(given, 4, 6)
    first, second, name, again, *rest = gold.segments[0]
    assert name == again and len({first, second, name}) == 3
    assert rest == [0, 0] and 0 not in (first, second, name)
    weights = np.float32([[[0.1, 0.2, 0.3, 0.15, 0.05, 0.2]]])
    grouped = by_segment(weights, Gold(gold.sure, gold.possible, gold.segments))[0, 0]
    assert grouped[name] == pytest.approx(0.45)
    assert grouped[0] == pytest.approx(0.25)
    assert grouped.sum() == pytest.approx(1)


def test_segments_join_what_a_later_step_joins():
    # Step 2 joins 0 with 1, and so with 3, which it does not name itself.
    given = examples([5], [3], [links("0-0 1p1 3p1 0p2 1p2")])
    segments = gold_of(given, 3, 5).segments[0]
    assert segments[0] == segments[1] == segments[3] != 0
    assert segments[2] == segments[4] == 0


def test_no_gold_no_alignment():
    assert gold_of(examples([2], [2], [None]), 2, 2) is None
    assert gold_of(examples([2], [2], [()]), 2, 2) is None
    half = gold_of(examples([2, 2], [2, 2], [None, links("0-0")]), 2, 2)
    assert half.steps.tolist() == [[False, False], [True, False]]


def test_monotonicity():
    weights = one_hot([[0, 2, 2, 1]], 3)
    np.testing.assert_array_equal(monotonicity(weights), [[1, 1, 0]])
    weights[0, 3] = np.nan
    np.testing.assert_array_equal(monotonicity(weights), [[1, 1, np.nan]])


def test_controls_are_distributions_of_the_right_sizes():
    given = examples([4, 6, 3], [2, 3, 3], [links("0-0")] * 3)
    rng = np.random.default_rng(0)
    weights = np.full((3, 3, 6), np.nan, np.float32)
    for row, (length, count) in enumerate(zip([4, 6, 3], [2, 3, 3], strict=True)):
        drawn = rng.random((count, length))
        weights[row, :count, :length] = drawn / drawn.sum(axis=1, keepdims=True)
    wrong = controls(given, weights, seed=5)
    for name, other in wrong.items():
        assert other.shape == weights.shape
        assert not np.isnan(other).any()
        if name != "another_example":  # which is cut where it is longer
            np.testing.assert_allclose(other[0, :2].sum(axis=-1), 1, atol=1e-6)
        assert (other[0, :, 4:] == 0).all() and (other[0, 2:] == 0).all()
    np.testing.assert_array_equal(wrong["diagonal"][1, :3].argmax(-1), [0, 2, 4])
    again = controls(given, weights, seed=5)
    assert all((wrong[name] == again[name]).all() for name in wrong)
