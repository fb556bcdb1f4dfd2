"""Two text files, a sentence and its translation on lines of the same number, into pairs."""

from __future__ import annotations

import collections
import dataclasses
import os

from keras_attention.errors import UserError
from keras_attention.pairs.lines import decoded_lines
from keras_attention.pairs.pair import Pair


@dataclasses.dataclass(frozen=True)
class ParallelText:
    """Pairs, and what was done to get them.

    Attributes:
        pairs: In the order of the lines.
        done: How many lines had each thing done to them, in words.
    """

    pairs: list[Pair]
    done: dict[str, int]

    def to_text(self) -> str:
        """What was done, as one line."""
        parts = [f"{len(self.pairs):,} pairs from two files of parallel lines"]
        return "; ".join([*parts, *(f"{what}: {count:,}" for what, count in self.done.items())])


def read_parallel(
    source: str | os.PathLike,
    target: str | os.PathLike,
    source_case: str = "keep",
    skip_bad_lines: bool = False,
    encoding: str = "utf-8",
) -> ParallelText:
    """Reads both files; texts are kept as they are but for spaces at their ends and tabs.

    Lines that are blank in both files are left out. A tab becomes a space, since it separates the
    columns of a line of pairs. Equal pairs are all kept: how often they occur is of the language.

    Args:
        source, target: The files, plain or gzip.
        source_case: "keep", "lower" or "upper".
        skip_bad_lines: Leave out and count lines that are blank in one file or hold a NUL, in place
            of an error.
        encoding: Of both files, as Python names it.

    Raises:
        UserError: a file cannot be read, the two have different numbers of lines, a line is bad, or
            nothing is left.
    """
    sides = [decoded_lines(path, encoding) for path in (source, target)]
    for lines in sides:
        if lines and not lines[-1]:
            del lines[-1]  # behind the last line's end
    if len(sides[0]) != len(sides[1]):
        raise UserError(
            f"{target}: has {len(sides[1]):,} lines and {source} has {len(sides[0]):,}; line N of "
            "one file must be the translation of line N of the other"
        )
    case = {"lower": str.lower, "upper": str.upper}.get(source_case, str)
    done: collections.Counter[str] = collections.Counter()
    pairs = []
    for number, texts in enumerate(zip(*sides, strict=True), 1):
        if any("\t" in text for text in texts):
            done["lines whose tabs became spaces"] += 1
        stripped = [text.replace("\t", " ").strip() for text in texts]
        bad = [
            (path, "is blank" if not text else "holds a NUL character")
            for path, text in zip((source, target), stripped, strict=True)
            if not text or "\0" in text
        ]
        if not any(stripped):
            done["blank lines left out"] += 1
        elif bad and skip_bad_lines:
            done["bad lines left out"] += 1
        elif bad:
            path, what = bad[0]
            raise UserError(
                f"{path}:{number}: {what}; mend the line, remove it from both files, or give "
                "--skip-bad-lines"
            )
        else:
            pairs.append(Pair(case(stripped[0]), stripped[1]))
    if not pairs:
        raise UserError(f"{source}: holds no pair; expected a sentence on each line")
    return ParallelText(pairs, dict(done))
