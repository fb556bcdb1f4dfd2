"""One pair of texts, from a line and to a line.

A line is `source<TAB>target` or `source<TAB>target<TAB>alignment`, in UTF-8. A pair that a model
made has `confidence=0.9731` in the place of the alignment.
"""

import re
from typing import NamedTuple

from keras_attention.pairs.alignment import Link, format_alignment, parse_alignment
from keras_attention.pairs.lines import LineError
from keras_attention.text.tokens import VocabularyKind, counted_tokens


class Pair(NamedTuple):
    """A source text and its target text.

    Attributes:
        source, target: As the file has them.
        alignment: Links between their tokens, where the file gives them.
        confidence: Of the model that gave the target, from 0 to 1; None where none did.
    """

    source: str
    target: str
    alignment: tuple[Link, ...] | None = None  # None: the line has no such column
    confidence: float | None = None


_CONFIDENCE = re.compile(r"confidence=([01](?:\.[0-9]{1,9})?)")


def parse_line(
    line: bytes,
    where: str,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> Pair:
    """The pair on a line.

    Args:
        line: UTF-8, as `strip_line` leaves it.
        where: FILE:LINE, which begins each error.
        source_tokens: What the alignment counts on the source side: code points for "char", words
            for "word" and "subword".
        target_tokens: Likewise on the target side.

    Raises:
        LineError: for invalid UTF-8, a NUL, another number of columns than two or three, a side
            without a token, a malformed link, or one that leaves the pair.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "UTF-16" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else "another encoding"
        raise LineError(
            "utf8",
            f"{where}: invalid UTF-8 at byte {error.start + 1} of the line, perhaps {encoding}; "
            "save the file as UTF-8",
        ) from None
    if "\0" in text:
        raise LineError("nul", f"{where}: holds a NUL character; remove it, or save as UTF-8")
    columns = text.split("\t")
    if len(columns) not in (2, 3):
        raise LineError(
            "columns",
            f"{where}: expected source<TAB>target or source<TAB>target<TAB>alignment. "
            f"Received: {len(columns)} column{'s' * (len(columns) > 1)}",
        )
    source, target = columns[:2]
    source_length = _token_count(source, source_tokens)
    target_length = _token_count(target, target_tokens)
    for side, length in (("source", source_length), ("target", target_length)):
        if not length:
            raise LineError("empty", f"{where}: empty {side}; fill it in or remove the line")
    if len(columns) == 2:
        return Pair(source, target)
    if labelled := _CONFIDENCE.fullmatch(columns[2]):
        return Pair(source, target, confidence=float(labelled[1]))
    alignment = parse_alignment(columns[2], where)
    _check_bounds(alignment, columns[2], where, source_length, target_length)
    return Pair(source, target, alignment)


def _check_bounds(
    links: tuple[Link, ...], text: str, where: str, source_length: int, target_length: int
) -> None:
    for link in links:
        if link.source >= source_length or link.target >= target_length:
            raise LineError(
                "alignment",
                f"{where}: link {format_alignment([link])} leaves the pair of {source_length} "
                f"source and {target_length} target tokens; positions count from 0. "
                f"Received: alignment={text[:40]!a}",
            )


def _token_count(text: str, kind: VocabularyKind) -> int:
    return len(text) if kind == "char" else len(counted_tokens(text, kind))


def fields_of(pair: Pair) -> list[str]:
    fields = [pair.source, pair.target]
    if pair.confidence is not None:
        return [*fields, f"confidence={pair.confidence:.4f}"]
    return fields if pair.alignment is None else [*fields, format_alignment(pair.alignment)]


def format_line(pair: Pair) -> bytes:
    fields = fields_of(pair)
    line = "\t".join(fields)
    if line.count("\t") != len(fields) - 1 or "\n" in line or "\0" in line or line.endswith("\r"):
        raise ValueError(
            f"a line cannot hold tab, line feed, NUL or an end in CR. Received: {pair}"
        )
    return f"{line}\n".encode()
