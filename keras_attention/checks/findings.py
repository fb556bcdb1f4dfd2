"""What can be found in a data set: a finding, the part that it is about, and words for both."""

import collections
import functools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from keras_attention.pairs.pair import Pair
from keras_attention.text.tokens import TokenKind

_LINES_SHOWN = 5
_TOKENS_SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong ("error": training refuses it), odd ("warning") or known ("info")."""

    kind: str
    severity: Literal["error", "warning", "info"]
    file: str
    count: int  # lines that have it; 1 for a whole file
    lines: tuple[int, ...]  # numbers of the first lines that have it, from 1; empty if not known
    message: str


class Part(NamedTuple):
    """A part of a data set: its pairs and, where known, the line each stands on."""

    name: str
    pairs: Sequence[Pair]
    lines: Sequence[int] = ()

    def finding(self, kind: str, severity: str, indices: Iterable[int], message: str) -> Finding:
        """A finding about the pairs at `indices`."""
        indices = sorted(indices)
        shown = tuple(self.lines[index] for index in indices[:_LINES_SHOWN]) if self.lines else ()
        return Finding(kind, severity, self.name, len(indices), shown, message)


Rule = Callable[[list[Part], TokenKind, TokenKind], Iterator[Finding]]


def on_each_part(rule: Callable[[Part, TokenKind, TokenKind], Iterator[Finding]]) -> Rule:
    """Makes a rule on one part a rule on all; parts without pairs have findings of their own."""

    @functools.wraps(rule)
    def on_all(parts: list[Part], source_tokens: TokenKind, target_tokens: TokenKind):
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
        or text in " \N{REPLACEMENT CHARACTER}"
    ):
        name = unicodedata.name(text, "")
        return f"U+{ord(text):04X}{' ' * bool(name)}{name}"
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
