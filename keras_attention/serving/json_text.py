"""A request's JSON: read with Python's parser, refused with the words and offsets of RapidJSON.

TensorFlow Serving parses with RapidJSON, takes NaN and Infinity, and ignores what follows the first
value. Stricter here: invalid UTF-8 is an error, and so is deep nesting.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from keras_attention.serving.statuses import StatusError

DEEPEST = 64
LONGEST_QUOTE = 1000

_WHITE_SPACE = re.compile(r"[ \t\n\r]+")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\.", re.DOTALL)
_INVALID_BYTE = re.compile("[\udc80-\udcff]")
_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[\[\]{}]', re.DOTALL)
_LITERALS = ("null", "true", "false", "NaN", "Infinity", "-Infinity")


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` begins with.

    Of a name that occurs twice in an object the first value counts. Integers beyond 64 bits become
    floats.

    Raises:
        StatusError: it is none, or nested deeper than `DEEPEST`.
    """
    if not body:
        raise _parse_error("The document is empty")
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    start = _after_white_space(text, 0)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _as_rapidjson(error, text) from None
    except RecursionError:
        raise _too_deep() from None
    except OverflowError:
        raise _parse_error("Number too big to be stored in double.") from None
    _check_characters(text, end)
    if _depth_exceeds(value, DEEPEST):
        raise _too_deep()
    if not isinstance(value, dict):
        raise StatusError(f"JSON Value: {quoted(value)} Is not object")
    return value


def quoted(value: Any) -> str:
    """A value as errors quote it, cut where it is long."""
    if isinstance(value, float):
        return float_text(value)
    parts, length = [], 0
    for part in json.JSONEncoder(indent=4, ensure_ascii=False).iterencode(value):
        parts.append(part)
        length += len(part)
        if length > LONGEST_QUOTE:
            return "".join(parts)[:LONGEST_QUOTE] + "…"
    return "".join(parts)


def type_name(value: Any) -> str:
    """RapidJSON's name of a value's type."""
    if value is None or isinstance(value, bool):
        return {None: "Null", False: "False", True: "True"}[value]
    names = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
    return names[type(value)]


def float_text(value: float) -> str:
    """A float32 number as TensorFlow Serving writes it: %g, or %.9g where %g is not exact."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    with np.errstate(over="ignore"):
        single = np.float32(value)
        text = f"{float(single):g}"
        if np.isfinite(single) and np.float32(text) != single:
            text = f"{float(single):.9g}"
        elif not np.isfinite(single):  # only in errors: too large for float32
            text = f"{value:g}" if float(f"{value:g}") == value else f"{value:.17g}"
    return text if "." in text or "e" in text else text + ".0"


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        made.setdefault(name, value)
    return made


def _integer(digits: str) -> int | float:
    if len(digits) <= 20 and -(2**63) <= (value := int(digits)) < 2**64:
        return value
    return _float(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise OverflowError
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_first_wins, parse_int=_integer, parse_float=_float, strict=True
)


def _parse_error(message: str, offset: int | None = None) -> StatusError:
    place = "" if offset is None else f" at offset: {offset}"
    return StatusError(f"JSON Parse error: {message}{place}")


def _too_deep() -> StatusError:
    return _parse_error(f"Nested deeper than {DEEPEST} levels.")


def _check_characters(text: str, end: int) -> None:
    """Raises where the value that ends at `end` holds bytes or escapes that are no characters."""
    if not text.isascii() and (broken := _INVALID_BYTE.search(text, 0, end)):
        raise _parse_error("Invalid encoding in string.", _bytes_before(text, broken.start()))
    if "\\u" not in text:
        return
    high = None  # a first half of a surrogate pair; the second half must follow at once
    for escape in _ESCAPE.finditer(text, 0, end):
        unit = int(escape[1] or "0", 16)
        low = 0xDC00 <= unit <= 0xDFFF
        if low != (high is not None and high.end() == escape.start()) or (high and not low):
            raise _broken_pair(text, high or escape)
        high = escape if 0xD800 <= unit <= 0xDBFF else None
    if high:
        raise _broken_pair(text, high)


def _broken_pair(text: str, escape: re.Match) -> StatusError:
    place = _bytes_before(text, escape.start())
    return _parse_error("The surrogate pair in string is invalid.", place)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(inner, (dict, list)) for inner in level)


def _as_rapidjson(error: json.JSONDecodeError, text: str) -> StatusError:
    """Python's complaint in RapidJSON's words, at the byte where RapidJSON stops."""
    message, place = error.msg, error.pos
    if message == "Expecting value":
        if place >= len(text) and not _BRACKET_OR_STRING.search(text):
            return _parse_error("The document is empty.", _bytes_before(text, place))
        words, place = "Invalid value.", place + _matching(text[place : place + 9])
    elif message == "Expecting ',' delimiter":
        words = _missing_comma(text, place)
    elif message.startswith("Expecting property name"):
        words = "Missing a name for object member."
    elif message.startswith("Expecting ':'"):
        words = "Missing a colon after a name of object member."
    elif message.startswith("Illegal trailing comma"):
        in_object = message.endswith("object")
        words = "Missing a name for object member." if in_object else "Invalid value."
        place = _after_white_space(text, place + 1)
    elif message.startswith("Unterminated string"):
        words, place = "Missing a closing quotation mark in string.", len(text)
    elif message.startswith("Invalid control character"):
        nul = text[place] == "\0"
        words = "Missing a closing quotation mark" if nul else "Invalid encoding"
        words += " in string."
    elif message.startswith("Invalid \\uXXXX"):
        words = "Incorrect hex digit after \\u escape in string."
        place = text.rfind("\\", 0, place + 1)
    elif message.startswith("Invalid \\escape"):
        words = "Invalid escape character in string."
    else:
        words = "Unspecific syntax error."
    return _parse_error(words, _bytes_before(text, place))


def _missing_comma(text: str, place: int) -> str:
    after = text[place : place + 1]
    if text[place - 1].isdigit() and after == ".":
        return "Miss fraction part in number."
    if text[place - 1].isdigit() and after in ("e", "E"):
        return "Miss exponent in number."
    opened: list[str] = []
    for found in _BRACKET_OR_STRING.finditer(text, 0, place):
        if found[0] in "[{":
            opened.append(found[0])
        elif found[0] in "]}":
            opened.pop()
    closing, what = ("}", "object member") if opened[-1:] == ["{"] else ("]", "array element")
    return f"Missing a comma or {closing} after an {what}."


def _matching(text: str) -> int:
    """How many characters of a broken literal are right; RapidJSON stops at the first wrong one."""
    if text[:1] == "-":
        return 1
    if not text[:1].isalpha():
        return 0
    lengths = [0]
    for literal in _LITERALS:
        agree = 0
        while agree < min(len(text), len(literal)) and text[agree] == literal[agree]:
            agree += 1
        lengths.append(agree)
    return max(lengths)


def _bytes_before(text: str, place: int) -> int:
    return len(text[:place].encode("utf-8", "surrogateescape"))


def _after_white_space(text: str, place: int) -> int:
    """The place of the first character from `place` on that is no white space."""
    found = _WHITE_SPACE.match(text, place)
    return found.end() if found else place
