"""What a file of texts side by side seems to be, from all of its lines.

Dictionaries and corpora come in more forms than the one that is trained on, `source<TAB>target`.
"""

from __future__ import annotations

import collections
import csv
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_attention.pairs.alignment import parse_alignment
from keras_attention.pairs.lines import LineError
from keras_attention.pairs.phones import is_arpabet, looks_like_ipa, transcriptions

COMMENT = ";;;"
HEADINGS = frozenset(
    "source target src tgt input output question answer label text word pronunciation ipa phones "
    "transcription id".split()
)
# A form is that of a file if at least this share of the lines is in it.
_MOST = 0.9

_FIRST_WORD = re.compile(r"(\S+)[ \t]+(\S.*)")
_TWO_SPACES = re.compile(r" {2,}")
_REMARK = re.compile(r"\s+#.*$")
_VARIANT = re.compile(r"(.+)\(([0-9]{1,2})\)")
_DELIMITERS = {"semicolons": ";", "csv": ","}

DESCRIPTIONS = {
    "cmudict": "a pronouncing dictionary like CMUdict",
    "tabs": "tab-separated columns",
    "spaces": "columns separated by two or more spaces",
    "csv": "comma-separated columns (CSV)",
    "semicolons": "semicolon-separated columns (CSV)",
}


class Form(NamedTuple):
    """What a file seems to be.

    Attributes:
        name: A key of `DESCRIPTIONS`.
        fitting: Lines in this form.
        lines: Lines in all, without blank ones and comments.
        further_columns: Lines with a third column that is no alignment.
        unsegmented_phones: Whether targets are IPA without spaces between the phones.
    """

    name: str
    fitting: int
    lines: int
    further_columns: int = 0
    unsegmented_phones: bool = False

    @property
    def description(self) -> str:
        return DESCRIPTIONS[self.name]


def columns_of(line: str, form: str) -> list[str] | None:
    """The columns of a line in a form, without spaces around them; None if the line is not in it.

    A remark behind `#` is left out where the form is a dictionary's.
    """
    if form == "cmudict":
        match = _FIRST_WORD.fullmatch(line.strip())
        if not match:
            return None
        phones = without_remark(match[2])
        return [match[1], phones] if is_arpabet(phones) else None
    if form == "spaces":
        columns = _TWO_SPACES.split(line.strip())
    elif form == "tabs":
        columns = line.split("\t")
    else:
        try:
            (columns,) = csv.reader([line], delimiter=_DELIMITERS[form], strict=True)
        except (csv.Error, ValueError):
            return None
    return [column.strip() for column in columns] if len(columns) > 1 else None


def recognise(lines: Iterable[str]) -> Form | None:
    """The form of a file, None where no form has nearly all of its lines.

    Args:
        lines: All lines, without their ends.
    """
    written = [line for line in lines if line.strip() and not line.startswith(COMMENT)]
    fitting: collections.Counter[str] = collections.Counter()
    for line in written:
        fitting.update(form for form in DESCRIPTIONS if _fits(line, form))
    for name in ("tabs", "cmudict", "spaces", *_DELIMITERS):
        content = [line for line in written if not is_comment(line, name)]
        enough = fitting[name] if name not in _DELIMITERS else _regular_lines(content, name)
        if enough and enough >= _MOST * len(content):
            return _with_details(Form(name, fitting[name], len(content)), content)
    return None


def is_comment(line: str, form: str) -> bool:
    """Whether a line says nothing: begins with `;;;`, or with `#` and is not in the form."""
    if line.startswith(COMMENT):
        return True
    return line.startswith("#") and not _fits(line, form)


def without_remark(text: str) -> str:
    """A text without what stands behind ` #`."""
    return _REMARK.sub("", text)


def variant_of(source: str) -> str | None:
    """The word of which a source like `READ(2)` is a variant; None if it is not like that."""
    match = _VARIANT.fullmatch(source)
    return match[1] if match else None


def are_unsegmented(targets: Iterable[str]) -> bool:
    """Whether texts are IPA, most of them, and phones are not separated by spaces."""
    count = ipa = long = spaced = 0
    for target in targets:
        count += 1
        if looks_like_ipa(target):
            ipa += 1
            texts = [text for text in transcriptions(target) if len(text) > 3]
            long += len(texts)
            spaced += sum(" " in text for text in texts)
    return 2 * ipa >= count > 0 and long > 0 and spaced <= (1 - _MOST) * long


def _fits(line: str, form: str) -> bool:
    # The cheap questions first: most lines are of one form only.
    if form == "tabs":
        return "\t" in line
    if form == "spaces":
        return "\t" not in line and bool(_TWO_SPACES.search(line.strip()))
    if form in _DELIMITERS and _DELIMITERS[form] not in line:
        return False
    return columns_of(line, form) is not None


def _regular_lines(content: Sequence[str], form: str) -> int:
    """The largest number of lines that have equally many columns, two or more."""
    numbers = collections.Counter(
        len(columns)
        for line in content
        if _DELIMITERS[form] in line and (columns := columns_of(line, form))
    )
    return max(numbers.values(), default=0)


def _with_details(form: Form, content: Sequence[str]) -> Form:
    rows = [columns for line in content if (columns := columns_of(line, form.name))]
    further = sum(len(row) > 2 and not is_alignment(row[2]) for row in rows)
    unparted = form.name != "cmudict" and are_unsegmented([row[1] for row in rows])
    return form._replace(further_columns=further, unsegmented_phones=unparted)


def is_alignment(text: str) -> bool:
    """Whether a text is links in Pharaoh form."""
    try:
        parse_alignment(text, "")
    except LineError:
        return False
    return True
