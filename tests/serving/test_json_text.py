"""Requests' JSON in and answers' JSON out, without a server: the words are RapidJSON's."""

import json

import numpy as np
import pytest

from keras_attention.serving.json_text import DEEPEST, float_text, parse, quoted
from keras_attention.serving.predict_json import read_texts, write_outputs
from keras_attention.serving.statuses import StatusError


def error_of(call, *arguments):
    with pytest.raises(StatusError) as caught:
        call(*arguments)
    assert caught.value.http_status == 400
    return caught.value.message


# --- reading


@pytest.mark.parametrize(
    ("body", "words", "offset"),
    [
        (b"   ", "The document is empty.", 3),
        (b"instances = [1]", "Invalid value.", 0),
        (b"{'a': 1}", "Missing a name for object member.", 1),
        (b'{"a" 1}', "Missing a colon after a name of object member.", 5),
        (b'{"a": 1 "b": 2}', "Missing a comma or } after an object member.", 8),
        (b'{"a": [1 2]}', "Missing a comma or ] after an array element.", 9),
        (b'{"a": ["]", {"b": "}" ]}', "Missing a comma or } after an object member.", 22),
        (b'{"a": ', "Invalid value.", 6),
        (b'{"a": [1,]}', "Invalid value.", 9),
        (b'{"a": 1,}', "Missing a name for object member.", 8),
        (b'{"a": nul}', "Invalid value.", 9),
        (b'{"a": trux}', "Invalid value.", 9),
        (b'{"a": -x}', "Invalid value.", 7),
        (b'{"a": +1}', "Invalid value.", 6),
        (b'{"a": 1.}', "Miss fraction part in number.", 7),
        (b'{"a": 1e}', "Miss exponent in number.", 7),
        (b'{"a": 1e999}', "Number too big to be stored in double.", None),
        (b'{"a": ' + b"9" * 400 + b"}", "Number too big to be stored in double.", None),
        (b'{"a": ' + b"9" * 5000 + b"}", "Number too big to be stored in double.", None),
        (b'{"a": [{"b": 1} 2]}', "Missing a comma or ] after an array element.", 16),
        (b'{"a": "\\ud800x\\n"}', "The surrogate pair in string is invalid.", 7),
        (b'{"a": "b', "Missing a closing quotation mark in string.", 8),
        (b'{"a": "\n"}', "Invalid encoding in string.", 7),
        (b'{"a": "\0"}', "Missing a closing quotation mark in string.", 7),
        (b'{"a": "\\x"}', "Invalid escape character in string.", 7),
        (b'{"a": "\\u12g4"}', "Incorrect hex digit after \\u escape in string.", 7),
        (b'{"a": "\\ud800"}', "The surrogate pair in string is invalid.", 7),
        (b'{"a": "x\\udc00"}', "The surrogate pair in string is invalid.", 8),
        (b'{"a": "\\ud800\\u0041"}', "The surrogate pair in string is invalid.", 7),
        (b'{"a": "\\ud800x\\udc00"}', "The surrogate pair in string is invalid.", 7),
        (b'{"a": "\xff"}', "Invalid encoding in string.", 7),
        ('{"가": "나" 1}'.encode(), "Missing a comma or } after an object member.", 14),
    ],
)
def test_broken_json_is_refused_in_the_words_of_rapidjson(body, words, offset):
    place = "" if offset is None else f" at offset: {offset}"
    assert error_of(parse, body) == f"JSON Parse error: {words}{place}"


def test_an_empty_body_has_words_of_its_own():
    assert error_of(parse, b"") == "JSON Parse error: The document is empty"


