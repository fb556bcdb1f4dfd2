"""What Python code may pass, and what it is told where it may not."""

import pathlib

import numpy as np
import pytest

from keras_attention.text.arguments import (
    checked_integer,
    checked_number,
    checked_paths,
    checked_texts,
)


@pytest.mark.parametrize(
    "texts",
    [
        ["a", b"b"],
        ("a", "b"),
        [],
        np.array(["a", "b"]),
        np.array([b"a"]),
        np.array(["a", b"b"], object),
        (text for text in "ab"),
    ],
)
def test_texts_that_are_taken(texts):
    assert all(isinstance(text, (str, bytes)) for text in checked_texts(texts))


@pytest.mark.parametrize(
    ("texts", "error", "says"),
    [
        ([None], TypeError, r"texts\[0\] must be a string.*Received: None of type NoneType"),
        (["a", 1], TypeError, r"texts\[1\].*Received: 1 of type int"),
        ([["a"]], TypeError, r"texts\[0\].*of type list"),
        ("ab", TypeError, "must be a sequence.*a list that holds it.*'ab' of type str"),
        (b"ab", TypeError, "must be a sequence"),
        (None, TypeError, "must be a sequence.*NoneType"),
        (5, TypeError, "must be a sequence.*5 of type int"),
        ({"a": "b"}, TypeError, "must be a sequence.*of type dict"),
        ({"a"}, TypeError, "must be a sequence.*of type set"),
        (np.array([["a"]]), ValueError, r"one dimension.*shape=\(1, 1\)"),
        (np.array("a"), ValueError, r"one dimension.*shape=\(\)"),
        (np.array([1.0]), TypeError, r"texts\[0\].*of type float64"),
    ],
)
def test_texts_that_are_not(texts, error, says):
    with pytest.raises(error, match=says):
        checked_texts(texts)


def test_integers():
    assert checked_integer(np.int64(3), "k", 1, 9) == 3
    for value in ("2", 2.0, True, np.True_, None, [1], np.float32(2)):
        with pytest.raises(TypeError, match="k must be an integer. Received: k="):
            checked_integer(value, "k", 1, 9)
    with pytest.raises(ValueError, match="at least 1. Received: k=0"):
        checked_integer(0, "k", 1, 9)
    with pytest.raises(ValueError, match="at most 9: memory. Received: k=10"):
        checked_integer(10, "k", 1, 9, "memory")


def test_numbers():
    assert checked_number(None, "p") is None and checked_number(np.float32(0.5), "p") == 0.5
    for value in ("1", True, [1.0]):
        with pytest.raises(TypeError, match="p must be a number or None"):
            checked_number(value, "p")
    with pytest.raises(ValueError, match="finite"):
        checked_number(float("nan"), "p")


def test_paths():
    assert checked_paths(["a", pathlib.Path("b")]) == [pathlib.Path("a"), pathlib.Path("b")]
    with pytest.raises(ValueError, match="at least one. Received: path=\\[\\]"):
        checked_paths([])
    for paths in (None, 5, b"runs", {"a": 1}):
        with pytest.raises(TypeError, match="path must be a path"):
            checked_paths(paths)
    with pytest.raises(TypeError, match=r"Received: path\[1\]=None"):
        checked_paths(["a", None])
