"""Attention that stands still is found; attention that moves is left alone."""

import numpy as np
import pytest

from keras_attention.evaluation.attention_spread import (
    LEAST_EXAMPLES,
    AttentionSpread,
    attention_spread,
    warn_of_stillness,
)


def test_figures_by_hand():
    moves = np.array([[0.7, 0.3], [0.2, 0.8]])
    stands = np.array([[0.9, 0.1], [0.6, 0.4]])
    one_step = np.array([[1.0, 0.0]])
    one_token = np.array([[1.0], [1.0]])
    found = attention_spread([moves, stands, one_step, one_token, np.zeros((0, 3))])
    assert found.mean_largest_weight == pytest.approx((0.7 + 0.8 + 0.9 + 0.6 + 1 + 1 + 1) / 7)
    assert (found.one_position, found.n) == (0.5, 2)


def test_models_without_attention_and_nothing_to_look_at():
    assert attention_spread([None, None]) is None
    assert attention_spread([]) == AttentionSpread(None, None, 0)
    assert warn_of_stillness(None) is None
    assert warn_of_stillness(AttentionSpread(None, None, 0)) is None


@pytest.mark.parametrize(
    ("share", "n", "warns"),
    [(1.0, LEAST_EXAMPLES, True), (0.9, 500, True), (0.89, 500, False), (1.0, 3, False)],
)
def test_a_warning_needs_many_examples_that_stand_still(share, n, warns):
    line = warn_of_stillness(AttentionSpread(0.99, share, n))
    assert (line is not None) == warns
    if line:
        assert f"{share:.0%} of the validation examples" in line and "--attention" in line
