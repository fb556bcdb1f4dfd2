"""`evaluate --by` and `--report` as a user calls them."""

import json

import pytest

from tests.support.commands import call_verb


def test_slices_in_text_json_and_page(trained, reversal_folder, tmp_path):
    data, page = reversal_folder / "test.tsv", tmp_path / "page.html"
    by = ("--by", "^([ab])")
    text = call_verb("evaluate", trained.path, data, *by, "--report", page)
    assert text.status == 0, text.err
    assert "by ^([ab]), the worst first" in text.out
    assert "(no match)" in page.read_text() and "By ^([ab])" in page.read_text()
    found = json.loads(call_verb("evaluate", trained.path, data, *by, "--json").out)["report"]
    assert {each["name"] for each in found["slices"]} == {"a", "b", "(no match)"}
    assert sum(each["n"] for each in found["slices"]) == 100


def test_a_column_may_hold_anything(trained, tmp_path):
    path = tmp_path / "labelled.tsv"
    path.write_text("abc\tcba\tno alignment\tx\nab\tba\t\ty\n")
    finished = call_verb("evaluate", trained.path, path, "--by", "3")
    assert finished.status == 0, finished.err
    assert "no alignment: " in finished.out and "(empty): " in finished.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "("), "--by: must be length"),
        (("--by", "9"), "asks for column 9"),
        (("--report", "nowhere/page.html"), "--report: nowhere is no folder"),
        (("--report", "."), "is a folder; name a file"),
    ],
)
def test_what_cannot_be_done_is_told(options, message, trained, reversal_folder):
    finished = call_verb("evaluate", trained.path, reversal_folder / "test.tsv", *options)
    assert finished.status == 2 and message in finished.err
    assert finished.err.splitlines()[-1].startswith("error: ")
