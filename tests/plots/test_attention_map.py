"""Checked weights, their entropy and their description, against values worked out by hand."""

import numpy as np
import pytest

from keras_attention.errors import UserError
from keras_attention.plots.attention_map import checked_weights, describe, row_entropy
from keras_attention.plots.heatmap import plot_attention


def test_entropy_is_zero_for_one_token_and_log2_for_all_alike():
    weights = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0.5, 0.25, 0.25, 0]])
    np.testing.assert_allclose(row_entropy(weights), [0, 2, 1, 1.5])
    assert not np.signbit(row_entropy(weights)).any()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_entropy_of_an_empty_map(shape):
    assert row_entropy(np.zeros(shape)).tolist() == [0.0] * shape[0]


def test_wrong_shape_names_all_three_lengths():
    with pytest.raises(ValueError, match=r"shape=\(2, 3\).*target_tokens\)=3.*source_tokens\)=2"):
        checked_weights(np.zeros((2, 3)), "ab", "xyz")


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 1.5])
def test_what_is_no_weight_is_refused(value):
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        checked_weights([[value, 0.5]], "ab", "x")


def test_rounding_errors_are_clipped():
    assert checked_weights([[1.0000005, -1e-7]], "ab", "x").tolist() == [[1.0, 0.0]]


def test_a_model_without_attention_is_the_users_mistake():
    with pytest.raises(UserError, match="no attention"):
        checked_weights(None, "ab", "x")


def test_description_says_where_each_row_looks_and_ends():
    words = describe(np.eye(3), ["a", "b", "c"], ["x", "y", "z"], rows=2)
    assert "x at a (column 1, 1.00); y at b (column 2, 1.00), and 1 more rows." in words
    assert "3 target tokens (rows) by 3 source tokens (columns)" in words
    assert "source is empty" in describe(np.zeros((2, 0)), [], ["x", "y"])
    assert "answer is empty" in describe(np.zeros((0, 2)), ["x", "y"], [])


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"source_tokens": None}, "source_tokens must be a sequence.*None"),
        ({"source_tokens": 5}, "source_tokens must be a sequence.*5"),
        ({"source_tokens": [1, 2]}, r"source_tokens\[0\]=1"),
        ({"source_tokens": [b"a", b"b"]}, r"source_tokens\[0\]=b'a'"),
        ({"target_tokens": [None]}, r"target_tokens\[0\]=None"),
        ({"attention_weights": "x"}, "array of real numbers.*'x'"),
        ({"attention_weights": [[1], [1, 2]]}, "rows of one length"),
        ({"attention_weights": [[1j, 0]]}, "real numbers"),
        ({"title": 5}, "title must be a string or None. Received: title=5"),
        ({"links": 5}, "links must be a sequence or None. Received: links=5"),
        ({"links": [(0, 0)]}, r"links must be objects with source, target and sure.*\(0, 0\)"),
    ],
)
def test_arguments_of_another_type_are_told(changed, says):
    right = {"attention_weights": [[0.5, 0.5]], "source_tokens": ["a", "b"], "target_tokens": ["x"]}
    plot_attention(**right)
    with pytest.raises(TypeError, match=says):
        plot_attention(**right | changed)
