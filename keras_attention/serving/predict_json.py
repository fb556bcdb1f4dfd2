"""The JSON of predict requests into texts, and signature outputs into JSON.

Every signature of an export takes one tensor of strings, so that is what a request can hold. The
order of the checks and their wording are those of TensorFlow Serving's util/json_tensor.cc.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
from typing import Any

import numpy as np

from keras_attention.serving.json_text import float_text, quoted, type_name
from keras_attention.serving.statuses import StatusError

_BASE64_SPACE = re.compile(r"[ \t\r\n\f\v]+")


@dataclasses.dataclass(frozen=True)
class Texts:
    """What a predict request holds.

    Attributes:
        texts: Strings, or bytes where the request was base64; all of them in row-major order.
        shape: Of the tensor they make.
        row_format: Whether they came as "instances" and are answered as "predictions".
    """

    texts: list[str | bytes]
    shape: tuple[int, ...]
    row_format: bool


def signature_name(document: dict[str, Any]) -> str:
    """The signature that a request asks for; "" for the default one.

    Raises:
        StatusError: it is no string.
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise StatusError(
            f"JSON Value: {quoted(document)} not formatted correctly. 'signature_name' key must be "
            "a string value."
        )
    return name


def read_texts(document: dict[str, Any], input_name: str) -> Texts:
    """The tensor in a predict request, whose input is called `input_name`.

    Raises:
        StatusError: it is missing, ragged, or not of strings.
    """
    if "instances" in document:
        if "inputs" in document:
            raise StatusError(
                f"JSON Value: {quoted(document)} Not formatted correctly expecting only one of "
                "'inputs' or 'instances' keys to exist "
            )
        instances = document["instances"]
        if not isinstance(instances, list):
            raise StatusError(
                f"JSON Value: {quoted(document)} Expecting 'instances' to be an list/array"
            )
        if not instances:
            raise StatusError(f"JSON Value: {quoted(document)} No values in 'instances' array")
        return _read_rows(instances, input_name)
    if "inputs" in document:
        return _read_columns(document["inputs"], input_name)
    raise StatusError("Missing 'inputs' or 'instances' key")


def _read_rows(instances: list, input_name: str) -> Texts:
    named = _is_object(instances[0])
    texts: list[str | bytes] = []
    first: list[tuple[int, tuple[int, ...]]] = []  # size and shape of the first row, once read

    def add(row: Any) -> None:
        shape = _shape(row)
        before = len(texts)
        _fill(row, 0, shape, texts)
        size = len(texts) - before
        if not first:
            first.append((size, shape))
        first_size, first_shape = first[0]
        if size != first_size:
            raise StatusError(f"Expecting tensor size: {first_size} but got: {size}")
        if shape != first_shape:
            expected, got = (",".join(map(str, dims)) for dims in (first_shape, shape))
            raise StatusError(f"Expecting shape [{expected}] but got: [{got}]")

    for place, row in enumerate(instances):
        if named != _is_object(row):
            wanted, got = ("object", "list") if named else ("value/list", "object")
            raise StatusError(f"Expecting {wanted} but got {got} at item {place} of input list")
        for key, value in row.items() if named else [(None, row)]:
            try:
                if key not in (None, input_name):
                    raise StatusError(f"JSON object: does not have named input: {key}")
                add(value)
            except StatusError as error:
                of_key = "" if key is None else f" key: {key}"
                raise StatusError(
                    f"Failed to process element: {place}{of_key} of 'instances' list. Error: "
                    f"{error.code}: {error.message}"
                ) from None
        if named and not row:
            raise StatusError(
                f"Failed to process element: {place} of 'instances' list. JSON object: "
                f"{quoted(row)} must only have keys: {input_name}"
            )
    return Texts(texts, (len(instances), *first[0][1]), row_format=True)


