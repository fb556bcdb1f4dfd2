"""Gold alignment between the tokens of a pair, in Pharaoh form.

`i-j` is a sure link and `ipj` a possible one (the S and P of Och and Ney, 2003), between token
positions as written, counted from 0.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_attention.pairs.lines import LineError
from keras_attention.text.normal_form import NORMAL_FORMS, normalise, positions_after
from keras_attention.text.subwords import SPACE
from keras_attention.text.tokens import WORD, split_tokens

_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


class Link(NamedTuple):
    """One link of an alignment.

    Attributes:
        source: Position of the source token, from 0.
        target: Position of the target token, from 0.
        sure: Whether the link is certain; otherwise it is only possible.
    """

    source: int
    target: int
    sure: bool


def parse_alignment(text: str, where: str) -> tuple[Link, ...]:
    """Links from Pharaoh form, in the order written; `where` begins the error of a bad one."""
    try:
        return _parse_links(text)
    except ValueError as error:
        raise LineError(
            "alignment",
            f"{where}: malformed link, expected i-j (sure) or ipj (possible), counted from 0. "
            f"Received: {str(error)[:40]!a}",
        ) from None


def format_alignment(links: Iterable[Link]) -> str:
    """Links in Pharaoh form, as `parse_alignment` reads them."""
    return " ".join(f"{link.source}{'-' if link.sure else 'p'}{link.target}" for link in links)


def carry_links(
    links: Iterable[Link],
    source: str,
    source_tokens: Sequence[str],
    target: str | None = None,
    target_tokens: Sequence[str] = (),
) -> tuple[Link, ...] | None:
    """Links counted in texts as written, counted in the tokens that a model has of them.

    A normal form makes several tokens of one character, or one of several, and a word may be
    several subwords. A link to what became several tokens is a possible link to each of them: the
    gold does not say which.

    Args:
        links: As a line of data gives them.
        source: The source text of that line.
        source_tokens: What the model made of it: its words, its characters in a normal form, or
            subwords.
        target: The target text of that line; without it, positions in the target stay.
        target_tokens: Its tokens.

    Returns:
        None where the tokens are none of these, so that nothing can be said.
    """
    source_places = _places(source, source_tokens)
    target_places = None if target is None else _places(target, target_tokens)
    if source_places is None or (target is not None and target_places is None):
        return None
    return _moved_links(links, source_places, target_places)


def places_as_written(text: str, tokens: Sequence[str]) -> list[int | None] | None:
    """Of each token that a model made of a text, the position in the text as written.

    Args:
        text: A source or a target.
        tokens: Its characters in a normal form, its words, or subwords, whose positions are those
            of their words.

    Returns:
        None for a token that is of no position, such as a subword that is a space; None in all
        where the tokens are not those of the text.
    """
    places = _places(text, tokens)
    if places is None:
        return None
    written: list[int | None] = [None] * len(tokens)
    for position in reversed(range(len(places))):
        for place in places[position]:
            written[place] = position
    return written


def _places(text: str, tokens: Sequence[str]) -> list[tuple[int, ...]] | None:
    """Of each position in a text as written, those of the tokens that it became."""
    tokens = list(tokens)
    for form in NORMAL_FORMS:
        normal = normalise(text, form)
        if list(normal) == tokens:
            return [tuple(places) for places in positions_after(text, form)]
        words = split_tokens(normal, "word")  # no normal form joins or divides words
        if words == tokens:
            return [(place,) for place in range(len(tokens))]
        if "".join(tokens) == SPACE + normal:
            return _pieces_of_words(normal, len(words), tokens)
    return None


def _pieces_of_words(text: str, words: int, pieces: Sequence[str]) -> list[tuple[int, ...]]:
    """Of each word, the subwords that have a character of it."""
    word_at: list[int | None] = [None] * (len(SPACE) + len(text))
    for word, match in enumerate(WORD.finditer(text)):
        first, last = match.span()
        word_at[len(SPACE) + first : len(SPACE) + last] = [word] * (last - first)
    places: list[list[int]] = [[] for _ in range(words)]
    start = 0
    for place, piece in enumerate(pieces):
        for found in sorted({w for w in word_at[start : start + len(piece)] if w is not None}):
            places[found].append(place)
        start += len(piece)
    return [tuple(each) for each in places]


def _moved_links(
    links: Iterable[Link],
    source_places: Sequence[tuple[int, ...]],
    target_places: Sequence[tuple[int, ...]] | None,
) -> tuple[Link, ...] | None:
    sure: dict[tuple[int, int], bool] = {}
    for link in links:
        inside = target_places is None or link.target < len(target_places)
        if link.source >= len(source_places) or not inside:
            return None
        targets = (link.target,) if target_places is None else target_places[link.target]
        sources = source_places[link.source]
        for key in itertools.product(sources, targets):
            single = len(sources) == len(targets) == 1
            sure[key] = sure.get(key, False) or (link.sure and single)
    return tuple(Link(*key, each) for key, each in sure.items())


@functools.lru_cache(maxsize=1 << 15)  # alignments repeat: half the time of reading data/dates
def _parse_links(text: str) -> tuple[Link, ...]:
    links = []
    for part in split_tokens(text, "word"):
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(part)
        links.append(Link(int(match[1]), int(match[3]), match[2] == "-"))
    return tuple(links)
