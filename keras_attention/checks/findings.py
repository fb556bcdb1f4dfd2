"""What can be found in a data set: a finding, the part that it is about, and words for both."""

import collections
import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from keras_attention.pairs.pair import Pair
from keras_attention.text.tokens import VocabularyKind

Severity = Literal["error", "warning", "info"]

# What Unicode calls default ignorable, beyond the category Cf, and a blank braille pattern.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)

_LINES_SHOWN = 5
_TOKENS_SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong ("error": training refuses it), odd ("warning") or known ("info")."""

    kind: str
    severity: Severity
    file: str
    count: int  # lines that have it; 1 for a whole file
    lines: tuple[int, ...]  # numbers of the first lines that have it, from 1; empty if not known
    message: str

    @property
    def place(self) -> str:
        """`FILE:LINE` of the first line, `FILE` where no line is known."""
        return self.file + "".join(f":{number}" for number in self.lines[:1])


class Place(NamedTuple):
    """Where a pair stands."""

    file: str
    line: int  # from 1


class Part(NamedTuple):
    """A part of a data set: its pairs and, where known, the place of each."""

    name: str
    pairs: Sequence[Pair]
    places: Sequence[Place] = ()

    def finding(
        self, kind: str, severity: Severity, indices: Iterable[int], message: str
    ) -> Finding:
        """A finding about the pairs at `indices`; its file is that of the first of them."""
        indices = sorted(indices)
        shown = [self.places[i] for i in indices[:_LINES_SHOWN]] if len(self.places) else []
        file = shown[0].file if shown else self.name
        lines = tuple(place.line for place in shown if place.file == file)
        return Finding(kind, severity, file, len(indices), lines, message)


Rule = Callable[[list[Part], VocabularyKind, VocabularyKind], Iterator[Finding]]


def on_each_part(rule: Callable[[Part, VocabularyKind, VocabularyKind], Iterator[Finding]]) -> Rule:
    """Makes a rule on one part a rule on all; parts without pairs have findings of their own."""

    @functools.wraps(rule)
    def on_all(parts: list[Part], source_tokens: VocabularyKind, target_tokens: VocabularyKind):
        for part in parts:
            if part.pairs:
                yield from rule(part, source_tokens, target_tokens)

    return on_all


def number_of(count: int, noun: str) -> str:
    """`1 line`, `1,000 lines`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def list_tokens(counts: collections.Counter) -> str:
    """The most frequent tokens, each with its count."""
    shown = ", ".join(
        f"{show(token)} ({count:,})" for token, count in counts.most_common(_TOKENS_SHOWN)
    )
    return shown + (", ..." if len(counts) > _TOKENS_SHOWN else "")


def show(text: str) -> str:
    """A text fit for one line of a terminal: what cannot be seen is named."""
    if len(text) == 1 and (
        not text.isprintable()
        or unicodedata.combining(text)
        or BLANK.match(text)
        or text in " \N{REPLACEMENT CHARACTER}"
    ):
        name = unicodedata.name(text, "")
        return f"U+{ord(text):04X}{' ' * bool(name)}{name}"
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
