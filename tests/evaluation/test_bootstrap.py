"""Intervals and paired differences by drawing the pairs again."""

import numpy as np
import pytest

from keras_attention.evaluation import bootstrap


def test_a_figure_without_spread_has_an_interval_without_width():
    assert bootstrap.ratio([1] * 20, [4] * 20) == bootstrap.Interval(0.25, 0.25, 0.25)


def test_the_interval_of_a_share_is_that_of_a_binomial():
    """Of 400 answers half are right: 0.5 give or take 1.96 standard errors of 0.025."""
    found = bootstrap.ratio([0, 1] * 200, [1] * 400)
    assert found.value == 0.5
    assert found.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)


def test_a_ratio_weighs_pairs_by_their_wholes():
    assert bootstrap.ratio([1, 9], [1, 99]).value == 0.1


def test_a_model_does_not_differ_from_itself():
    parts = np.random.default_rng(0).integers(0, 2, 100)
    found = bootstrap.difference(parts, parts, [1] * 100)
    assert (found.value, found.low, found.high, found.p_value) == (0, 0, 0, 1.0)


def test_pairing_sees_a_difference_that_the_two_intervals_would_hide():
    """The second model is right wherever the first is, and on 8 of 200 pairs more."""
    first = np.array([0, 1] * 100)
    second = first.copy()
    second[:16:2] = 1
    found = bootstrap.difference(second, first, [1] * 200)
    assert found.value == pytest.approx(0.04)
    assert 0 < found.low < 0.04 < found.high and found.p_value < 0.02
    apart = [bootstrap.ratio(each, [1] * 200) for each in (first, second)]
    assert apart[1].low < apart[0].high


def test_chance_alone_is_seldom_significant():
    rng = np.random.default_rng(1)
    values = []
    for _ in range(40):
        first, second = rng.integers(0, 2, (2, 150))
        values.append(bootstrap.difference(first, second, [1] * 150).p_value)
    assert np.mean(np.array(values) < 0.05) < 0.2


def test_the_same_seed_gives_the_same():
    parts = np.random.default_rng(0).random(50)
    one, again, other = (bootstrap.ratio(parts, [1] * 50, seed) for seed in (0, 0, 1))
    assert one == again != other


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"as many, and at least one. Received: \[2, 1\]"):
        bootstrap.ratio([1, 2], [1])
    with pytest.raises(ValueError, match="at least one"):
        bootstrap.ratio([], [])
