"""Unicode normal forms outside of TensorFlow, and the tables that do the same in a graph.

All comes from Python's `unicodedata`; a model that is exported carries its tables with it.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from typing import NamedTuple

import numpy as np

NO_FORM = "none"
NORMAL_FORMS = (NO_FORM, "NFC", "NFD")

# A code point's canonical decomposition, carried out to the end, has at most this many.
LONGEST_DECOMPOSITION = 4
_HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)


def normalise(text: str, form: str) -> str:
    """The text in a normal form: "none" leaves it as written, else "NFC" or "NFD"."""
    if form == NO_FORM:
        return text
    if form == "NFC":
        return unicodedata.normalize("NFC", text)
    if form == "NFD":
        return unicodedata.normalize("NFD", text)
    raise ValueError(f"form must be one of {', '.join(NORMAL_FORMS)}. Received: form={form!r}")


def positions_after(text: str, form: str) -> list[tuple[int, ...]]:
    """For each code point of a text, its places in the text's normal form.

    One that is decomposed has several places, and several that are composed share one.
    """
    places: list[list[int]] = [[] for _ in text]
    for after, befores in enumerate(origins(text, form)):
        for before in befores:
            places[before].append(after)
    return [tuple(each) for each in places]


def origins(text: str, form: str) -> list[tuple[int, ...]]:
    """Where each character of `normalise(text, form)` comes from.

    Returns:
        For each, the positions in `text` of the characters that it is made of, ascending: one or
        several in NFC, exactly one in NFD. A character of `text` that becomes several is the origin
        of each.
    """
    if form == NO_FORM:
        return [(position,) for position in range(len(text))]
    decomposed = _decomposed_origins(text)
    if form == "NFD":
        return [(position,) for position in decomposed]
    # A text and its NFC have one NFD: its characters stand for each other place by place.
    composed = normalise(text, form)
    sources: list[set[int]] = [set() for _ in composed]
    for position, origin in zip(_decomposed_origins(composed), decomposed, strict=True):
        sources[position].add(origin)
    return [tuple(sorted(positions)) for positions in sources]


def _decomposed_origins(text: str) -> list[int]:
    """For each character of the NFD of `text`, the position that it comes from."""
    found: list[int] = []
    marks: list[tuple[int, int]] = []  # class and position of combining characters in a row
    for position, character in enumerate(text):
        for part in unicodedata.normalize("NFD", character):
            combining_class = unicodedata.combining(part)
            if combining_class:
                marks.append((combining_class, position))
                continue
            found += [place for _, place in sorted(marks, key=lambda mark: mark[0])]
            marks = []
            found.append(position)
    return found + [place for _, place in sorted(marks, key=lambda mark: mark[0])]


class Tables(NamedTuple):
    """What the algorithms of Unicode Standard Annex 15 look up; Hangul syllables are computed.

    Attributes:
        decomposable: int32 `[D]`, sorted: code points that have a canonical decomposition.
        decompositions: int32 `[D, LONGEST_DECOMPOSITION]`, carried out to the end, -1 behind it.
        combining: int32 `[C]`, sorted: code points with a combining class other than 0.
        classes: int32 `[C]`, those classes, 1 to 254.
        pairs: int64 `[P]`, sorted: `pair_key` of two code points that NFC makes one.
        composites: int32 `[P]`, what they become.
    """

    decomposable: np.ndarray
    decompositions: np.ndarray
    combining: np.ndarray
    classes: np.ndarray
    pairs: np.ndarray
    composites: np.ndarray


def pair_key(first, second):
    """One number for two code points, of int64 scalars, arrays or tensors."""
    return first * (sys.maxunicode + 1) + second


@functools.cache
def tables() -> Tables:
    """The tables of this Python's Unicode version, all code points looked at."""
    decompositions, classes, pairs = {}, {}, {}
    for point in range(sys.maxunicode + 1):
        if point in _HANGUL_SYLLABLES or point in _SURROGATES:
            continue
        character = chr(point)
        if combining_class := unicodedata.combining(character):
            classes[point] = combining_class
        whole = unicodedata.normalize("NFD", character)
        if whole == character:
            continue
        points = [ord(part) for part in whole]
        decompositions[point] = points + [-1] * (LONGEST_DECOMPOSITION - len(points))
        step = [int(part, 16) for part in unicodedata.decomposition(character).split()]
        # Some decompose and are never put together again.
        if len(step) == 2 and unicodedata.normalize("NFC", character) == character:
            pairs[pair_key(*step)] = point
    order = sorted(pairs)
    return Tables(
        np.array(list(decompositions), np.int32),
        np.array(list(decompositions.values()), np.int32),
        np.array(list(classes), np.int32),
        np.array(list(classes.values()), np.int32),
        np.array(order, np.int64),
        np.array([pairs[key] for key in order], np.int32),
    )
