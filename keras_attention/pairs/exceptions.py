"""A dictionary beside a model: sources whose answers are fixed, whatever the model would say.

The file is TensorFlow's own kind of table file, since a SavedModel reads it as well: a line is
`source<TAB>answer`, UTF-8. A line without an answer is a remark. The first line always is one, as
TensorFlow reads no empty file. A source counts as the model reads it: in the model's normal form,
and words with one space between them.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping

from keras_attention._runtime.files import write_text
from keras_attention.errors import UserError
from keras_attention.pairs.lines import is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import parse_line
from keras_attention.text.vocabulary import Vocabulary

# In the folder of a SavedModel's version, by TensorFlow's layout.
EXCEPTIONS = "assets/exceptions.tsv"
REMARK = "# one exception a line: source, tab, answer; keep this line, and its tab"


class Exceptions(Mapping[str, str]):
    """Answers by source, each source as the model reads it.

    Args:
        answers: As above.
        source, target: The vocabularies of the model; of characters and words their tokens do not
            matter.
    """

    def __init__(self, answers: Mapping[str, str], source: Vocabulary, target: Vocabulary):
        self._answers = dict(answers)
        self.source, self.target = source, target

    def __getitem__(self, key: str) -> str:
        return self._answers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def answer_to(self, text: str) -> str | None:
        """The answer to a text as a user wrote it; None where the model is to answer."""
        return self._answers.get(key_of(text, self.source)) if self._answers else None


def key_of(text: str, source: Vocabulary) -> str:
    """A text as the model reads it."""
    return source.join(source.split(text))


def read_exceptions(
    path: str | pathlib.Path,
    source: Vocabulary,
    target: Vocabulary,
    longest_answer: int | None = None,
    longest_text: int | None = None,
) -> Exceptions:
    """A user's dictionary: blank lines, remarks, a byte-order mark and Windows line ends may be in
    it, and its sources in any form.

    Args:
        path: The file.
        source, target: The vocabularies of the model.
        longest_answer: Tokens that the model can say.
        longest_text: Characters of a text that the model reads.

    Raises:
        UserError: the file cannot be read or a line is none; two lines give one source different
            answers; an entry that no text could reach, or whose answer is too long. The message
            names the line.
    """
    answers: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, written, answer in _entries(path):
        where, key = f"{path}:{number}", key_of(written, source)
        _check_length(where, "source", len(written), longest_text, "characters that are read")
        _check_length(
            where, "answer", len(target.split(answer)), longest_answer, "tokens that are said"
        )
        if answers.get(key, answer) != answer:
            raise UserError(
                f"{where}: answers {written!r} otherwise than line {lines[key]} ({answers[key]!r}, "
                f"now {answer!r}); keep one of the two"
            )
        answers.setdefault(key, answer)
        lines.setdefault(key, number)
    return Exceptions(answers, source, target)


def load_exceptions(
    path: str | pathlib.Path, source: Vocabulary, target: Vocabulary
) -> Exceptions | None:
    """The dictionary beside a model, as `write_exceptions` wrote it or somebody changed it.

    A SavedModel takes the file as it is. So what would count there in another way is an error.

    Returns:
        None where there is no such file.

    Raises:
        UserError: as `read_exceptions`; or a source that no text is equal to, once it is read.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        return None
    for number, raw in iterate_raw_lines(path):
        if is_blank(strip_line(number, raw)):
            raise UserError(f"{path}:{number}: is blank; remove the line")
    for number, written, _ in _entries(path):
        if key_of(written, source) != written:
            raise UserError(
                f"{path}:{number}: no text can reach {written!r}, since the model reads it as "
                f"{key_of(written, source)!r}; write that"
            )
    return read_exceptions(path, source, target)


def write_exceptions(path: str | pathlib.Path, exceptions: Mapping[str, str]) -> None:
    """Writes the file that stands beside a model; it appears whole or not at all."""
    lines = [f"{REMARK}\t", *(f"{key}\t{answer}" for key, answer in exceptions.items())]
    write_text(path, "".join(f"{line}\n" for line in lines))


def _entries(path: str | pathlib.Path) -> Iterator[tuple[int, str, str]]:
    """Line number, source and answer of all lines that are neither blank nor remarks."""
    for number, line in _lines(path):
        if line.startswith(b"#") and line.endswith(b"\t"):
            continue
        pair = parse_line(line, f"{path}:{number}")
        if pair.alignment is not None:
            raise UserError(f"{path}:{number}: has three columns; write source<TAB>answer")
        if "\r" in pair.source + pair.target:
            raise UserError(f"{path}:{number}: holds a carriage return; remove it")
        if not pair.target.strip() or not pair.source.strip():
            raise UserError(f"{path}:{number}: a side is nothing but spaces; remove the line")
        yield number, pair.source, pair.target


def _lines(path: str | pathlib.Path) -> Iterable[tuple[int, bytes]]:
    for number, raw in iterate_raw_lines(path):
        line = strip_line(number, raw)
        if not is_blank(line):
            yield number, line


def _check_length(where: str, what: str, length: int, longest: int | None, of: str) -> None:
    if longest is not None and length > longest:
        raise UserError(
            f"{where}: the {what} has {length:,}, more than the {longest:,} {of}; shorten it, or "
            "leave it out"
        )
