"""The committed dates: reproducible, unambiguous, leak-free, aligned as data/README.md says."""

import collections
import datetime
import os
import pathlib
import re

import numpy as np
import pytest
from babel.dates import format_date, get_day_names, get_month_names
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.datasets import dates as dates_module
from keras_attention.datasets.dates import (
    FORMS,
    MONTHS,
    align,
    form_of,
    generate,
    read_book_dates,
    split_book_dates,
)
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link, format_alignment
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits, load_splits
from tests.support import ROOT

FOLDER = ROOT / "data" / "dates"
SHARED = pathlib.Path(os.environ.get("KERAS_ATTENTION_DATA", "/no/such/folder")) / "book_dates"
needs_book = pytest.mark.skipif(
    not (SHARED / "date.txt").exists(), reason="KERAS_ATTENTION_DATA has no book_dates/date.txt"
)


@pytest.fixture(scope="module")
def committed() -> Splits:
    return load_splits(FOLDER, seed=0)


def test_the_committed_files_come_from_the_generator(tmp_path):
    for name, pairs in generate(seed=0)._asdict().items():
        write_pairs(tmp_path / f"{name}.tsv", pairs)
        assert (tmp_path / f"{name}.tsv").read_bytes() == (FOLDER / f"{name}.tsv").read_bytes()


def test_another_seed_gives_other_pairs(committed, monkeypatch):
    monkeypatch.setattr(dates_module, "SIZES", Splits(300, 300, 300))
    assert generate(1) == generate(1) != generate(2)
    assert all(len(part) == 300 for part in generate(1))


def test_sizes_and_leaks(committed):
    assert tuple(map(len, committed)) == (45_000, 2_500, 5_000)
    targets = [{pair.target for pair in part} for part in committed]
    assert not (targets[0] & targets[1] or targets[0] & targets[2] or targets[1] & targets[2])
    sources = [pair.source for part in committed for pair in part]
    assert len(set(sources)) == len(sources)


def test_every_calendar_day(committed):
    days = {pair.target[5:] for pair in committed.train}
    assert len(days) == 366 and "02-29" in days
    years = {pair.target[:4] for pair in committed.train}
    assert years == {str(year) for year in range(1969, 2069)}
    every_target = {pair.target for part in committed for pair in part}
    assert {target for target in every_target if target.endswith("02-29")} == {
        f"{year}-02-29" for year in range(1972, 2069, 4)
    }
    assert len(every_target) == 36_525  # all of the hundred years


def test_every_form_has_its_share_in_every_split(committed):
    for part in committed:
        shares = collections.Counter(form_of(pair.source) for pair in part)
        assert set(shares) == {form.name for form in FORMS}
        assert min(shares.values()) >= 0.01 * len(part)
        for case in (str.lower, str.upper):
            cased = collections.Counter(
                form_of(pair.source)
                for pair in part
                if re.search("[A-Za-z]", pair.source) and case(pair.source) == pair.source
            )
            assert len(cased) == 7 and min(cased.values()) >= 0.01 * len(part)
        korean = sum(count for name, count in shares.items() if name.startswith("ko"))
        assert abs(korean / len(part) - 1 / 3) < 0.001


# Written here once more, so that a slip in the module's own reader is seen.
ENGLISH = {name.lower(): index for index, name in enumerate(MONTHS, start=1)}
ENGLISH |= {name[:3]: number for name, number in ENGLISH.items()} | {"sept": 9}


def date_of(source: str) -> datetime.date:
    text = re.sub(r"(?<=\d)(st|nd|rd|th)", "", source.lower())
    numbers = re.findall(r"\d+", text)
    month = [ENGLISH[word] for word in re.findall("[a-z]+", text) if word in ENGLISH]
    if month:
        day, year = numbers
        return datetime.date(int(year), month[0], int(day))
    month_first = re.fullmatch(r"\d\d?/\d\d?/(\d\d|\d{4})", text)
    month, day, year = numbers if month_first else [*numbers[1:], numbers[0]]
    year = datetime.datetime.strptime(year, "%y").year if len(year) == 2 else int(year)
    return datetime.date(year, int(month), int(day))


