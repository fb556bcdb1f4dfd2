"""The report as JSON and as a page, and the verb that writes it."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import xml.dom.minidom
from html.parser import HTMLParser

import pytest

from keras_attention.explanation.pages.charts import decimals, shown
from keras_attention.explanation.pages.figures import all_figures
from keras_attention.explanation.pages.html import render
from keras_attention.explanation.pages.svg import standalone
from keras_attention.explanation.reporting.estimate import Number
from keras_attention.explanation.reporting.report import DependenceReport, Report, ShownExample
from keras_attention.explanation.reporting.verdict import TABLE, judge
from tests.support.commands import call_train, call_verb
from tests.support.tasks import SMALL

KEYS = {
    "dependence": {"varies", "on_step", "on_input", "one_position"},
    "agreement": {"kendall_tau", "top_1", "ceiling_kendall_tau", "null_kendall_tau"},
    "interventions": {"uniform", "permutation", "another_example", "only_largest"},
    "adversarial": {"epsilon", "max_jsd", "survives", "bound"},
    "erasure": {"comprehensiveness", "sufficiency", "aopc_comprehensiveness"},
    "alignment": {"monotonicity", "gold", "controls"},
    "verdict": {"overall", "reason", "judgements"},
}


@pytest.fixture(scope="module")
def explained(trained, tmp_path_factory):
    """Two audits of one run, into folders of different names."""
    folder = tmp_path_factory.mktemp("explained")
    # Gold for the first letters: a reversed word's step t comes from the end.
    data = folder / "data.tsv"
    words = ["abcde", "edc", "badce", "ccd", "ea", "deeda", "abab", "dd", "ecba", "bead"]
    data.write_text("".join(f"{w}\t{w[::-1]}\t{links(w)}\n" for w in words), encoding="utf-8")
    outs = [folder / name for name in ("first", "second")]
    results = [
        call_verb("explain", trained.path, data, "--out", out, "--examples", "8", "--seed", "5")
        for out in outs
    ]
    return results, outs


def links(word):
    return " ".join(f"{len(word) - 1 - step}-{step}" for step in range(len(word)))


def report_of(out):
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_two_audits_write_the_same_bytes(explained):
    results, (first, second) = explained
    assert [result.status for result in results] == [0, 0], results[0].err
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(p.relative_to(second) for p in second.rglob("*") if p.is_file())
    assert {str(file) for file in files} >= {"report.json", "report.html", "figures/agreement.svg"}
    for file in files:
        assert (first / file).read_bytes() == (second / file).read_bytes(), file


def test_the_verb_prints_outcomes_verdict_and_page(explained):
    results, (first, _) = explained
    lines = results[0].out.splitlines()
    assert lines[-1] == str(first / "report.html")
    assert lines[-2].startswith(report_of(first)["verdict"]["overall"])
    assert [line.split()[0] for line in lines[:-2]] == [
        each["outcome"] for each in report_of(first)["verdict"]["judgements"]
    ]
    assert "agreement: done" in results[0].err


def test_json_has_the_words_of_the_field_and_every_number_its_definition(explained):
    report = report_of(explained[1][0])
    for part, keys in KEYS.items():
        assert keys <= set(report[part]), part
    assert {"gradient", "integrated_gradients", "leave_one_out"} <= set(
        report["agreement"]["kendall_tau"]
    )
    assert "alignment_error_rate" in report["alignment"]["gold"]
    numbers = list(all_numbers(report))
    assert len(numbers) > 100
    for number in numbers:
        assert set(number) == {
            *("value", "confidence_interval", "n", "unit", "seed", "definition", "interval")
        }
        assert number["definition"] and number["interval"] and number["seed"] == 5
        if number["value"] is None:
            assert number["n"] == 0
        else:
            low, high = number["confidence_interval"]
            assert number["n"] > 0 and low <= high


def all_numbers(part):
    if isinstance(part, dict) and "confidence_interval" in part:
        yield part
    elif isinstance(part, (dict, list)):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from all_numbers(inner)


def test_json_has_no_times_and_no_paths(explained, trained):
    text = (explained[1][0] / "report.json").read_text(encoding="utf-8")
    assert str(trained.path) not in text and str(explained[1][0]) not in text
    assert not re.search(r"\d\d:\d\d|seconds|20\d\d-\d\d-\d\dT", text)


def test_the_page_needs_nothing_else_and_is_well_formed(explained):
    page = (explained[1][0] / "report.html").read_text(encoding="utf-8")
    without_namespaces = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in without_namespaces
    assert not re.search(r"<script|<link|<img|@import|url\(", without_namespaces)
    assert "prefers-color-scheme: dark" in page
    check_nesting(page)
    for row in TABLE:
        if row.name not in ("need", "seeds"):
            assert row.limits in unescaped(page), row.name


def unescaped(page):
    import html

    return html.unescape(page)


class Nesting(HTMLParser):
    """Raises where an element is closed that is not the innermost open one."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_nesting(page):
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []


