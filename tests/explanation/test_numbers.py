"""Distances, rank agreement and intervals against numbers worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_attention.explanation.measures.distances import (
    LARGEST_JSD,
    jensen_shannon,
    kendall_tau,
    top_agreement,
    total_variation,
)
from keras_attention.explanation.reporting.estimate import Estimator
from keras_attention.explanation.reporting.report import Histogram


def tau(first, second, mask=None):
    first, second = np.array([first], float), np.array([second], float)
    mask = np.ones(first.shape, bool) if mask is None else np.array([mask], bool)
    return kendall_tau(first, second, mask)[0]


def test_kendall_tau_without_ties():
    assert tau([1, 2, 3, 4], [1, 2, 3, 4]) == 1
    assert tau([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    # Pairs: 12 13 14 23 24 34; 13 24 14 23 agree, 12 and 34 do not.
    assert tau([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx((4 - 2) / 6)


def test_kendall_tau_b_with_ties():
    # x ties one pair, y two (1 with 2, 3 with 4): 5 and 4 untied of 6. Both untied: 13 14 23 24
    # less 23, tied in x: 13, 14, 24 agree.
    assert tau([1, 2, 2, 3], [1, 1, 2, 2]) == pytest.approx(3 / math.sqrt(5 * 4))
    # Kendall 1945 needs no order beyond signs: one-hot against one-hot of another place.
    assert tau([1, 0, 0, 0], [0, 1, 0, 0]) == pytest.approx(-1 / 3)


def test_kendall_tau_leaves_out_what_is_masked():
    assert tau([1, 2, 9], [1, 2, -9], [True, True, False]) == 1


def test_kendall_tau_is_undefined_without_two_values():
    assert np.isnan(tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(tau([1, 2, 3], [5, 5, 5]))
    assert np.isnan(tau([1], [2]))
    assert np.isnan(tau([1, 2], [1, 2], [False, False]))


@given(
    arrays(np.int8, 7, elements=st.integers(0, 3)), arrays(np.int8, 7, elements=st.integers(0, 3))
)
def test_kendall_tau_counts_pairs(first, second):
    agree = disagree = untied_first = untied_second = 0
    for i, j in itertools.combinations(range(7), 2):
        a = int(first[i]) - int(first[j])
        b = int(second[i]) - int(second[j])
        agree += a * b > 0
        disagree += a * b < 0
        untied_first += a != 0
        untied_second += b != 0
    found = tau(first, second)
    if untied_first and untied_second:
        expected = (agree - disagree) / math.sqrt(untied_first * untied_second)
        assert found == pytest.approx(expected)
    else:
        assert np.isnan(found)


def test_kendall_tau_keeps_leading_axes_and_takes_many_rows():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 40, 5, 9))
    mask = np.ones(first.shape, bool)
    found = kendall_tau(first, second, mask)
    assert found.shape == (40, 5)
    assert found[17, 3] == tau(first[17, 3], second[17, 3])


def test_top_agreement():
    first = np.array([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.3], [0.2, 0.1, 0.9]])
    second = np.array([[1.0, 3.0, 2.0], [4.0, 3.0, 2.0], [1.0, 2.0, 3.0], [5.0, 4.0, 9.0]])
    mask = np.ones((4, 3), bool)
    mask[3, 2] = False
    np.testing.assert_array_equal(top_agreement(first, second, mask), [1, 0, np.nan, 1])


def test_distances_by_hand():
    first, second = np.float32([0.5, 0.5, 0.0]), np.float32([0.1, 0.5, 0.4])
    assert float(total_variation(first, second)) == pytest.approx(0.4)
    ends = np.float32([1, 0]), np.float32([0, 1])
    assert float(total_variation(*ends)) == 1
    assert float(jensen_shannon(*ends)) == pytest.approx(math.log(2))
    assert LARGEST_JSD == pytest.approx(0.693147, abs=1e-6)
    # Middle (3/4, 1/4): half of log(4/3), and half of (1/2 log 2/3 + 1/2 log 2).
    expected = 0.5 * math.log(4 / 3) + 0.5 * (0.5 * math.log(2 / 3) + 0.5 * math.log(2))
    found = float(jensen_shannon(np.float32([1, 0]), np.float32([0.5, 0.5])))
    assert found == pytest.approx(expected, abs=1e-6)


weights = arrays(np.float32, 5, elements=st.floats(0, 1, width=32)).map(
    lambda part: (part + np.float32(1e-3)) / (part + np.float32(1e-3)).sum()
)


@given(weights, weights)
def test_divergence_is_symmetric_bounded_and_zero_for_equals(first, second):
    forth, back = float(jensen_shannon(first, second)), float(jensen_shannon(second, first))
    assert forth == pytest.approx(back, abs=1e-5)
    assert 0 <= forth <= LARGEST_JSD + 1e-5
    assert float(jensen_shannon(first, first)) == pytest.approx(0, abs=1e-6)
    # Pinsker: TVD² / 2 is at most the divergence from the middle, on either side.
    assert float(total_variation(first, second)) ** 2 / 2 <= forth + 1e-5


def test_a_mean_counts_values_and_draws_examples():
    values = np.array([[1.0, 3.0, np.nan], [5.0, np.nan, np.nan], [np.nan] * 3])
    number = Estimator(seed=4).mean(values, "what")
    assert (number.value, number.n, number.unit, number.seed) == (3.0, 3, "steps", 4)
    # A resample of three examples is all the first, all the second, or between.
    assert 2.0 <= number.low < 3.0 < number.high <= 5.0


def test_the_bootstrap_covers_a_known_mean():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(60):
        shared = rng.normal(0, 1, (80, 1))  # steps of one example depend on each other
        number = Estimator(trial).mean(shared + rng.normal(0, 0.1, (80, 5)), "what")
        covered += number.low <= 0 <= number.high
    assert covered >= 51  # 57 expected


def test_an_interval_of_steps_as_if_independent_would_be_too_narrow():
    rng = np.random.default_rng(1)
    values = np.repeat(rng.normal(0, 1, (80, 1)), 5, axis=1)
    number = Estimator(0).mean(values, "what")
    assert number.high - number.low == pytest.approx(2 * 1.96 / math.sqrt(80), rel=0.25)


def test_a_median_and_its_interval():
    values = np.arange(101.0)[:, None]
    number = Estimator(0).median(values, "what")
    assert number.value == 50
    assert 35 < number.low < 50 < number.high < 65


def test_a_share_has_an_interval_even_at_its_ends():
    number = Estimator(0).share(np.zeros(500, bool), "what")
    assert (number.value, number.low) == (0, 0)
    # Wilson: z² / (n + z²).
    assert number.high == pytest.approx(1.959964**2 / (500 + 1.959964**2))
    assert "Wilson" in number.interval


def test_nothing_measured_is_undefined():
    for number in (
        Estimator(0).mean(np.full((3, 2), np.nan), "what"),
        Estimator(0).median(np.full((3, 2), np.nan), "what"),
        Estimator(0).share(np.zeros(0, bool), "what"),
    ):
        assert (number.value, number.low, number.high, number.n) == (None, None, None, 0)
        assert number.to_dict()["confidence_interval"] is None


def test_numbers_are_rounded_for_json_and_have_no_negative_zero():
    number = Estimator(0).mean(np.array([[-1e-9], [-1e-9]]), "what").to_dict()
    assert str(number["value"]) == "0.0"
    assert [str(end) for end in number["confidence_interval"]] == ["0.0", "0.0"]


def test_a_histogram_counts_everything_once():
    spread = Histogram.of(np.array([-1.0, 0.0, 0.24, 0.26, 1.0, 7.0, np.nan]), 0.0, 1.0, 4)
    assert spread.edges == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert spread.counts == (3, 1, 0, 2)
    assert Histogram.of(np.array([np.nan]), 0.0, 1.0, 4).quartiles is None
