"""Written dates and their ISO 8601 form, with the alignment of every character that has an origin.

    python -m keras_attention.datasets.dates --out data/dates --seed 0

writes the committed data again, byte for byte, in a few seconds. Names and digits come from the
Unicode CLDR through Babel, in American English and in Korean. A two-digit year is read as POSIX
`%y` reads it: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068. A numeric date with the year
last is month/day/year. The module also reads back what it writes, in any letter case: `form_of`
names the form of a source, `align` aligns a given pair.
"""

import dataclasses
import datetime
import functools
import itertools
import os
import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from keras_attention._runtime.command_line import exit_with_user_errors
from keras_attention.datasets.generator_command import Sizes, run, shuffled
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.lines import iterate_raw_lines, strip_line
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits

FIRST_YEAR, LAST_YEAR = 1969, 2068
SIZES = Sizes(train=45_000, valid=2_500, test=5_000)


@dataclasses.dataclass(frozen=True)
class Form:
    """A way to write a date: one or more templates of the fields below, in equal shares.

    `weight` is its share of the data in units of one 300th, in each split.
    """

    name: str
    locale: str
    weight: int
    templates: tuple[str, ...]


FORMS = (
    # The four styles of CLDR, as in the data of "Deep Learning from Scratch 2".
    Form("en_short", "en_US", 24, ("{month}/{day}/{year2}",)),
    Form("en_medium", "en_US", 32, ("{month_abbr} {day}, {year}",)),  # claims May, too
    Form("en_long", "en_US", 32, ("{month_name} {day}, {year}",)),
    Form("en_full", "en_US", 30, ("{weekday}, {month_name} {day}, {year}",)),
    # Others that people type.
    Form(
        "en_numeric",
        "en_US",
        12,
        ("{month}/{day}/{year}", "{month2}/{day2}/{year}", "{month2}/{day2}/{year2}"),
    ),
    Form("en_day_first", "en_US", 16, ("{day} {month_name} {year}", "{day} {month_abbr} {year}")),
    Form("en_ordinal", "en_US", 10, ("{month_name} {day}{suffix}, {year}",)),
    Form(
        "en_day_ordinal",
        "en_US",
        10,
        ("{day}{suffix} {month_name} {year}", "{day}{suffix} of {month_name} {year}"),
    ),
    Form(
        "en_sept",
        "en_US",
        10,
        ("{sept} {day}, {year}", "{sept}. {day}, {year}", "{day} {sept} {year}"),
    ),
    Form("year_dash", "en_US", 8, ("{year}-{month2}-{day2}", "{year}-{month}-{day}")),
    Form("year_slash", "en_US", 8, ("{year}/{month2}/{day2}", "{year}/{month}/{day}")),
    Form("year_dot", "en_US", 8, ("{year}.{month2}.{day2}", "{year}.{month}.{day}")),
    # Korean: the four styles of CLDR, and three more.
    Form("ko_short", "ko_KR", 16, ("{year2}. {month}. {day}.",)),
    Form("ko_medium", "ko_KR", 18, ("{year}. {month}. {day}.",)),
    Form("ko_long", "ko_KR", 22, ("{year}년 {month}월 {day}일",)),
    Form("ko_full", "ko_KR", 20, ("{year}년 {month}월 {day}일 {weekday}",)),
    Form("ko_compact", "ko_KR", 8, ("{year}년{month}월{day}일",)),
    Form("ko_two_digit_year", "ko_KR", 8, ("{year2}년 {month}월 {day}일",)),
    Form("ko_weekday", "ko_KR", 8, ("{year}. {month}. {day}. ({weekday_abbr})",)),
)

# What Babel writes for each field; the other fields are no field of CLDR.
_CLDR_FIELDS = {
    "year": "y",
    "year2": "yy",
    "month": "M",
    "month2": "MM",
    "month_name": "MMMM",
    "month_abbr": "MMM",
    "day": "d",
    "day2": "dd",
    "weekday": "EEEE",
    "weekday_abbr": "EEE",
}

# The names once more, so that reading needs no Babel; a test holds them against Babel's.
MONTHS = (
    "January February March April May June July August September October November December"
).split()
_WEEKDAYS = {
    "en_US": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "ko_KR": "월요일 화요일 수요일 목요일 금요일 토요일 일요일".split(),
}
_MONTH_OF = {name.lower(): number for number, name in enumerate(MONTHS, start=1)}
_MONTH_OF |= {name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)}
_MONTH_OF["sept"] = 9

