"""One rule for what is not Unicode, and the warning that says what was replaced."""

import warnings

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.text.repair import (
    RepairWarning,
    argument_bytes,
    repair,
    repaired,
    what_was_replaced,
)

any_character = st.characters(exclude_categories=())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", "ab"),
        ("ab\ud83d\ude00", "ab\U0001f600"),  # a pair, as JSON escapes and UTF-16 have it
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        ("ab\udce9", "ab\ufffd"),
        ("\ufeffab\0", "\ufeffab\0"),
        (b"ab\xe9", "ab\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),  # a character cut short is one sequence
        (b"\xf0\x9f\x98a\xff\xff", "\ufffda\ufffd\ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd" * 6),  # surrogates are no UTF-8
        (b"\xc0\x80", "\ufffd\ufffd"),
    ],
)
def test_by_hand(text, expected):
    assert repair(text) == expected


@given(st.one_of(st.text(any_character), st.binary()))
def test_what_comes_out_is_valid_and_stays(text):
    once = repair(text)
    assert repair(once) == once
    assert repair(once.encode("utf-8")) == once
    if isinstance(text, bytes):
        assert once.encode() == tf.strings.unicode_transcode([text], "UTF-8", "UTF-8").numpy()[0]


@given(st.text(any_character))
def test_utf16_replaces_the_same(text):
    """Python's decoder of UTF-16 joins pairs and replaces each lone half."""
    units = text.encode("utf-16-le", "surrogatepass")
    expected = "".join(
        units[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(units), 2)
    )
    assert repair(text) == repair(expected)
    assert sum(c == "\ufffd" for c in repair(text)) >= text.count("\ufffd")


@given(st.binary())
def test_an_argument_is_read_as_the_same_bytes_in_a_file(content):
    content = content.replace(b"\0", b"")
    assert repair(argument_bytes(content.decode("utf-8", "surrogateescape"))) == repair(content)


def test_an_argument_with_a_surrogate_of_windows_stays():
    assert repair(argument_bytes("a\ud83d")) == "a\ufffd"


def test_warnings_name_the_first_text_at_once_and_the_number_at_the_end():
    texts = repaired(["a", b"b\xff\xff", "\ud800", "\ud83d\ude00", "\ufffd"], "texts[{}]".format)
    assert next(texts) == "a"
    with pytest.warns(RepairWarning) as told:
        assert next(texts) == "b\ufffd\ufffd"
    assert [str(w.message) for w in told] == [
        "texts[1]: 2 invalid UTF-8 sequences replaced by U+FFFD"
    ]
    with pytest.warns(RepairWarning) as told:
        assert list(texts) == ["\ufffd", "\U0001f600", "\ufffd"]
    assert [str(w.message) for w in told] == [
        "in all, 2 texts were not valid Unicode and hold U+FFFD now"
    ]


def test_a_replacement_character_that_was_there_is_no_repair():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(repaired(["\ufffd", "\ufffd".encode()], str)) == ["\ufffd"] * 2
    assert what_was_replaced("\ufffd\ud800", "\ufffd\ufffd") == (
        "1 unpaired surrogate replaced by U+FFFD"
    )
