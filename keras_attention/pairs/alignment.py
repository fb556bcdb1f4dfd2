"""Gold alignment between the tokens of a pair, in Pharaoh form.

`i-j` is a sure link and `ipj` a possible one (the S and P of Och and Ney, 2003), between token
positions as written, counted from 0.
"""

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from keras_attention.pairs.lines import LineError
from keras_attention.text.tokens import split_tokens

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


@functools.lru_cache(maxsize=1 << 15)  # alignments repeat: half the time of reading data/dates
def _parse_links(text: str) -> tuple[Link, ...]:
    links = []
    for part in split_tokens(text, "word"):
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(part)
        links.append(Link(int(match[1]), int(match[3]), match[2] == "-"))
    return tuple(links)
