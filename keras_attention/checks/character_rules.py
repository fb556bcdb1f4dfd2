"""What is odd in the characters of a data set: rules as in `pair_rules`, on what is hard to see."""

import collections
import re
import unicodedata
from collections.abc import Iterator

from keras_attention.checks.findings import BLANK, Finding, Part, number_of, on_each_part, show
from keras_attention.text.tokens import VocabularyKind

_ODD = {
    "invisible": "is invisible; remove it unless the writing system needs it",
    "control": "is a control character; remove it",
    "line_separators": "ends a line in other programs: two lines may have been merged",
    "spaces": "is a space that is not the plain one, nor separates words",
    "replacement": "was left by a failed conversion; go back to the original file",
}
_KINDS_SHOWN = 12  # characters of one kind with a finding of their own
_LINE_ENDS = frozenset("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


@on_each_part
def odd_characters(part: Part, *_) -> Iterator[Finding]:
    """Characters that nobody sees, and the mark of text that was damaged before: one by one."""
    texts = [pair.source + pair.target for pair in part.pairs]
    odd: dict[str, list[str]] = collections.defaultdict(list)
    for character in sorted(set().union(*texts)):
        kind = _oddness(character)
        if kind:
            odd[kind].append(character)
    for kind, characters in sorted(odd.items()):
        for character in characters[:_KINDS_SHOWN]:
            lines = [index for index, text in enumerate(texts) if character in text]
            count = sum(texts[index].count(character) for index in lines)
            times = number_of(count, "time")
            message = f"{show(character)} ({times}) {_ODD[kind]}"
            yield part.finding(kind, "warning", lines, message)
        rest = frozenset(characters[_KINDS_SHOWN:])
        if rest:
            lines = [index for index, text in enumerate(texts) if not rest.isdisjoint(text)]
            message = f"{len(rest)} further characters, of each of which: {_ODD[kind]}"
            yield part.finding(kind, "warning", lines, message)


# In the code pages that double encoding takes: what the bytes 0x80 to 0xff look like.
_AS_BYTE = {bytes([b]).decode("latin-1"): b for b in range(0x80, 0x100)}
_AS_BYTE |= {
    bytes([b]).decode("cp1252"): b
    for b in range(0x80, 0xA0)
    if b not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_RUN = re.compile(f"[{''.join(map(re.escape, _AS_BYTE))}]{{2,}}")


@on_each_part
def encoded_twice(part: Part, *_) -> Iterator[Finding]:
    """Text whose UTF-8 was read as Latin-1 or Windows-1252 and encoded again: cafÃ© for café."""
    found: dict[int, tuple[str, str]] = {}
    for index, pair in enumerate(part.pairs):
        for text in pair[:2]:
            if not text.isascii() and (fixed := _decoded_once(text)) != text:
                found.setdefault(index, (text, fixed))
    if found:
        text, fixed = next(iter(found.values()))
        yield part.finding(
            "encoded_twice",
            "warning",
            found,
            f"text that was encoded twice, such as {show(text)} for {show(fixed)}; go back to the "
            "original file and save it as UTF-8",
        )


def _decoded_once(text: str) -> str:
    """A text with each run of characters that are UTF-8 read as another encoding put right."""
    return _RUN.sub(lambda run: _as_utf8(run[0]), text)


def _as_utf8(run: str) -> str:
    try:
        decoded = bytes(_AS_BYTE[character] for character in run).decode("utf-8")
    except UnicodeDecodeError:
        return run
    # One letter before a quotation mark, as in German ß“, can be UTF-8 by chance: there, only the
    # beginnings of Latin letters (Â, Ã) and of characters of three and four bytes count.
    by_chance = len(decoded) == 1 and run[0] not in "ÂÃ" and len(run) == 2
    readable = decoded.replace("\N{NO-BREAK SPACE}", " ").isprintable()
    return decoded if readable and not by_chance else run


@on_each_part
def edge_spaces(
    part: Part, source_tokens: VocabularyKind, target_tokens: VocabularyKind
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
    if character in _LINE_ENDS:
        return "line_separators"
    if BLANK.match(character):
        return "invisible"
    category = unicodedata.category(character)
    if category == "Zs":
        return None if character == " " else "spaces"
    return {"Cf": "invisible", "Cc": "control"}.get(category)