_FIELD_PATTERNS = {
    "year": r"(?P<year>\d{4})",
    "year2": r"(?P<year>\d{2})",
    "month": r"(?P<month>1[0-2]|[1-9])",
    "month2": r"(?P<month>0[1-9]|1[0-2])",
    "month_name": f"(?P<month>{'|'.join(MONTHS)})",
    "month_abbr": f"(?P<month>{'|'.join(name[:3] for name in MONTHS)})",
    "sept": "(?P<month>Sept)",
    "day": r"(?P<day>[12]\d|3[01]|[1-9])",
    "day2": r"(?P<day>0[1-9]|[12]\d|3[01])",
    "suffix": "(?:st|nd|rd|th)",
}


class _Reading(NamedTuple):
    """What a source says, and the spans (first and one past the last position) that say it."""

    form: Form
    date: datetime.date
    year: tuple[int, int]
    month: tuple[int, int]
    day: tuple[int, int]


# Of the characters of YYYY-MM-DD.
TARGET_FIELDS = ("year",) * 4 + ("separator",) + ("month",) * 2 + ("separator",) + ("day",) * 2
# To try a model with, by language.
SAMPLE_SOURCES = {
    "en": (
        "September 27, 1994",
        "3 May 2021",
        "12/31/99",
        "SEPT 20, 1992",
        "Tuesday, July 4, 2017",
    ),
    "ko": ("1994년 9월 27일", "2016년 5월 24일 화요일", "1988년5월14일"),
}


def form_of(source: str) -> str | None:
    """The name of the form in FORMS that a source is written in, None if in none of them."""
    reading = _read(source)
    return reading.form.name if reading else None


def align(source: str, target: str) -> tuple[Link, ...]:
    """Links between the characters of a written date and of its ISO 8601 form `YYYY-MM-DD`.

    Sure: a digit and the same digit that it comes from. Possible, for what has no single origin:
    each letter of a month's name with both digits of the month, both digits of a two-digit year
    with both of the century, a one-digit month or day with the zero before it. Separators,
    weekdays, ordinal suffixes and 년, 월, 일 are never linked. Spaces after the source change
    nothing; whether the weekday is right is not looked at.

    Raises ValueError for a source in no known form and for a target that is not its date.
    """
    reading = _read(source)
    if reading is None:
        raise ValueError(f"expected a date in one of FORMS. Received: source={source!r}")
    if target != reading.date.isoformat():
        raise ValueError(
            f"expected the target {reading.date} for the source {source!r}. "
            f"Received: target={target!r}"
        )
    links = []
    for (start, end), first, last in (
        (reading.year, 0, 4),
        (reading.month, 5, 7),
        (reading.day, 8, 10),
    ):
        field, positions = range(start, end), range(first, last)
        if not source[start].isdigit():  # a month's name
            links += [Link(i, j, False) for i in field for j in positions]
            continue
        # Digits are matched from the right; what is left of the target is century or leading zero.
        without_origin = positions[: -len(field)]
        links += [Link(i, j, True) for i, j in zip(field, positions[-len(field) :], strict=True)]
        links += [Link(i, j, False) for i in field for j in without_origin]
    return tuple(sorted(links))


def generate(seed: int) -> Splits:
    """Pairs with alignment, SIZES of them, the same for the same seed.

    Of each calendar day's 100 years (29 February: 25), one tenth goes to test and one twentieth to
    validation, so that no date is in two splits and each split has every calendar day to draw from.
    """
    rng = random.Random(seed)
    days: dict[tuple[int, int], list[datetime.date]] = {}
    date = datetime.date(FIRST_YEAR, 1, 1)
    while date.year <= LAST_YEAR:
        days.setdefault((date.month, date.day), []).append(date)
        date += datetime.timedelta(days=1)
    train: list[datetime.date] = []
    valid: list[datetime.date] = []
    test: list[datetime.date] = []
    for dates in days.values():
        dates = shuffled(dates, rng)
        tenth, twentieth = len(dates) // 10, len(dates) // 20
        test.extend(dates[:tenth])
        valid.extend(dates[tenth : tenth + twentieth])
        train.extend(dates[tenth + twentieth :])
    return Splits(
        _generate_part(train, SIZES.train, rng),
        _generate_part(valid, SIZES.valid, rng),
        _generate_part(test, SIZES.test, rng),
    )


