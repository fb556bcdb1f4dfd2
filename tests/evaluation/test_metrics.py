"""Loss and metrics: numbers by hand, and laws that hold for all inputs."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.evaluation.metrics import edit_distance, exact_match, token_error_rate
from keras_attention.training.losses import global_norm, token_losses

words = st.text("abc", max_size=7)


def test_losses_by_hand():
    logits = np.log([[[0.1, 0.2, 0.7], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]]])
    losses = np.asarray(token_losses(np.array([[2, 1, 0]]), logits))
    np.testing.assert_allclose(losses, [[-np.log(0.7), -np.log(0.25), 0.0]], rtol=1e-6)
    assert losses.dtype == np.float32


def test_smoothing_by_hand():
    """0.3 of the target's probability lies evenly on all three tokens."""
    logits = np.log([[[0.1, 0.2, 0.7]]])
    expected = -0.7 * np.log(0.7) - 0.1 * (np.log(0.1) + np.log(0.2) + np.log(0.7))
    losses = token_losses(np.array([[2]]), logits, label_smoothing=0.3)
    np.testing.assert_allclose(losses, [[expected]], rtol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_what_stands_at_padding_is_nothing(smoothing):
    rng = np.random.default_rng(0)
    ids = np.array([[3, 2, 0, 0], [1, 0, 0, 0]])
    logits = rng.normal(size=(2, 4, 5)).astype(np.float32)
    other = np.where((ids == 0)[..., None], 100 * rng.normal(size=(2, 4, 5)), logits)
    losses = np.asarray(token_losses(ids, logits, smoothing))
    np.testing.assert_array_equal(losses, token_losses(ids, other.astype(np.float32), smoothing))
    assert (losses > 0).sum() == 3


def test_half_precision_logits_give_float32_losses():
    losses = np.asarray(token_losses(np.array([[1]]), np.array([[[0.0, 60000.0]]], np.float16)))
    assert losses.dtype == np.float32
    assert losses[0, 0] == 0


def test_global_norm_by_hand():
    assert float(global_norm([np.array([3.0, 0.0]), np.array([[4.0], [12.0]])])) == 13.0


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("", "", 0),
        ("abc", "", 3),
        ("", "ab", 2),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("ab", "ba", 2),
        (("new", "york"), ("york",), 1),
    ],
)
def test_edit_distance_by_hand(first, second, distance):
    assert edit_distance(first, second) == distance


@given(words, words)
def test_edit_distance_by_definition(first, second):
    @functools.cache
    def recursive(i, j):
        if not i or not j:
            return i + j
        return min(
            recursive(i - 1, j) + 1,
            recursive(i, j - 1) + 1,
            recursive(i - 1, j - 1) + (first[i - 1] != second[j - 1]),
        )

    assert edit_distance(first, second) == recursive(len(first), len(second))


@given(words, words, words)
def test_edit_distance_is_a_metric(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


def test_rates_by_hand():
    assert exact_match(["a", "b ", "c"], ["a", "b", "c"]) == pytest.approx(2 / 3)
    # 1 + 0 + 2 edits over 3 + 1 + 2 reference tokens
    assert token_error_rate(["abd", "x", ""], ["abc", "x", "yz"]) == 0.5
    assert token_error_rate(["aaaa"], ["b"]) == 4.0


@pytest.mark.parametrize("metric", [exact_match, token_error_rate])
def test_what_cannot_be_compared_is_refused(metric):
    for outputs, references in (([], []), (["a"], []), (["a"], ["a", "b"])):
        with pytest.raises(ValueError, match="must be as many, and at least one. Received:"):
            metric(outputs, references)


def test_no_reference_token_is_refused():
    with pytest.raises(ValueError, match="no token"):
        token_error_rate([["a"]], [[]])