def test_sources_say_their_date_and_weekday(committed):
    names = {name: index for index, name in enumerate("월화수목금토일")}
    for part in committed:
        for source, target, *_ in part:
            date = date_of(source)
            assert date.isoformat() == target
            weekday = re.search(r"([월화수목금토일])(?:요일|\))", source)
            if weekday:
                assert names[weekday[1]] == date.weekday()
            elif "day" in source.lower():
                assert source.lower().startswith(f"{date:%A}, ".lower())
            ordinal = re.search(r"(\d+)(st|nd|rd|th)", source.lower())
            if ordinal:
                assert ordinal[2] == {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(
                    date.day, "st" if date.day == 31 else "th"
                )


def test_gold_links(committed):
    """What the README promises of the third column, checked without the module's reader."""
    for part in committed:
        for source, target, links, _ in part:
            linked = {link.source for link in links}
            sure = {(link.source, link.target) for link in links if link.sure}
            assert len({link[:2] for link in links}) == len(links)
            assert all(source[i] == target[j] and target[j].isdigit() for i, j in sure)
            assert all(target[link.target] != "-" for link in links)
            # Every digit of the source has exactly one sure link, and every target digit but the
            # century of a short year, a zero put before, and a month's name has one, too.
            assert [i for i, _ in sorted(sure)] == [i for i, c in enumerate(source) if c.isdigit()]
            without = {0, 1, 2, 3, 5, 6, 8, 9} - {j for _, j in sure}
            year, month, day = (int(number) for number in target.split("-"))
            short_year = not re.search(r"\d{4}", source)
            name = re.search("[a-z]{3}", re.sub("[a-z]+day|[0-9]th|of", "", source.lower()))
            rest = source[2:] if re.match(r"\d\d[.년]", source) else source[:-2]
            padded = re.search(r"(?<!\d)0", rest if short_year else source)
            expected = {0, 1} if short_year else set()
            if name:
                expected |= {5, 6}
            elif month < 10 and not padded:
                expected |= {5}
            if day < 10 and not padded:
                expected |= {8}
            assert without == expected, (source, target)
            # These have possible links, to the whole of their field and nothing else.
            assert {link.target for link in links if not link.sure} == expected
            letters = {i for i in linked if not source[i].isdigit()}
            word = "".join(source[i] for i in sorted(letters)).lower()
            assert word in ENGLISH if name else not word


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("9/7/94", "1994-09-07", "0p5 0-6 2p8 2-9 4p0 4p1 4-2 5p0 5p1 5-3"),
        ("May 27, 1994", "1994-05-27", "0p5 0p6 1p5 1p6 2p5 2p6 4-8 5-9 8-0 9-1 10-2 11-3"),
        (
            "FRIDAY, MAY 3, 2002   ",
            "2002-05-03",
            "8p5 8p6 9p5 9p6 10p5 10p6 12p8 12-9 15-0 16-1 17-2 18-3",
        ),
        ("3rd of May 2001", "2001-05-03", "0p8 0-9 7p5 7p6 8p5 8p6 9p5 9p6 11-0 12-1 13-2 14-3"),
        (
            "Sept. 27, 2001",
            "2001-09-27",
            "0p5 0p6 1p5 1p6 2p5 2p6 3p5 3p6 6-8 7-9 10-0 11-1 12-2 13-3",
        ),
        ("2003-03-25", "2003-03-25", "0-0 1-1 2-2 3-3 5-5 6-6 8-8 9-9"),
        ("03. 3. 25.", "2003-03-25", "0p0 0p1 0-2 1p0 1p1 1-3 4p5 4-6 7-8 8-9"),
        ("2003년 3월 5일 수요일", "2003-03-05", "0-0 1-1 2-2 3-3 6p5 6-6 9p8 9-9"),
    ],
)
def test_alignment_by_hand(source, target, links):
    assert format_alignment(align(source, target)) == links


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("9/27/94", "en_short"),
        ("sep 27, 1994", "en_medium"),
        ("may 27, 1994", "en_medium"),
        ("SEPTEMBER 27, 1994", "en_long"),
        ("Tuesday, September 27, 1994   ", "en_full"),
        ("09/27/1994", "en_numeric"),
        ("27 September 1994", "en_day_first"),
        ("September 27th, 1994", "en_ordinal"),
        ("27th of sep 1994", None),
        ("27 Sept 1994", "en_sept"),
        ("1994.9.27", "year_dot"),
        ("94. 9. 27.", "ko_short"),
        ("1994년 9월 27일 화요일", "ko_full"),
        ("1994. 9. 27. (화)", "ko_weekday"),
        ("4/31/94", None),
        ("27/9/94", None),
        ("0000-01-01", None),
        ("١٩٩٤-09-27", None),
        ("", None),
        ("tomorrow", None),
    ],
)
def test_form_of(source, name):
    assert form_of(source) == name