def read_book_dates(path: str | os.PathLike, keep_padding: bool = False) -> list[Pair]:
    """Pairs of the file `date.txt` of "Deep Learning from Scratch 2" (K. Saitoh), no alignment.

    Its lines are `source`, spaces up to 29 characters, `_`, `YYYY-MM-DD`.

    Args:
        path: Of the file.
        keep_padding: Keep the spaces behind a source, which the book's model reads too.

    Raises:
        UserError: the file is another.
    """
    pairs = []
    for number, raw in iterate_raw_lines(path):
        match = re.fullmatch(rb"([ -^`-~]{29})_([0-9-]{10})", strip_line(number, raw))
        if not match:
            raise UserError(f"{path}:{number}: expected 29 ASCII characters, _ and an ISO date")
        source, target = (group.decode("ascii") for group in match.groups())
        pairs.append(Pair(source if keep_padding else source.rstrip(" "), target))
    return pairs


def split_book_dates(pairs: list[Pair], unseen_only: bool = False) -> tuple[list[Pair], list[Pair]]:
    """Training and test pairs as the book splits them: shuffled, the last tenth is test.

    `unseen_only` drops the test pairs whose source is in training, 28 % of the book's.
    """
    order = np.arange(len(pairs))
    np.random.RandomState(1984).shuffle(order)
    cut = len(pairs) - len(pairs) // 10
    train = [pairs[index] for index in order[:cut]]
    test = [pairs[index] for index in order[cut:]]
    if unseen_only:
        seen = {pair.source.rstrip(" ") for pair in train}
        test = [pair for pair in test if pair.source.rstrip(" ") not in seen]
    return train, test


@functools.cache
def _readers() -> tuple[tuple[Form, re.Pattern], ...]:
    return tuple(
        (form, re.compile(_pattern(template, form.locale), re.IGNORECASE | re.ASCII))
        for form in FORMS
        for template in form.templates
    )


def _pattern(template: str, locale: str) -> str:
    weekdays = _WEEKDAYS[locale]
    short = 3 if locale == "en_US" else 1
    patterns = _FIELD_PATTERNS | {
        "weekday": f"(?:{'|'.join(weekdays)})",
        "weekday_abbr": f"(?:{'|'.join(name[:short] for name in weekdays)})",
    }
    parts = string.Formatter().parse(template)
    return "".join(
        re.escape(literal) + (patterns[field] if field else "") for literal, field, _, _ in parts
    )


def _read(source: str) -> _Reading | None:
    text = source.rstrip(" ")
    for form, pattern in _readers():
        match = pattern.fullmatch(text)
        if match:
            month = match["month"].lower()
            try:
                date = datetime.date(
                    _full_year(match["year"]), _MONTH_OF.get(month) or int(month), int(match["day"])
                )
            except ValueError:  # 31 April
                return None
            return _Reading(form, date, match.span("year"), match.span("month"), match.span("day"))
    return None


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (1900 if year >= FIRST_YEAR % 100 else 2000)


_CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper)


def _generate_part(dates: list[datetime.date], size: int, rng: random.Random) -> list[Pair]:
    """`size` pairs with distinct sources; each form has its share, each date a turn."""
    turns = _endless(dates, rng)
    septembers = _endless([date for date in dates if date.month == 9], rng)
    pairs: dict[str, Pair] = {}
    total, weight_done = sum(form.weight for form in FORMS), 0
    for form in FORMS:
        weight_done += form.weight
        variants = itertools.cycle(itertools.product(form.templates, _CASES))
        while len(pairs) < size * weight_done // total:
            template, case = next(variants)
            date = next(septembers if "{sept}" in template else turns)
            source = case(_write(date, template, form.locale))
            target = date.isoformat()
            pairs[source] = Pair(source, target, align(source, target))
    return shuffled(pairs.values(), rng)


def _endless(items: list, rng: random.Random) -> Iterator:
    while True:
        yield from shuffled(items, rng)


def _write(date: datetime.date, template: str, locale: str) -> str:
    fields = (field for _, field, _, _ in string.Formatter().parse(template) if field)
    return template.format(**{field: _write_field(date, field, locale) for field in fields})


def _write_field(date: datetime.date, field: str, locale: str) -> str:
    if field == "sept":
        return "Sept"
    if field == "suffix":
        ending = {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
        return "th" if 11 <= date.day <= 13 else ending
    from babel.dates import format_date  # here, because reading dates needs no Babel

    return format_date(date, _CLDR_FIELDS[field], locale=locale)


def main(arguments: list[str]) -> None:
    """Writes the data set into a folder."""
    run("dates", "data/dates", generate, arguments)


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
