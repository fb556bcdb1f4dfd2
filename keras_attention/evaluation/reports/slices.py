"""Where a model is good and where not: an evaluation in slices, its errors sorted and counted."""

from __future__ import annotations

import collections
import dataclasses
import math
import pathlib
import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from keras_attention.errors import UserError
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.pairs.lines import is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import Pair
from keras_attention.text.tokens import VocabularyKind, counted_tokens

BY_LENGTH = "length"
NO_MATCH = "(no match)"
_Z = 1.959964  # of 95 %


@dataclasses.dataclass(frozen=True)
class Slice:
    """The pairs that have something in common.

    Attributes:
        name: What that is.
        n: Number of pairs.
        exact_match: Share of right answers among them.
        low, high: 95 % interval of that share (Wilson, 1927).
        token_error_rate: Edits per reference token.
    """

    name: str
    n: int
    exact_match: float
    low: float
    high: float
    token_error_rate: float


@dataclasses.dataclass(frozen=True)
class WrongAnswer:
    """One wrong answer, with what turns the reference into it.

    Attributes:
        source, answer, reference: The texts; of several references the nearest.
        confidence: Of the answer.
        edits: Reference tokens and what stands in their place, "" where nothing does.
    """

    source: str
    answer: str
    reference: str
    confidence: float
    edits: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class ErrorGroup:
    """Wrong answers with the same edits.

    Attributes:
        edits: As of a `WrongAnswer`, sorted.
        count: How many.
        example: One of them, the surest.
    """

    edits: tuple[tuple[str, str], ...]
    count: int
    example: WrongAnswer


@dataclasses.dataclass(frozen=True)
class Errors:
    """What goes wrong in an evaluation.

    Attributes:
        wrong: All wrong answers, the surest first: what looks right and is not is worst.
        confusion: Reference token, token in its place and how often, the most frequent first.
        groups: Wrong answers by their edits, the largest group first.
    """

    wrong: tuple[WrongAnswer, ...]
    confusion: tuple[tuple[str, str, int], ...]
    groups: tuple[ErrorGroup, ...]

    @classmethod
    def of(cls, pairs: Sequence[Pair], evaluation: Evaluation, kind: VocabularyKind) -> Errors:
        """Sorts the wrong answers of an evaluation of these pairs.

        Args:
            pairs, evaluation: As above.
            kind: Of the target's tokens; words are compared where they are subwords.
        """
        wrong = [
            WrongAnswer(
                pair.source,
                answer.text,
                reference,
                answer.confidence,
                edits_between(counted_tokens(reference, kind), counted_tokens(answer.text, kind)),
            )
            for pair, answer, reference, right in zip(
                pairs, evaluation.translations, evaluation.nearest, evaluation.right, strict=True
            )
            if not right
        ]
        wrong.sort(key=lambda each: -each.confidence)
        tokens = collections.Counter(edit for each in wrong for edit in each.edits)
        groups: dict[tuple, list[WrongAnswer]] = {}
        for each in wrong:
            groups.setdefault(tuple(sorted(each.edits)), []).append(each)
        largest = sorted(groups.items(), key=lambda item: -len(item[1]))
        return cls(
            tuple(wrong),
            tuple((before, after, count) for (before, after), count in tokens.most_common()),
            tuple(ErrorGroup(edits, len(of), of[0]) for edits, of in largest),
        )


def edits_between(reference: Sequence[str], answer: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The fewest edits that turn a reference into an answer, from left to right.

    Returns:
        The token of the reference and the one in its place; "" stands for none.
    """
    return tuple(
        (
            "" if edit.tag == "insert" else reference[edit.src_pos],
            "" if edit.tag == "delete" else answer[edit.dest_pos],
        )
        for edit in Levenshtein.editops(list(reference), list(answer))
    )


def slices_by(
    by: str, path: str | pathlib.Path, pairs: Sequence[Pair], evaluation: Evaluation
) -> tuple[Slice, ...]:
    """The pairs in slices, the worst first.

    Args:
        by: "length", the slices of `Evaluation.by_length`; the number of a column of the file,
            counted from 1; or a regular expression, searched in the sources: its first group, or
            all of its match, names the slice.
        path: The file that the pairs were read from, for its columns.
        pairs, evaluation: The pairs and what a model made of them.

    Raises:
        UserError: the regular expression is none, or a line lacks the column.
    """
    names = names_of(by, path, pairs, evaluation)
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    found = [_slice(name, of, evaluation) for name, of in rows.items()]
    return tuple(sorted(found, key=lambda each: (each.exact_match, -each.n)))


def names_of(
    by: str, path: str | pathlib.Path, pairs: Sequence[Pair], evaluation: Evaluation
) -> list[str]:
    """The slice of each pair; see `slices_by`."""
    if by == BY_LENGTH:
        bounds = evaluation.by_length
        lengths = [len(each.source_tokens) for each in evaluation.translations]
        return [
            next(
                f"{bound.shortest} to {bound.longest} tokens"
                for bound in bounds
                if bound.shortest <= length <= bound.longest
            )
            for length in lengths
        ]
    if by.isascii() and by.isdecimal():
        return _column(path, int(by))
    try:
        pattern = re.compile(by)
    except re.error as error:
        raise UserError(
            f"--by: must be {BY_LENGTH}, a column's number or a regular expression ({error}). "
            f"Received: by={by!r}"
        ) from None
    matches = [pattern.search(pair.source) for pair in pairs]
    return [NO_MATCH if m is None else str(m[1 if m.re.groups else 0]) for m in matches]


def read_pairs_with_columns(path: str | pathlib.Path) -> list[Pair]:
    """The pairs of a file that has further columns, whatever these hold.

    Raises:
        UserError: a line has fewer than two columns, or an empty one of the first two.
    """
    pairs = []
    for number, columns in _columns(path):
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise UserError(f"{path}:{number}: expected source<TAB>target and further columns")
        pairs.append(Pair(columns[0], columns[1]))
    if not pairs:
        raise UserError(f"{path}: is empty, expected lines of source<TAB>target")
    return pairs


def _column(path: str | pathlib.Path, wanted: int) -> list[str]:
    found = []
    for number, columns in _columns(path):
        if not 1 <= wanted <= len(columns):
            raise UserError(
                f"{path}:{number}: has {len(columns)} columns, and --by asks for column {wanted}; "
                "columns count from 1"
            )
        found.append(columns[wanted - 1] or "(empty)")
    return found


def _columns(path: str | pathlib.Path):
    for number, raw in iterate_raw_lines(path):
        line = strip_line(number, raw)
        if is_blank(line):
            continue
        try:
            yield number, line.decode("utf-8").split("\t")
        except UnicodeDecodeError:
            raise UserError(f"{path}:{number}: is not UTF-8; save the file as UTF-8") from None


def _slice(name: str, rows: Sequence[int], evaluation: Evaluation) -> Slice:
    n, right = len(rows), sum(evaluation.right[row] for row in rows)
    tokens = sum(evaluation.reference_lengths[row] for row in rows)
    edits = sum(evaluation.edits[row] for row in rows)
    return Slice(name, n, right / n, *wilson(right, n), edits / tokens)


def wilson(right: int, n: int) -> tuple[float, float]:
    """95 % interval of a share, after Wilson (1927): it holds for few pairs and for shares of 1."""
    share, square = right / n, _Z * _Z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return max(0.0, middle - half), min(1.0, middle + half)