def test_a_pair_that_is_none_is_refused():
    with pytest.raises(ValueError, match="source='tomorrow'"):
        align("tomorrow", "1994-09-27")
    with pytest.raises(ValueError, match="target='1994-09-28'"):
        align("9/27/94", "1994-09-28")


def test_two_digit_years_are_read_as_posix_does():
    for year in range(100):
        text = f"{year:02}. 3. 5."
        assert align(text, datetime.datetime.strptime(f"{year:02}", "%y").strftime("%Y-03-05"))


def test_names_and_styles_are_those_of_cldr():
    assert list(get_month_names("wide", locale="en_US").values()) == MONTHS
    assert list(get_month_names("abbreviated", locale="en_US").values()) == [
        name[:3] for name in MONTHS
    ]
    templates = {form.name: form.templates[0] for form in FORMS}
    for date in (datetime.date(2003, 3, 5), datetime.date(1999, 12, 31)):
        for locale in ("en_US", "ko_KR"):
            for style in ("short", "medium", "long", "full"):
                template = templates[f"{locale[:2]}_{style}"]
                assert dates_module._write(date, template, locale) == format_date(
                    date, style, locale=locale
                )
    for locale, names in dates_module._WEEKDAYS.items():
        assert [get_day_names("wide", locale=locale)[day] for day in range(7)] == names


@given(
    st.dates(datetime.date(1969, 1, 1), datetime.date(2068, 12, 31)),
    st.sampled_from([(form, template) for form in FORMS for template in form.templates]),
    st.sampled_from([str, str.lower, str.upper]),
)
def test_whatever_is_written_is_read_back(date, form, case):
    """Reading is a function of the source and inverts writing: no source has two targets."""
    if "{sept}" in form[1]:
        date = date.replace(month=9, day=min(date.day, 30))
    source = case(dates_module._write(date, form[1], form[0].locale))
    assert align(source, date.isoformat())
    # The names overlap where the texts do: a medium date in May, a short one with two digits.
    assert form_of(source) == form[0].name or form[0].name in ("en_long", "en_numeric")


def test_only_plain_spaces_and_no_stray_characters(committed):
    used = {char for pair in committed.train for char in pair.source}
    assert all(char.isascii() or "가" <= char <= "힣" for char in used)
    assert used >= {char for part in committed for pair in part for char in pair.source}


@needs_book
def test_all_lines_of_the_book_align():
    pairs = read_book_dates(SHARED / "date.txt")
    assert len(pairs) == 50_000 and not any(pair.source.endswith(" ") for pair in pairs)
    forms = collections.Counter()
    for source, target, *_ in pairs:
        assert align(source, target)
        forms[form_of(source)] += 1
    assert set(forms) == {"en_short", "en_medium", "en_long", "en_full"}
    assert forms["en_short"] == 12_434 and forms["en_full"] == 12_334


@needs_book
def test_the_book_is_split_as_the_book_splits():
    pairs = read_book_dates(SHARED / "date.txt", keep_padding=True)
    assert {len(pair.source) for pair in pairs} == {29}
    train, test = split_book_dates(pairs)
    expected = np.load(SHARED / "expected_attention.npz")
    assert [pair.source for pair in test[:20]] == list(expected["sources"])
    assert (len(train), len(test)) == (45_000, 5_000)
    stripped = split_book_dates(read_book_dates(SHARED / "date.txt"), unseen_only=True)[1]
    assert len(stripped) == len(split_book_dates(pairs, unseen_only=True)[1]) == 3_595


def test_another_file_is_not_the_book(tmp_path):
    path = tmp_path / "date.txt"
    path.write_bytes(b"9/27/94                      _1994-09-27\n9/27/94\t1994-09-27\n")
    with pytest.raises(UserError, match=r"date.txt:2: "):
        read_book_dates(path)


def test_link_order_and_type():
    links = align("9/7/94", "1994-09-07")
    assert list(links) == sorted(links) and links[1] == Link(0, 6, sure=True)


def test_the_readme_counts_right(committed):
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    counts = [collections.Counter(form_of(pair.source) for pair in part) for part in committed]
    for form in FORMS:
        row = re.search(rf"^\| `{form.name}` \| (.*) \| (.*) \| (.*) \| (.*) \|$", readme, re.M)
        assert [int(cell.replace(",", "")) for cell in row.groups()[1:]] == [
            count[form.name] for count in counts
        ]
        for written in row[1].strip("`").split("`, `"):
            assert form_of(written) == form.name or written == "09/07/94"
            assert align(written, "1994-09-07")
