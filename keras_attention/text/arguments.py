"""Checks of what Python code passes: texts, paths, and numbers within bounds."""

from __future__ import annotations

import math
import numbers
import operator
import os
import pathlib
from collections.abc import Iterable, Mapping, Set

_LONGEST_SHOWN = 60


def checked_texts(texts: object, name: str = "texts") -> list[str | bytes]:
    """The texts as a list.

    Args:
        texts: A sequence of `str` or `bytes`, which NumPy's strings are, too; a one-dimensional
            array of them.
        name: What a message calls them.

    Raises:
        TypeError: it is one text, no sequence, or holds something else; the message names the
            index.
        ValueError: it is an array of another number of dimensions than one.
    """
    expected = f"{name} must be a sequence of strings"
    if isinstance(texts, (str, bytes, bytearray)):
        raise TypeError(f"{expected}, for one text a list that holds it. Received: {_of(texts)}")
    dimensions = getattr(texts, "ndim", 1)
    if isinstance(dimensions, int) and dimensions != 1:
        shape = tuple(getattr(texts, "shape", ()))
        raise ValueError(f"{expected}, of one dimension. Received: {name}.shape={shape}")
    if not isinstance(texts, Iterable) or isinstance(texts, (Mapping, Set)):
        raise TypeError(f"{expected}. Received: {_of(texts)}")
    checked = []
    for index, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(
                f"{name}[{index}] must be a string (str, or bytes in UTF-8). Received: {_of(text)}"
            )
        checked.append(text)
    return checked


def checked_integer(value: object, name: str, least: int, most: int, why: str = "") -> int:
    """An int or NumPy integer within `least..most`.

    Raises:
        TypeError: it is of another type; True and 2.0 are no integers here.
        ValueError: it lies outside; `why` ends the message of a value above `most`.
    """
    try:
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer. Received: {name}={value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}. Received: {name}={number}")
    if number > most:
        because = f": {why}" if why else ""
        raise ValueError(f"{name} must be at most {most}{because}. Received: {name}={number}")
    return number


def checked_paths(paths: object) -> list[pathlib.Path]:
    """The run folders of an ensemble.

    Raises:
        TypeError: it is no sequence of paths; the message names the index.
        ValueError: there is none.
    """
    expected = "path must be a path, or a sequence of the paths of run folders"
    if not isinstance(paths, Iterable) or isinstance(paths, (bytes, Mapping, Set)):
        raise TypeError(f"{expected}. Received: path={paths!r}")
    checked = []
    for index, path in enumerate(paths):
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"{expected}. Received: path[{index}]={path!r}")
        checked.append(pathlib.Path(path))
    if not checked:
        raise ValueError(f"{expected}, at least one. Received: path={paths!r}")
    return checked


def checked_number(value: object, name: str) -> float | None:
    """A finite real number, or None.

    Raises:
        TypeError: it is of another type.
        ValueError: it is infinite or not a number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number or None. Received: {name}={value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite. Received: {name}={value!r}")
    return float(value)


def _of(value: object) -> str:
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
    return f"{shown} of type {type(value).__name__}"