def test_figures_are_xml_and_described(explained):
    for path in (explained[1][0] / "figures").glob("*.svg"):
        drawing = xml.dom.minidom.parse(str(path))
        assert drawing.getElementsByTagName("desc")[0].firstChild.data
        assert "nan" not in path.read_text(encoding="utf-8")


def hostile(token):
    number = Number(0.5, 0.4, 0.6, 3, 0, "steps", "test", "none")
    verdict = judge({row.name: number for row in TABLE})
    tokens = (token, "a")
    shown_one = ShownExample(
        *("furthest", tokens, tokens, tokens),
        *(((0.5, 0.5), (1.0, 0.0)), ((0.1, 0.9), (0.0, 1.0)), (0.1, 0.2), (1.0, 0.9), (0.9, 1.0)),
        ((0, 1, True), (1, 0, False)),
        *((token, "a"), (0.5, 0.25), ((0.5, -0.1), (0.0, 0.2))),
    )
    return Report(
        *("sequence-to-sequence", token, 1, 2, 0, "none", verdict),
        DependenceReport(number, number, number, number),
        *(None, None, None, None, None, None, None, None, None),
        *((), (shown_one,)),
    )


@pytest.mark.parametrize(
    "token", ["<script>alert(1)</script>", "</svg>", "&amp;", '"', "'><b>", "\0", "\u202e", "\n"]
)
def test_tokens_are_text_wherever_they_stand(token):
    report = hostile(token)
    page = render(report)
    assert "<script" not in page and "<b>" not in page
    check_nesting(page)
    for drawing in all_figures(report).values():
        assert "\0" not in drawing
        xml.dom.minidom.parseString(standalone(drawing).encode())
    json.loads(report.to_json())


def test_labels_are_those_of_the_figures_cut_shorter():
    drawing = all_figures(hostile("x" * 40))["example_1"]
    assert ">" + "x" * 7 + "…" + "x" * 6 + "<" in drawing and "x" * 15 + "<" not in drawing
    assert "a\\tb" in all_figures(hostile("a\tb"))["example_1"]
    assert "U+202E" in all_figures(hostile("\u202e"))["example_1"]


@pytest.mark.parametrize(("token", "slanted"), [("é", 0), ("e\u0301", 0), ("𠮷", 0), ("ab", 2)])
def test_only_words_are_slanted(token, slanted):
    drawing = all_figures(hostile(token))["example_1"]
    assert drawing.count("rotate(-60") == 2 * slanted  # both labels of both maps, or none


def test_numbers_are_shown_with_their_intervals():
    number = Number(-0.0001, -0.5, 0.25, 3, 0, "steps", "test", "none")
    assert shown(number) == "0.000 [−0.500, 0.250]"
    assert shown(dataclasses.replace(number, value=None)) == "undefined"
    assert shown(None) == "not measured"
    assert decimals(-0.25) == "−0.250"