@pytest.mark.parametrize("body", [b"[1]", b'"a"', b"5", b"null", b"true"])
def test_anything_but_an_object_is_refused(body):
    shown = {b"[1]": "[\n    1\n]", b'"a"': '"a"'}.get(body, body.decode())
    assert error_of(parse, body) == f"JSON Value: {shown} Is not object"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1} trailing \xff', {"a": 1}),
        (b' \r\n\t{"a": 1, "a": 2}', {"a": 1}),
        (b'{"a": [Infinity, -Infinity]}', {"a": [float("inf"), -float("inf")]}),
        (b'{"a": "\\ud83d\\ude00\\\\u"}', {"a": "😀\\u"}),
        ('{"가": "é"}'.encode(), {"가": "é"}),
        (b'{"a": 18446744073709551616}', {"a": 2.0**64}),
        (b'{"a": 18446744073709551615}', {"a": 2**64 - 1}),
    ],
)
def test_what_rapidjson_takes_is_taken(body, value):
    assert parse(body) == value
    assert all(type(parse(body)[key]) is type(value[key]) for key in value)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 5_000, 200_000])
def test_deep_nesting_is_an_error_not_a_crash(opening, depth):
    closing = b"]" if opening == b"[" else b"}"
    body = b'{"instances": ' + opening * depth + b"1" + closing * depth + b"}"
    assert "Nested deeper than 64 levels" in error_of(parse, body)
    parse(b'{"instances": ' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}")


def test_long_values_are_quoted_in_part():
    assert quoted({"a": [], "b": {}, "c": [1, "é"]}) == (
        '{\n    "a": [],\n    "b": {},\n    "c": [\n        1,\n        "é"\n    ]\n}'
    )
    assert len(quoted(["x" * 50] * 10**5)) < 1100


def test_b64_takes_what_abseil_takes():
    def bytes_of(text):
        return read_texts({"inputs": [{"b64": text}]}, "text").texts

    assert bytes_of("aGVsbG8=") == bytes_of("aGVsbG8") == bytes_of("aGVs\n bG8=") == [b"hello"]
    assert bytes_of("") == [b""]
    for broken in ("aGVsb", "a", "aGVs=G8=", "a*==", "가"):
        assert error_of(bytes_of, broken) == "Unable to base64 decode"


# --- writing


def test_floats_are_the_shorter_of_two_exact_forms():
    known = {0.2: "0.2", 3.0: "3.0", 0.1 + 0.2: "0.3", 9e6: "9e+06", 3e-5: "3e-05"}
    known |= {1 / 3: "0.333333343", -0.0: "-0.0", float("nan"): "NaN", -float("inf"): "-Infinity"}
    for value, text in known.items():
        assert float_text(np.float32(value)) == text


def test_every_float32_survives():
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    text = write_outputs({"x": values}, row_format=False)
    np.testing.assert_array_equal(np.float32(json.loads(text)["outputs"]), values)


OUTPUTS = {
    "text": np.array([b"a", "나\n".encode()], object),
    "n": np.array([1, 2], np.int32),
    "w": np.arange(8, dtype=np.float32).reshape(2, 2, 2),
    "none": np.zeros([2, 0], np.float32),
}


def test_rows_and_columns():
    rows = json.loads(write_outputs(OUTPUTS, row_format=True))["predictions"]
    assert rows == [
        {"text": "a", "n": 1, "w": [[0, 1], [2, 3]], "none": []},
        {"text": "나\n", "n": 2, "w": [[4, 5], [6, 7]], "none": []},
    ]
    columns = json.loads(write_outputs(OUTPUTS, row_format=False))["outputs"]
    assert columns == {name: [row[name] for row in rows] for name in OUTPUTS}


def test_one_output_goes_without_its_name():
    one = {"text": OUTPUTS["text"]}
    assert json.loads(write_outputs(one, row_format=True)) == {"predictions": ["a", "나\n"]}
    assert json.loads(write_outputs(one, row_format=False)) == {"outputs": ["a", "나\n"]}


def test_no_rows():
    empty = {"text": np.zeros([0], object), "w": np.zeros([0, 13, 0], np.float32)}
    assert json.loads(write_outputs(empty, row_format=False))["outputs"] == {"text": [], "w": []}
    message = error_of(lambda: write_outputs(empty, row_format=True))
    assert message == "Tensor name: text has invalid batch size: 0"
