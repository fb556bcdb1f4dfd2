"""Slices, errors and the page that shows them."""

import html.parser
import json

import pytest

from keras_attention.errors import UserError
from keras_attention.evaluation.evaluation import evaluate
from keras_attention.evaluation.reports.report import Report, write_page
from keras_attention.evaluation.reports.slices import (
    Errors,
    edits_between,
    read_pairs_with_columns,
    slices_by,
    wilson,
)
from keras_attention.pairs.pair import Pair
from tests.support.parrot import Parrot

PAIRS = [Pair(*p) for p in (("a1", "xy"), ("b1", "xy"), ("a2", "xy"), ("c", "xyz"), ("d", "q"))]
ANSWERS = {"a1": "xy", "b1": "x", "a2": "zy", "c": "zyz", "d": "q"}
CONFIDENCE = {"b1": 0.5, "a2": 0.99, "c": 0.7}


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(Parrot(ANSWERS, CONFIDENCE).translator(), PAIRS)


def test_a_group_of_a_regular_expression_names_the_slice(evaluation):
    found = slices_by(r"([ab])\d", "", PAIRS, evaluation)
    assert [(s.name, s.n, s.exact_match) for s in found] == [
        ("b", 1, 0.0),
        ("a", 2, 0.5),
        ("(no match)", 2, 0.5),
    ]
    assert found[0].token_error_rate == 0.5  # one of two tokens is missing


def test_without_a_group_its_match_does(evaluation):
    names = {s.name for s in slices_by(r"\d", "", PAIRS, evaluation)}
    assert names == {"1", "2", "(no match)"}


def test_lengths_are_those_of_the_evaluation(evaluation):
    (only,) = slices_by("length", "", PAIRS, evaluation)
    assert (only.name, only.n) == ("1 to 2 tokens", 5)


def test_a_column_of_the_file_is_a_slice(tmp_path, evaluation):
    path = tmp_path / "data.tsv"
    labels = ["old", "new", "new", "", "old"]
    lines = [f"{p.source}\t{p.target}\tnote\t{x}" for p, x in zip(PAIRS, labels, strict=True)]
    path.write_text("\n\n".join(lines))
    assert read_pairs_with_columns(path) == PAIRS
    found = {s.name: (s.n, s.exact_match) for s in slices_by("4", path, PAIRS, evaluation)}
    assert found == {"new": (2, 0.0), "(empty)": (1, 0.0), "old": (2, 1.0)}
    with pytest.raises(UserError, match="data.tsv:1: has 4 columns, and --by asks for column 5"):
        slices_by("5", path, PAIRS, evaluation)


def test_what_is_no_regular_expression_is_told(evaluation):
    with pytest.raises(UserError, match="--by: must be length"):
        slices_by("(", "", PAIRS, evaluation)


def test_wilson_by_hand():
    # z² = 3.8415: (1 + z²/2 ± z sqrt(z²/4)) / (1 + z²) for one of one.
    low, high = wilson(1, 1)
    assert (low, high) == pytest.approx((1 / 4.8415, 1.0), abs=1e-4)
    assert wilson(0, 1) == pytest.approx((0.0, 1 - 1 / 4.8415), abs=1e-4)


def test_edits_name_both_tokens():
    assert edits_between("xyz", "zy") == (("x", "z"), ("z", ""))
    assert edits_between("x", "xy") == (("", "y"),)


def test_errors_are_sorted_counted_and_grouped(evaluation):
    errors = Errors.of(PAIRS, evaluation, "char")
    assert [e.source for e in errors.wrong] == ["a2", "c", "b1"]  # the surest first
    assert errors.confusion == (("x", "z", 2), ("y", "", 1))
    assert [(g.count, g.example.source) for g in errors.groups] == [(2, "a2"), (1, "b1")]


def test_the_nearest_target_of_several_counts():
    pairs = [Pair("s", "abcd"), Pair("s", "xyz")]
    result = evaluate(Parrot({"s": "xyw"}).translator(), pairs)
    assert Errors.of(pairs, result, "char").confusion == (("z", "w", 2),)


class Checker(html.parser.HTMLParser):
    """Counts the tables and takes note of anything that would be loaded."""

    def __init__(self):
        super().__init__()
        self.tables, self.loaded, self.text = 0, [], ""

    def handle_starttag(self, tag, attrs):
        self.tables += tag == "table"
        self.loaded += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def test_the_page_shows_it_all_and_loads_nothing(tmp_path):
    pairs = [Pair("<b>&", "x"), Pair("c", "y")]
    result = evaluate(Parrot({"<b>&": "<script>", "c": "y"}).translator(), pairs)
    report = Report(
        "model",
        "data",
        result,
        Errors.of(pairs, result, "char"),
        "length",
        slices_by("length", "", pairs, result),
    )
    write_page(tmp_path / "page.html", report, [("A figure", "<svg></svg>")])
    checker = Checker()
    written = (tmp_path / "page.html").read_text()
    checker.feed(written)
    assert checker.tables == 6 and not checker.loaded
    assert "<script>" in checker.text and "<script" not in written
    assert "A figure" in checker.text
    json.dumps(report.to_dict())


def test_an_evaluation_without_errors_says_so(tmp_path):
    pairs = [Pair("c", "y")]
    result = evaluate(Parrot({"c": "y"}).translator(), pairs)
    report = Report("m", "d", result, Errors.of(pairs, result, "char"))
    assert report.to_text() == "no answer is wrong"
    write_page(tmp_path / "page.html", report)
    assert "No answer is wrong." in (tmp_path / "page.html").read_text()
