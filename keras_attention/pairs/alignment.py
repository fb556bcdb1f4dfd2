"""Gold alignment between the tokens of a pair, in Pharaoh form.

`i-j` is a sure link and `ipj` a possible one (the S and P of Och and Ney, 2003), between token
positions as written, counted from 0.
"""

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from keras_attention.pairs.lines import LineError
from keras_attention.text.normal_form import NO_FORM, origins
from keras_attention.text.tokens import TokenKind, split_tokens

_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


class Link(NamedTuple):
    """One link of an alignment: positions of a source token and a target token, from 0."""

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


def links_in_form(
    links: Iterable[Link], source: str, form: str, source_tokens: TokenKind = "char"
) -> tuple[Link, ...]:
    """Links of a source as written, carried over to the source in a normal form.

    A model with a `source_form` reads other positions than the file's alignment counts: in NFD, 년
    is three characters, and a link to it becomes one to each of the three.

    Args:
        links: Between tokens of `source` as written and target tokens, which have no normal form.
        source: The text as written.
        form: "none", "NFC" or "NFD".
        source_tokens: Words keep their positions, for no normal form adds or removes a space.

    Returns:
        The links, in the order of those they come from, none twice; of two links between the same
        tokens a sure one stays.
    """
    links = tuple(links)
    if form == NO_FORM or source_tokens == "word":
        return links
    positions: list[list[int]] = [[] for _ in source]
    for place, origin in enumerate(origins(source, form)):
        for position in origin:
            positions[position].append(place)
    carried: dict[tuple[int, int], bool] = {}
    for link in links:
        for place in positions[link.source]:
            key = place, link.target
            carried[key] = carried.get(key, False) or link.sure
    return tuple(Link(place, target, sure) for (place, target), sure in carried.items())


@functools.lru_cache(maxsize=1 << 15)  # alignments repeat: half the time of reading data/dates
def _parse_links(text: str) -> tuple[Link, ...]:
    links = []
    for part in split_tokens(text, "word"):
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(part)
        links.append(Link(int(match[1]), int(match[3]), match[2] == "-"))
    return tuple(links)
