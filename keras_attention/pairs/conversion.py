"""A dictionary or corpus as it is downloaded, into pairs."""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Iterator, Sequence

from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.forms import (
    DESCRIPTIONS,
    HEADINGS,
    Form,
    columns_of,
    is_comment,
    recognise,
    variant_of,
    without_remark,
)
from keras_attention.pairs.lines import decoded_lines
from keras_attention.pairs.pair import Pair, parse_line
from keras_attention.pairs.phones import (
    is_arpabet,
    looks_like_ipa,
    split_phones,
    transcriptions,
    without_stress,
)

_LOOKED_AT = 1000
_LONGEST_PHONE = 4  # characters; what has more is a word


@dataclasses.dataclass(frozen=True)
class ConversionOptions:
    """What is to be done beyond taking the two columns.

    Attributes:
        form: A key of `forms.DESCRIPTIONS`; None: as the lines say.
        columns: Numbers of the source's and the target's column, from 1.
        source_case: "keep", "lower" or "upper".
        first_variant_only: Of several targets of one source, keep the first.
        drop_stress: Take stress marks and digits off phones.
        skip_bad_lines: Leave out and count lines that are not in the form, in place of an error.
        encoding: Of the file, as Python names it.
    """

    form: str | None = None
    columns: tuple[int, int] = (1, 2)
    source_case: str = "keep"
    first_variant_only: bool = False
    drop_stress: bool = False
    skip_bad_lines: bool = False
    encoding: str = "utf-8"


@dataclasses.dataclass(frozen=True)
class Conversion:
    """Pairs, and what was done to get them.

    Attributes:
        pairs: In the order of the lines.
        form: What the file was taken for.
        done: How many lines or pairs had each thing done to them, in words.
    """

    pairs: list[Pair]
    form: Form
    done: dict[str, int]

    def to_text(self) -> str:
        """What was done, as one line."""
        parts = [f"{len(self.pairs):,} pairs from {self.form.description}"]
        parts += [f"{what}: {count:,}" for what, count in self.done.items() if count]
        if _are_separated([pair.target for pair in self.pairs[:_LOOKED_AT]]):
            parts.append("phones are separated by spaces: train with --target-tokens word")
        return "; ".join(parts)


def convert(path: str | os.PathLike, options: ConversionOptions) -> Conversion:
    """Reads a file in any form of `forms.DESCRIPTIONS`.

    Comments, headings, remarks, numbers of variants, slashes around a transcription and columns
    beyond the two are left out; IPA without spaces is cut into phones; pairs that repeat an earlier
    one are left out.

    Raises:
        UserError: the file cannot be read, is in no known form, or (unless bad lines are to be
            skipped) has a line that is not in the form; or nothing is left.
    """
    lines = decoded_lines(path, options.encoding)
    form = _form(lines, path, options)
    done: collections.Counter[str] = collections.Counter()
    rows = list(_rows(lines, form, path, options, done))
    sources = {source for source, _, _ in rows}
    unsegmented = form.unsegmented_phones
    seen: set[tuple[str, str]] = set()
    answered: set[str] = set()
    pairs = []
    for source, target, links in rows:
        word = variant_of(source)
        if word and (form.name == "cmudict" or word in sources):
            done["variant numbers taken off"] += 1
            source = word
        source = {"lower": str.lower, "upper": str.upper}.get(options.source_case, str)(source)
        for text in _targets(target, unsegmented, options.drop_stress, done):
            if (source, text) in seen:
                done["repeated pairs left out"] += 1
            elif options.first_variant_only and source in answered:
                done["further variants left out"] += 1
            else:
                pairs.append(Pair(source, text, links if text == target else None))
            seen.add((source, text))
            answered.add(source)
    if not pairs:
        raise UserError(f"{path}: holds no pair; expected {form.description}")
    return Conversion(pairs, form, dict(done))


def _form(lines: Sequence[str], path: str | os.PathLike, options: ConversionOptions) -> Form:
    found = recognise(lines)
    if options.form and (found is None or found.name != options.form):
        found = Form(options.form, 0, len(lines))
    if found is None:
        raise UserError(
            f"{path}: nine of ten lines should have one form, expected "
            f"{', '.join(DESCRIPTIONS.values())}; name the form with --form"
        )
    return found


def _rows(
    lines: Sequence[str],
    form: Form,
    path: str | os.PathLike,
    options: ConversionOptions,
    done: collections.Counter[str],
) -> Iterator[tuple[str, str, tuple[Link, ...] | None]]:
    """Source, target and links of each line that has them."""
    source_column, target_column = options.columns
    first = True
    aligned = (
        form.name == "tabs"
        and not form.further_columns
        and not form.unsegmented_phones
        and options.columns == (1, 2)
        and options.source_case == "keep"  # lower and upper case may differ in length
    )
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if is_comment(line, form.name):
            done["comments left out"] += 1
            continue
        columns = columns_of(line, form.name)
        if first and columns and {column.lower() for column in columns[:2]} <= HEADINGS:
            done["headings left out"] += 1
            first = False
            continue
        first = False
        most = max(options.columns)
        if columns is None or len(columns) < most or _bad(columns, options.columns):
            if not options.skip_bad_lines:
                raise UserError(
                    f"{path}:{number}: is not in the form of the other lines, {form.description}; "
                    f"mend or remove it, or give --skip-bad-lines. Received: {line[:60]!a}"
                )
            done["lines that are not in the form left out"] += 1
            continue
        source, target = columns[source_column - 1], columns[target_column - 1]
        if form.name == "cmudict" and without_remark(line.strip()) != line.strip():
            done["remarks left out"] += 1
        elif "#" in target and _is_phones(bare := without_remark(target)) and bare != target:
            done["remarks left out"] += 1
            target = bare
        links = None
        if len(columns) > 2:
            # Positions count from a text's beginning: spaces that were taken off would move them.
            if aligned and len(columns) == 3 and line.startswith("\t".join(columns[:2])):
                read = parse_line("\t".join(columns).encode("utf-8"), f"{path}:{number}")
                links = read.alignment
            else:
                done["lines of which further columns were left out"] += 1
        yield source, target, links


def _bad(columns: Sequence[str], numbers: tuple[int, int]) -> bool:
    """Whether a text is empty or holds what a line of pairs cannot."""
    texts = [columns[number - 1] for number in numbers]
    return not all(texts) or any(c in text for text in texts for c in "\t\0\n\r")


def _are_separated(targets: Sequence[str]) -> bool:
    """Whether nearly all texts are short tokens with spaces between them."""
    split = [target.split(" ") for target in targets]
    short = sum(all(len(token) <= _LONGEST_PHONE for token in tokens) for tokens in split)
    return short >= 0.9 * len(targets) and sum(map(len, split)) >= 2 * len(targets)


def _is_phones(text: str) -> bool:
    return is_arpabet(text) or looks_like_ipa(text)


def _targets(
    target: str, unsegmented: bool, drop_stress: bool, done: collections.Counter[str]
) -> list[str]:
    """The targets of a line: one, or each of several transcriptions."""
    if not _is_phones(target):
        phones = split_phones(target) if unsegmented else None
        return [" ".join(phones)] if phones else [target]
    texts = transcriptions(target)
    if texts != [target]:
        done["slashes or brackets taken off"] += 1
    if unsegmented:
        done["targets cut into phones"] += 1
        texts = [" ".join(split_phones(text)) for text in texts]
    if drop_stress:
        texts = [" ".join(without_stress(text.split(" "))) for text in texts]
    return [text for text in texts if text]
