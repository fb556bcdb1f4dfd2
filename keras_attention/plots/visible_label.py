"""Tokens into labels in which every character shows, for figures and pages alike.

`visibleLabel` in `web/viewer_assets/attention-view.js` does the same in the browser.
"""

from __future__ import annotations

import unicodedata

LONGEST_LABEL = 48  # characters; longer tokens are cut in the middle, with an ellipsis

_SPELT = {" ": "␣", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": r"\0", "\N{NO-BREAK SPACE}": "⍽"}
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # shape the characters around them; invisible by themselves


def visible_label(token: str, longest: int = LONGEST_LABEL) -> str:
    """`token` as text in which every character shows.

    A space becomes `␣`; tab, newline, return and NUL become their usual escapes; any other control,
    separator, unassigned or lone surrogate character becomes its code point, such as `U+200B`; an
    empty token becomes `∅`; a combining mark with nothing to sit on gets the dotted circle `◌`.
    Everything else, `$`, `_` and backslash included, stays as it is. Tokens of more than
    `longest` characters are cut in the middle.
    """
    if not token:
        return "∅"
    if len(token) > longest:
        token = f"{token[: longest // 2]}…{token[1 - (longest + 1) // 2 :]}"
    shaped = len(token) > 1
    text = "".join(
        character if shaped and character in _JOINERS else _visible_character(character)
        for character in token
    )
    return f"◌{text}" if unicodedata.category(text[0]).startswith("M") else text


def _visible_character(character: str) -> str:
    if character in _SPELT:
        return _SPELT[character]
    if character in _JOINERS or unicodedata.category(character)[0] in "CZ":
        return f"U+{ord(character):04X}"
    return character


def is_lone(label: str) -> bool:
    """Whether a label is one character with its combining marks."""
    return sum(not unicodedata.category(c).startswith("M") for c in label) == 1
