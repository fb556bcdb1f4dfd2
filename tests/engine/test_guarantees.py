"""Promises: their arithmetic by hand, and that they hold on data drawn at random."""

import math

import numpy as np
import pytest

from keras_attention.engine.guarantees import (
    Abstention,
    CandidateSets,
    binomial_cdf,
    lower_bound,
    upper_bound,
)

# Nine right answers, of which one was no hypothesis.
SETS = CandidateSets(5, (-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0), 1)


def test_a_p_value_counts_the_right_answers_that_score_no_higher():
    found = SETS.p_values(np.array([-0.5, -1.0, -4.5, -9.0]))
    np.testing.assert_allclose(found, [10 / 10, 10 / 10, 6 / 10, 2 / 10])
    assert SETS.unlisted_p_value == 2 / 10


@pytest.mark.parametrize(("coverage", "reached"), [(0.5, True), (0.8, True), (0.81, False)])
def test_a_coverage_is_reached_if_unlisted_answers_may_be_left_out(coverage, reached):
    assert SETS.reaches(coverage) is reached


def test_sets_hold_the_right_answer_as_often_as_promised():
    """Over many draws of calibration pairs, the mean of the coverage is the promised one."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(2000):
        scores = rng.normal(size=60)
        sets = CandidateSets(5, tuple(sorted(scores[:59].tolist())), 0)
        held.append(sets.p_values(scores[59:])[0] > 1 - 0.9)
    assert 0.88 < np.mean(held) < 0.93  # exactly 0.9: 54 of 60 ranks


def test_the_bound_of_one_draw_is_the_quantile_of_its_beta_distribution():
    sets = CandidateSets(5, tuple(np.linspace(-9, -1, 99).tolist()), 0)
    rng = np.random.default_rng(1)
    draws = rng.beta(95, 5, size=200_000)  # rank 95 of 99
    assert sets.lower_bound(0.95) == pytest.approx(np.quantile(draws, 0.05), abs=2e-3)
    assert SETS.lower_bound(0.9) == 0.0  # which nothing reaches


@pytest.mark.parametrize(
    ("successes", "trials", "chance"), [(0, 5, 0.3), (3, 10, 0.5), (9, 40, 0.1)]
)
def test_the_binomial_distribution_is_summed(successes, trials, chance):
    terms = (
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(successes + 1)
    )
    assert binomial_cdf(successes, trials, chance) == pytest.approx(sum(terms), rel=1e-12)


def test_clopper_pearson_of_no_error_is_the_rule_of_three():
    assert upper_bound(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300), abs=1e-9)
    assert lower_bound(300, 300) == pytest.approx(0.05 ** (1 / 300), abs=1e-9)
    assert upper_bound(4, 4) == 1.0


def test_errors_are_promised_rare_where_a_test_says_so():
    """Of 1,000 pairs the surest half is right, the others are wrong one time in ten."""
    abstention = Abstention(1000, (0.9, 0.5, 0.2), (500, 750, 1000), (0, 25, 50))
    assert abstention.threshold(0.01) == 0.9  # 0.99 ** 500 < 0.05, and 25 of 750 are too many
    assert abstention.threshold(0.05) == 0.5
    assert abstention.threshold(0.2) == 0.2
    # The first threshold was meant for a third of the pairs: (1 - p) ** 333 < 0.05 from 0.009 on.
    assert abstention.threshold(0.008) is None
    assert abstention.least() == pytest.approx(0.009)


def test_a_first_threshold_on_too_few_answers_is_passed_by():
    abstention = Abstention(400, (0.9, 0.8, 0.7, 0.6), (100, 200, 300, 400), (0, 0, 0, 0))
    assert abstention.threshold(0.01) == 0.6  # tests begin at 300 answers: 0.99 ** 300 < 0.05


def test_a_promise_of_rare_errors_fails_for_few_draws_only():
    """Confidences that say nothing, and errors just above what is promised: a false promise."""
    rng = np.random.default_rng(2)
    thresholds = tuple(np.linspace(0.95, 0.0, 20).tolist())
    promised = 0
    for _ in range(400):
        confidences, wrong = rng.random(300), rng.random(300) < 0.11
        answered = confidences[None] >= np.array(thresholds)[:, None]
        counts = tuple(answered.sum(1).tolist()), tuple((answered & wrong).sum(1).tolist())
        promised += Abstention(300, thresholds, *counts).threshold(0.1) is not None
    assert promised / 400 < 0.08
