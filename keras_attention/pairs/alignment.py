"""Gold alignment between the tokens of a pair, in Pharaoh form.

`i-j` is a sure link and `ipj` a possible one (the S and P of Och and Ney, 2003), between token
positions as written, counted from 0.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_attention.pairs.lines import LineError
from keras_attention.text.normal_form import NORMAL_FORMS, normalise, positions_after
from keras_attention.text.tokens import split_tokens

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
    links: Iterable[Link], source: str, source_tokens: Sequence[str]
) -> tuple[Link, ...] | None:
    """Links counted in the source as written, counted in the tokens that a model read of it.

    A normal form makes several tokens of one character, or one of several. A link to a character
    that became several tokens is a possible link to each of them: the gold does not say which.

    Args:
        links: As a line of data gives them.
        source: The source text of that line.
        source_tokens: What the model made of it: its words, or its characters in a normal form.

    Returns:
        None where the tokens are neither, so that nothing can be said.
    """
    tokens = list(source_tokens)
    for form in NORMAL_FORMS:
        normal = normalise(source, form)
        if list(normal) == tokens:
            return _moved_links(links, positions_after(source, form))
        if split_tokens(normal, "word") == tokens:  # no normal form joins or divides words
            return _moved_links(links, [(place,) for place in range(len(tokens))])
    return None


def _moved_links(
    links: Iterable[Link], positions: Sequence[tuple[int, ...]]
) -> tuple[Link, ...] | None:
    sure: dict[tuple[int, int], bool] = {}
    for link in links:
        if link.source >= len(positions):
            return None
        places = positions[link.source]
        for place in places:
            key = place, link.target
            sure[key] = sure.get(key, False) or (link.sure and len(places) == 1)
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
