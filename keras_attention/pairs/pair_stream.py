"""Training pairs that stay in their files: for more of them than fit into memory."""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_attention.pairs.lines import iterate_raw_lines
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import parse_lines
from keras_attention.text.tokens import VocabularyKind

# Lines that are read in one go. The shorter a segment is, the more places of the files meet in one
# block of training; far below this the seeking would cost time.
SEGMENT_LINES = 1024


class Segment(NamedTuple):
    """Lines of one file that follow each other.

    Attributes:
        path: The file.
        offset: Of the first line's first byte.
        first: The first line's number, counted from 1.
        lines: How many lines; None means all to the file's end.
    """

    path: pathlib.Path
    offset: int
    first: int
    lines: int | None


class PairStream:
    """The pairs of files, read again whenever they are iterated over; no pair is kept.

    Args:
        files: Plain or gzip files, see `data`.
        source_tokens, target_tokens: Token kinds, for checking alignments.
        segment_lines: See `SEGMENT_LINES`.
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike],
        source_tokens: VocabularyKind = "char",
        target_tokens: VocabularyKind = "char",
        segment_lines: int = SEGMENT_LINES,
    ):
        self._kinds = source_tokens, target_tokens
        paths = [pathlib.Path(file) for file in files]
        self._segments = [part for path in paths for part in _segments(path, segment_lines)]

    def __iter__(self) -> Iterator[Pair]:
        """All pairs in the order of the files. Raises UserError for a line that is no pair."""
        return self._read(range(len(self._segments)))

    def shuffled(self, rng: np.random.Generator) -> Iterator[Pair]:
        """All pairs, segment after segment in random order, each in the order of its lines.

        A gzip file is one segment, since it can only be read from its beginning.
        """
        return self._read(rng.permutation(len(self._segments)))

    def _read(self, order) -> Iterator[Pair]:
        for index in order:
            path, offset, first, lines = self._segments[index]
            lines_of_segment = itertools.islice(iterate_raw_lines(path, offset, first), lines)
            yield from parse_lines(lines_of_segment, path, *self._kinds)


def _segments(path: pathlib.Path, lines: int) -> Iterator[Segment]:
    if path.suffix == ".gz":
        yield Segment(path, 0, 1, None)
        return
    offset = 0
    for number, raw in iterate_raw_lines(path):
        if (number - 1) % lines == 0:
            yield Segment(path, offset, number, lines)
        offset += len(raw)
