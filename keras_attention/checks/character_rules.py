"""What is odd in the characters of a data set: rules as in `pair_rules`, on what is hard to see."""

import collections
import unicodedata
from collections.abc import Iterator

from keras_attention.checks.findings import Finding, Part, list_tokens, number_of, on_each_part
from keras_attention.text.tokens import TokenKind

_ODD = {
    "invisible": "invisible characters",
    "control": "control characters",
    "spaces": "spaces that are not the plain one, nor separate words",
    "replacement": "replacement characters, left by a failed conversion; go back to the original",
}


@on_each_part
def odd_characters(part: Part, *_) -> Iterator[Finding]:
    """Characters that nobody sees, and the mark of text that was damaged before."""
    texts = [pair.source + pair.target for pair in part.pairs]
    odd = collections.defaultdict(set)
    for character in set().union(*texts):
        kind = _oddness(character)
        if kind:
            odd[kind].add(character)
    for kind, characters in sorted(odd.items()):
        counts, lines = collections.Counter(), []
        for index, text in enumerate(texts):
            here = [character for character in text if character in characters]
            if here:
                counts.update(here)
                lines.append(index)
        yield part.finding(kind, "warning", lines, f"{_ODD[kind]}: {list_tokens(counts)}")


@on_each_part
def edge_spaces(
    part: Part, source_tokens: TokenKind, target_tokens: TokenKind
) -> Iterator[Finding]:
    """Spaces around a text; between words they mean nothing, among characters they are learnt."""
    for side, kind in (("source", source_tokens), ("target", target_tokens)):
        texts = [getattr(pair, side) for pair in part.pairs]
        padded = [i for i, text in enumerate(texts) if text[0] == " " or text[-1] == " "]
        if padded and kind == "char":
            yield part.finding(
                f"{side}_edge_spaces",
                "info",
                padded,
                f"{side}s begin or end with a space, a token too",
            )


def normal_forms(parts: list[Part], *_) -> Iterator[Finding]:
    """The same letter in two forms: composed (NFC) in one place, decomposed (NFD) in another."""
    composed = 0
    decomposed: list[list[int]] = []
    for part in parts:
        texts = [f"{pair.source}\n{pair.target}" for pair in part.pairs]
        decomposed.append(
            [i for i, text in enumerate(texts) if not unicodedata.is_normalized("NFC", text)]
        )
        composed += sum(not unicodedata.is_normalized("NFD", text) for text in texts)
    for part, indices in zip(parts, decomposed, strict=True):
        if indices and composed:
            message = (
                "lines have decomposed characters (not NFC) where "
                f"{number_of(composed, 'line')} of the data have composed ones; use one form"
            )
            yield part.finding("normal_form", "warning", indices, message)
        elif indices:
            message = "lines have decomposed characters (not NFC), as all of the data"
            yield part.finding("normal_form", "info", indices, message)


def _oddness(character: str) -> str | None:
    """Key of _ODD for a character that deserves a look."""
    if character == "\N{REPLACEMENT CHARACTER}":
        return "replacement"
    category = unicodedata.category(character)
    if category in ("Zs", "Zl", "Zp"):
        return None if character == " " else "spaces"
    return {"Cf": "invisible", "Cc": "control"}.get(category)
