"""Subwords: pieces of words, cut by one rule that a program in any language can follow.

The rule, the same in Python, in a graph (`subwords_graph`) and elsewhere:

1. A text that is not empty gets one space before it, so that a word is written with the same pieces
   at the beginning and in the middle.
2. From the left, the longest piece of the vocabulary that the rest begins with is the next token.
3. Where no piece fits, the next character (Unicode code point) is a token, an unknown one.

Tokens joined, less the one space, are the text: nothing is lost. Cutting from the left with pieces
that were learned by byte-pair encoding does about as well as replaying its merges (Uzan et al.,
2024, "Greed is All You Need").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

SPACE = " "
_CODE_POINTS = 0x110000  # more than there are: with it, a node and a code point make one number
NO_PIECE = -1


def split_pieces(text: str, pieces: Pieces) -> list[str]:
    """The tokens of a text by the rule above."""
    if not text:
        return []
    text = SPACE + text
    tokens = []
    start = 0
    while start < len(text):
        length = pieces.longest_at(text, start)
        tokens.append(text[start : start + max(length, 1)])
        start += max(length, 1)
    return tokens


def join_pieces(tokens: Sequence[str]) -> str:
    """The text that tokens make together."""
    return "".join(tokens).removeprefix(SPACE)


class Pieces:
    """A set of pieces that is asked for the longest one at a place of a text.

    Args:
        pieces: Strings that are not empty.
    """

    def __init__(self, pieces: Iterable[str]):
        self._pieces = frozenset(pieces)
        lengths: dict[str, set[int]] = {}
        for piece in self._pieces:
            lengths.setdefault(piece[0], set()).add(len(piece))
        # By first character, the lengths to try, the longest first.
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def longest_at(self, text: str, start: int) -> int:
        """Characters of the longest piece that stands at `start`; 0 if there is none."""
        for length in self._lengths.get(text[start], ()):
            if text[start : start + length] in self._pieces:
                return length
        return 0


class Trie(NamedTuple):
    """Pieces as a tree of characters, in arrays that a graph can hold; node 0 is the root.

    Attributes:
        edges: int64 `[E]`, sorted: `edge_key` of a node and a code point that leads on from it.
        children: int32 `[E]`, the node that each edge leads to.
        piece_at: int32 `[E + 1]`, for each node the number of the piece that ends there, or
            `NO_PIECE`.
        depth: Characters of the longest piece.
    """

    edges: np.ndarray
    children: np.ndarray
    piece_at: np.ndarray
    depth: int


def edge_key(node, code_point):
    """One number for a node and a code point, of int64 scalars, arrays or tensors."""
    return node * _CODE_POINTS + code_point


def trie_of(pieces: Sequence[str]) -> Trie:
    """The trie of pieces, numbered in their order."""
    edges: dict[int, int] = {}
    ends: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        node = 0
        for character in piece:
            node = edges.setdefault(edge_key(node, ord(character)), len(edges) + 1)
        ends[node] = number
    order = sorted(edges)
    piece_at = np.full(len(edges) + 1, NO_PIECE, np.int32)
    piece_at[list(ends)] = list(ends.values())
    return Trie(
        np.array(order, np.int64),
        np.array([edges[key] for key in order], np.int32),
        piece_at,
        max(map(len, pieces), default=0),
    )