def _read_columns(value: Any, input_name: str) -> Texts:
    if _is_object(value):
        if input_name not in value:
            raise StatusError(f"Missing named input: {input_name} in 'inputs' object.")
        value = value[input_name]
    texts: list[str | bytes] = []
    shape = _shape(value)
    _fill(value, 0, shape, texts)
    return Texts(texts, shape, row_format=False)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _shape(value: Any) -> tuple[int, ...]:
    """The shape that the first elements of nested lists promise."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _fill(value: Any, level: int, shape: tuple[int, ...], texts: list[str | bytes]) -> None:
    """Appends the strings in nested lists, which must have `shape`."""
    if isinstance(value, list):
        if level >= len(shape):
            raise StatusError(
                f"Encountered list at unexpected level: {level} expected < {len(shape)}"
            )
        if len(value) != shape[level]:
            raise StatusError(
                f"Encountered list at unexpected size: {len(value)} at level: {level} expected "
                f"size: {shape[level]}"
            )
        for inner in value:
            _fill(inner, level + 1, shape, texts)
        return
    if level != len(shape):
        raise StatusError(
            f"JSON Value: {quoted(value)} found at incorrect level: {level + 1} in the JSON DOM. "
            f"Expected at level: {len(shape)}"
        )
    if isinstance(value, dict):
        texts.append(_base64_bytes(value))
    elif isinstance(value, str):
        texts.append(value)
    else:
        raise StatusError(
            f"JSON Value: {quoted(value)} Type: {type_name(value)} is not of expected type: string"
        )


def _base64_bytes(value: dict) -> bytes:
    if not _is_base64(value):
        raise StatusError(f"JSON Value: {quoted(value)} not formatted correctly for base64 data")
    text = _BASE64_SPACE.sub("", value["b64"])
    try:
        padding = "=" * (-len(text) % 4) if "=" not in text else ""
        return base64.b64decode(text + padding, validate=True)
    except (binascii.Error, ValueError):
        raise StatusError("Unable to base64 decode") from None


# ---------------------------------------------------------------- answers


def write_outputs(outputs: dict[str, np.ndarray], row_format: bool) -> bytes:
    """A signature's outputs as "predictions" (an entry a row) or "outputs" (an entry a tensor).

    Args:
        outputs: Arrays of bytes objects, float32, int32 or bool by name, as many rows in each.
        row_format: Which of the two.

    Raises:
        StatusError: row format with no rows, as TensorFlow Serving refuses it.
    """
    names = sorted(outputs)
    if row_format:
        for name in names:
            if len(outputs[name]) < 1:
                raise StatusError(f"Tensor name: {name} has invalid batch size: 0")
        columns = [_folded(outputs[name], 1) for name in names]
        if len(names) == 1:
            rows = columns[0]
        else:
            keys = [json.dumps(name) + ": " for name in names]
            rows = [
                "{" + ", ".join(map(str.__add__, keys, cells)) + "}"
                for cells in zip(*columns, strict=True)
            ]
        text = '{\n"predictions": [' + ",\n".join(rows) + "]\n}"
    else:
        wholes = [_folded(outputs[name], 0)[0] for name in names]
        named = [f"{json.dumps(n)}: {whole}" for n, whole in zip(names, wholes, strict=True)]
        value = wholes[0] if len(names) == 1 else "{" + ",\n".join(named) + "}"
        text = '{\n"outputs": ' + value + "\n}"
    return text.encode("utf-8")


def _folded(array: np.ndarray, kept: int) -> list[str]:
    """The JSON of each part of an array, which its first `kept` dimensions number."""
    parts = _elements(array.reshape(-1))
    for level in range(array.ndim - 1, kept - 1, -1):
        size, count = array.shape[level], math.prod(array.shape[:level])
        parts = (
            [
                "[" + ", ".join(parts[start : start + size]) + "]"
                for start in range(0, max(count * size, 1), size)
            ]
            if size
            else ["[]"] * count
        )
    return parts


def _elements(flat: np.ndarray) -> list[str]:
    if flat.dtype == object:
        texts = [value.decode("utf-8", "replace") for value in flat]
        return [json.dumps(text, ensure_ascii=False) for text in texts]
    if flat.dtype == np.float32:
        parts = ["0.0"] * len(flat)  # most attention weights of padding
        for place in np.flatnonzero(flat).tolist():
            parts[place] = float_text(flat[place])
        return parts
    if flat.dtype == bool:
        return ["true" if value else "false" for value in flat]
    return [str(value) for value in flat.tolist()]
