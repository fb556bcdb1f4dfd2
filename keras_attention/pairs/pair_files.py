"""Files of pairs, read and written.

A line ends at LF or CRLF and nowhere else, so that no other character of a text can break it. Files
named `.gz` are read and written through gzip.
"""

import gzip
import os
import pathlib
from collections.abc import Iterable, Iterator

from keras_attention._runtime.files import replacing
from keras_attention.errors import UserError
from keras_attention.pairs.lines import is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import Pair, format_line, parse_line
from keras_attention.text.tokens import VocabularyKind


def iterate_pairs(
    path: str | os.PathLike,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> Iterator[Pair]:
    """Streams the pairs of a file, skipping blank lines.

    The token kinds say what the alignment counts. Raises UserError, naming the file and the line.
    """
    return parse_lines(iterate_raw_lines(path), path, source_tokens, target_tokens)


def parse_lines(
    lines: Iterable[tuple[int, bytes]],
    path: str | os.PathLike,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> Iterator[Pair]:
    """The pairs on lines as `iterate_raw_lines` yields them from `path`; see `iterate_pairs`."""
    for number, raw in lines:
        line = strip_line(number, raw)
        if not is_blank(line):
            yield parse_line(line, f"{path}:{number}", source_tokens, target_tokens)


def read_pairs(
    path: str | os.PathLike,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> list[Pair]:
    """All pairs of a file. Raises UserError as `iterate_pairs` does, or if there is none."""
    pairs = list(iterate_pairs(path, source_tokens, target_tokens))
    if not pairs:
        raise UserError(f"{path}: is empty, expected lines of source<TAB>target")
    return pairs


def write_pairs(path: str | os.PathLike, pairs: Iterable[Pair]) -> None:
    """Writes pairs as `read_pairs` reads them; the file appears whole or not at all.

    Raises ValueError for a text that a line cannot hold (tab, line feed, NUL, an end in CR).
    """
    path = pathlib.Path(path)
    with replacing(path) as temporary, open(temporary, "wb") as raw:
        if path.suffix == ".gz":  # without name and time, so that equal pairs give equal bytes
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                file.writelines(map(format_line, pairs))
        else:
            raw.writelines(map(format_line, pairs))