def test_a_part_alone(trained, tmp_path):
    result = call_verb(
        *("explain", trained.path, "--out", tmp_path / "out", "--examples", "6"),
        *("--only", "interventions"),
    )
    assert result.status == 0, result.err
    report = report_of(tmp_path / "out")
    assert report["interventions"] and report["agreement"] is None and report["examples"] == []
    assert report["verdict"]["overall"] == "undecided"
    # Without DATA.tsv the run's own test part is audited.
    assert report["n_examples"] == 6


def test_an_older_report_is_replaced_whole(trained, tmp_path):
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "figures" / "old.svg").write_text("old")
    (out / "mine.txt").write_text("mine")
    call_verb("explain", trained.path, "--out", out, "--examples", "4", "--only", "alignment")
    assert not (out / "figures" / "old.svg").exists()
    assert (out / "mine.txt").read_text() == "mine"
    assert {path.name for path in out.iterdir()} == {
        *("report.json", "report.html", "figures", "examples", "mine.txt")
    }


def test_mistakes_are_one_line_and_leave_nothing(trained, tmp_path):
    out = tmp_path / "out"
    for arguments, words in (
        ((tmp_path / "none",), "holds no run"),
        ((trained.path, "--only", "everything"), "--only: invalid choice"),
        ((trained.path, "--examples", "1"), "--examples: an audit needs at least 2"),
        ((trained.path, "--seed", "-1"), "--seed: must be at least 0"),
        ((trained.path, tmp_path / "none.tsv"), "none.tsv: no such file"),
    ):
        result = call_verb("explain", *arguments, "--out", out)
        assert result.status == 2 and words in result.err, result.err
        assert len(result.err.splitlines()) == 1
        assert not list(tmp_path.rglob("report.*"))


def test_models_without_attention_are_refused(reversal_folder, tmp_path):
    run = tmp_path / "plain"
    arguments = ("--data", reversal_folder, "--out", run, *SMALL, "--epochs", "1")
    assert call_train(*arguments, "--attention", "none").status == 0
    result = call_verb("explain", run, "--out", tmp_path / "out")
    assert result.status == 2
    assert "has no attention to explain anything with" in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_baselines_are_trained_beside_the_model(trained, tmp_path):
    result = call_verb(
        *("explain", trained.path, "--out", tmp_path, "--examples", "20", "--train-baselines"),
        *("--only", "adversarial"),
    )
    assert result.status == 0, result.err
    baselines = report_of(tmp_path)["baselines"]
    assert len(baselines["other_seeds"]) == 2
    # Reversing a word is what fixed vectors and uniform attention are bad at.
    assert baselines["uniform_trained"]["value"] < baselines["exact_match"]["value"]
    assert 0 < baselines["between_seeds_jsd"]["value"] < 0.6931
    names = [each["criterion"]["name"] for each in report_of(tmp_path)["verdict"]["judgements"]]
    assert names == ["dependence", "adversarial", "need", "seeds"]
    assert "Other models for comparison" in (tmp_path / "report.html").read_text()


def test_help_needs_no_tensorflow():
    program = (
        "import sys, contextlib\n"
        "from keras_attention.__main__ import main\n"
        "with contextlib.suppress(SystemExit): main(['explain', '--help'])\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "--train-baselines" in result.stdout


def test_a_report_that_cannot_be_put_in_place_leaves_the_older_one(tmp_path, monkeypatch):
    from keras_attention._runtime import replacement
    from keras_attention.errors import UserError
    from keras_attention.explanation.pages.write import write_report

    write_report(hostile("first"), tmp_path)
    (tmp_path / ".writing-report-killed").mkdir()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    rename, calls = os.rename, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 5:  # the older files are aside, one new one is in place
            raise PermissionError(13, "Permission denied")
        rename(*arguments)

    monkeypatch.setattr(replacement.os, "rename", failing)
    with pytest.raises(UserError, match="cannot be written to: Permission denied"):
        write_report(hostile("second"), tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert not list(tmp_path.glob(".writing-*"))
