"""On which line of which file each pair of a part stands, looked up when it is asked for."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Sequence
from typing import overload

from keras_attention.checks.findings import Place
from keras_attention.pairs.lines import is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import split_files


class PlacesInFiles(Sequence[Place]):
    """The places of pairs that were read before; the files are read again at the first question.

    Args:
        part: "train", "valid" or "test".
        pairs: Of this part, in the order of the file or files.
        data: The folder, or the one file of which the pairs are a part.
    """

    def __init__(self, part: str, pairs: Sequence[Pair], data: str | os.PathLike):
        self._part, self._pairs, self._data = part, pairs, pathlib.Path(data)

    def __len__(self) -> int:
        return len(self._pairs)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...
    def __getitem__(self, index):
        return self._places[index]

    @functools.cached_property
    def _places(self) -> list[Place]:
        whole = self._data.is_dir()
        files = split_files(self._data, self._part) if whole else [self._data]
        places: list[Place] = []
        for file in files:
            for number, raw in iterate_raw_lines(file):
                line = strip_line(number, raw)
                if is_blank(line) or len(places) == len(self._pairs):
                    continue
                # Of one file, a part holds some lines; equal ones are all in the same part.
                pair = self._pairs[len(places)]
                if whole or line.split(b"\t")[:2] == [text.encode("utf-8") for text in pair[:2]]:
                    places.append(Place(str(file), number))
        return places
