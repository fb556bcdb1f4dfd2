"""Strangers' files: what `check` says of each, and that training takes or refuses it alike."""

import gzip
import json

import pytest

from keras_attention.checks.check import check_data, quick_findings
from keras_attention.errors import UserError
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, load_splits
from tests.support import ROOT

DATA = ROOT / "data"
GOOD = b"a\tx\nb\ty\nc\tz\nab\txy\n"


def findings(report) -> set:
    return {(f.kind, f.severity, f.count, f.lines) for f in report.findings}


def error(kind, *lines):
    return kind, "error", len(lines), lines[:5]


def warning(kind, *lines):
    return kind, "warning", len(lines), lines[:5]


def info(kind, *lines):
    return kind, "info", len(lines), lines[:5]


# Name, content of the file, all that is found in it, and a word that one of the messages says.
FILES = [
    ("good", GOOD, [], ""),
    ("empty", b"", [("empty_file", "error", 1, ())], "is empty"),
    ("only blank", b"\n\r\n \n", [("empty_file", "error", 1, ()), info("blank_lines", 1, 2, 3),
                                  info("windows_line_ends", 2)], "is empty"),
    ("one column", GOOD + b"word\nd\tw\nother words\n", [error("columns", 5, 7)], "1 column"),
    ("four columns", GOOD + b"a\tb\t0-0\td\n", [error("columns", 5)], "4 columns"),
    ("commas", b"a,x\nb,y\nc,z\n", [error("columns", 1, 2, 3)], "has commas where a tab"),
    ("semicolons", b"a;x,1\nb;y\nc;z\n", [error("columns", 1, 2, 3)], "has semicolons"),
    ("written tabs", b"a\\tx\nb\\ty\nc\\tz\n", [error("columns", 1, 2, 3)], r"has a written \t"),
    ("classic Mac", b"a\tx\rb\ty\rc\tz\r", [error("columns", 1), info("no_final_line_end", 1)],
     "CR without LF"),
    ("classic Mac, two lines", b"a\tx\rb\ty", [error("alignment", 1), info("no_final_line_end", 1)],
     "CR without LF"),
    ("Windows", b"\xef\xbb\xbfa\tx\r\nb\ty\r\nc\tz\r\n",
     [info("byte_order_mark", 1), info("windows_line_ends", 1, 2, 3)], "byte-order mark"),
    ("mixed line ends", GOOD + b"d\tw\r\n\n",
     [info("windows_line_ends", 5), info("blank_lines", 6)], "CR LF"),
    ("cut short", GOOD + b"d\tw", [info("no_final_line_end", 5)], "cut short"),
    ("Latin-1", GOOD + "é\tw\n".encode("latin-1") + "ö\tw\n".encode("latin-1"),
     [error("utf8", 5, 6)], "invalid UTF-8 at byte 1"),
    ("UTF-16", "a\tx\nb\ty\n".encode("utf-16"),
     [error("utf8", 1), error("nul", 2, 3), info("no_final_line_end", 3)], "UTF-16"),
    ("UTF-16 without mark", "a\tx\nb\ty".encode("utf-16-be"),
     [error("nul", 1, 2), info("no_final_line_end", 2)], "NUL"),
    ("EUC-KR", GOOD + "고양이\tw\n".encode("euc-kr"), [error("utf8", 5)], "save the file as UTF-8"),
    ("NUL", GOOD + b"a\0b\tw\n", [error("nul", 5)], "NUL"),
    ("empty sides", GOOD + b"\tw\n\t\nd\t\n", [error("empty", 5, 6, 7)], "empty source"),
    ("seven bad lines", GOOD + b"bad\n" * 7, [error("columns", 5, 6, 7, 8, 9, 10, 11)], "1 column"),
    ("malformed link", GOOD + b"d\tw\t0:0\n", [error("alignment", 5),], "malformed link"),
    ("link outside", GOOD + b"d\tw\t0-1\n", [error("alignment", 5)], "leaves the pair"),
    ("alignment on one line", GOOD + b"d\tw\t0-0\n", [info("partial_alignment", 1, 2, 3, 4)],
     "have none"),
    ("every kind of bad line", GOOD + b"bad\n\0\tx\n\tx\n\xff\tx\na\tx\t9-9\n",
     [error("columns", 5), error("nul", 6), error("empty", 7), error("utf8", 8),
      error("alignment", 9)], ""),
    ("duplicates", GOOD + b"a\tx\nb\ty\na\tx\n", [warning("duplicates", 5, 6, 7)], "before"),
    ("seven duplicates", GOOD + b"a\tx\n" * 7, [warning("duplicates", 5, 6, 7, 8, 9, 10, 11)], ""),
    ("conflicts", GOOD + b"a\ty\nb\ty\na\tz\n",
     [warning("conflicts", 5, 7), warning("duplicates", 6)], "1 source with several targets"),
    ("identical targets", b"a\tx\nb\tx\n\nc\tx\n",
     [("identical_targets", "warning", 3, (1, 2, 4)), info("blank_lines", 3)], "nothing to learn"),
    ("copies", b"a\ta\nb\tb\nc\tc\n", [warning("copies", 1, 2, 3)], "equals its source"),
    ("two sources", b"a\tx\nb\ty\na\tz\n", [error("too_few_sources", 1), warning("conflicts", 3)],
     "3 are needed"),
    ("a heading", b"Source\tTarget\n" + GOOD, [warning("heading", 1)], "'Source' and 'Target'"),
    ("quotation marks", b'"a"\t"x"\n"b"\t"y"\n"c"\t"z"\n', [warning("quotes", 1, 2, 3)],
     "quotation"),
    ("a source of 10,000 characters", GOOD + b"d" * 10_000 + b"\tw\n", [warning("long_source", 5)],
     "up to 10,000"),
    ("a target of 513 characters", GOOD + b"d\t" + b"w" * 513 + b"\n", [warning("long_target", 5)],
     "up to 513"),
    ("NFC and NFD", GOOD + "é\tw\ne\u0301e\tw\n".encode(), [warning("normal_form", 6)],
     "where 1 line of the data"),
    ("NFC and NFD in one line", GOOD + "e\u0301é\tw\n".encode(), [warning("normal_form", 5)],
     "where 1 line of the data"),
    ("only NFD", GOOD + "e\u0301\tw\n".encode(), [info("normal_form", 5)], "as all of the data"),
    ("jamo and syllables", GOOD + "\u1100\u1161\tw\n가나\tw\n".encode(),
     [warning("normal_form", 5)], "not NFC"),
    ("zero-width and marks", GOOD + "d\u200b\tw\n\ufeffe\tw\nf\u202eg\tw\n".encode(),
     [warning("invisible", 5, 6, 7)], "U+200B ZERO WIDTH SPACE (1)"),
    ("no-break spaces", GOOD + "d\u00a0e\tw\nf\tw\u202fw\n".encode(), [warning("spaces", 5, 6)],
     "U+202F NARROW NO-BREAK SPACE (1)"),
    ("other line ends", GOOD + "d\u2028e\tw\nf\x85\tw\x0b\ng\rh\tw\n".encode(),
     [warning("spaces", 5), warning("control", 6, 7)], "U+000D (1)"),
    ("a failed conversion", GOOD + "caf\ufffd\tw\n".encode(), [warning("replacement", 5)],
     "U+FFFD REPLACEMENT CHARACTER"),
    ("padding", GOOD + b" d\tw\ne \tw \n",
     [info("source_edge_spaces", 5, 6), info("target_edge_spaces", 6)], "a token too"),
]  # fmt: skip


CASES = [pytest.param(*file[1:], id=file[0]) for file in FILES]


@pytest.mark.parametrize(("content", "expected", "says"), CASES)
def test_a_hostile_file(tmp_path, content, expected, says):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    report = check_data(path)
    assert findings(report) == set(expected)
    severities = [finding.severity for finding in report.findings]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert says in report.to_text()
    assert all(text.isprintable() for text in report.to_text().split("\n"))
    # Training takes what has no error and refuses the rest at the first bad line.
    if report.ok:
        assert load_splits(path, seed=0)
    else:
        with pytest.raises(UserError) as refused:
            load_splits(path, seed=0)
        lines = [f.lines[0] for f in report.findings if f.severity == "error" and f.lines]
        if lines and report.findings[0].kind != "too_few_sources":
            assert str(refused.value).startswith(f"{path}:{min(lines)}: ")


def test_there_are_thirty_of_them():
    assert len({content for _, content, _, _ in FILES}) >= 30


@pytest.fixture
def folder(tmp_path):
    def write(**parts: str):
        for name, content in parts.items():
            (tmp_path / f"{name}.tsv").write_text(content, encoding="utf-8", newline="")
        return tmp_path

    return write


def in_files(report) -> set:
    return {(f.kind, f.severity, f.file, f.lines) for f in report.findings}


def test_leaks_between_the_files_of_a_folder(folder):
    path = folder(
        train="a\tx\nb\ty\nAb c\tz\n", valid="b\ty\nbb\tx\n", test="ab  C\tz\nbb\tx\na\tz\naa\ty\n"
    )
    report = check_data(path)
    assert in_files(report) == {
        ("leaks", "warning", "valid.tsv", (1,)),
        ("leaks", "warning", "test.tsv", (3,)),
        ("leaks", "warning", "test.tsv", (2,)),
        ("near_leaks", "info", "test.tsv", (1,)),
        ("unseen_source_tokens", "warning", "test.tsv", (1,)),
    }
    assert "train.tsv, too (50.0% of the pairs)" in report.to_text()
    assert "1 character that train.tsv has not in a source, read as unknown: 'C' (1)" in (
        report.to_text()
    )
    assert report.ok and load_splits(path, seed=0)


def test_tokens_that_training_never_meets(folder):
    path = folder(train="나 는\tI am\n", valid="너 는\tyou are\n", test="나 는 요\tI am I\n")
    report = check_data(path, "word", "word")
    assert in_files(report) == {
        ("unseen_source_tokens", "warning", "valid.tsv", (1,)),
        ("unseen_target_tokens", "warning", "valid.tsv", (1,)),
        ("unseen_source_tokens", "warning", "test.tsv", (1,)),
    }
    assert "2 words that train.tsv has not in a target, can never be written" in report.to_text()
    assert report.figures["test.tsv"]["target"] == {
        "different": 1, "shortest": 3, "mean": 3.0, "longest": 3, "vocabulary": 2, "seen_once": 1,
    }  # fmt: skip


def test_forms_are_compared_across_files(folder):
    path = folder(train="\uac00\tx\n", valid="\uac00\uac00\tx\n", test="\u1100\u1161\tx\n")
    kinds = {finding.kind: finding for finding in check_data(path).findings}
    assert kinds["normal_form"].file == "test.tsv" and "2 lines of" in kinds["normal_form"].message
    assert kinds["near_leaks"].file == "test.tsv"


def test_missing_and_broken_files_of_a_folder(folder, tmp_path):
    path = folder(train=GOOD.decode())
    (tmp_path / "valid.tsv.gz").write_bytes(gzip.compress(b"aa\txx\nba\ty\n")[:-9])
    report = check_data(path)
    assert in_files(report) == {
        ("unreadable", "error", "valid.tsv.gz", ()),
        ("missing_file", "error", "test.tsv", ()),
    }
    assert not report.ok and "error: test.tsv: the file is missing" in report.to_text()


def test_nothing_to_look_at(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        check_data(tmp_path / "none")
    with pytest.raises(UserError, match="has no train.tsv"):
        check_data(tmp_path)


def test_alignment_counts_words_where_words_are_asked_for(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a b\tx\t2-0\nb c\ty\nc d\tz\n")
    assert check_data(path).ok
    report = check_data(path, source_tokens="word")
    assert findings(report) == {error("alignment", 1)}
    # Among words, outer spaces mean nothing.
    path.write_bytes(b" a b\tx\nb c \ty\nc d\tz \n")
    assert not check_data(path, "word", "word").findings


def test_json_says_what_the_report_says(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(GOOD + "가\u200b\tw\nbad\n".encode())
    report = check_data(path)
    content = json.loads(report.to_json())
    assert content["path"] == str(path) and content["ok"] is False
    assert [finding["kind"] for finding in content["findings"]] == ["columns", "invisible"]
    assert content["findings"][1] == {
        "kind": "invisible",
        "severity": "warning",
        "file": "pairs.tsv",
        "count": 1,
        "lines": [5],
        "message": "invisible characters: U+200B ZERO WIDTH SPACE (1)",
    }
    assert content["figures"]["pairs.tsv"]["pairs"] == 5
    assert content["figures"]["pairs.tsv"]["source"] == {
        "different": 5, "shortest": 1, "mean": 1.4, "longest": 2, "vocabulary": 5, "seen_once": 3,
    }  # fmt: skip


def test_text_by_hand(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(GOOD + b"bad\n" * 7 + b"a\ty\n")
    assert check_data(path).to_text() == (
        "pairs.tsv: 5 pairs; sources 4 different, 1-2 tokens (mean 1.2), vocabulary 3; "
        "targets 4 different, 1-2 tokens (mean 1.2), vocabulary 3\n"
        "error: pairs.tsv:5: expected source<TAB>target or source<TAB>target<TAB>alignment. "
        "Received: 1 column (7 lines: 5, 6, 7, 8, 9, ...)\n"
        "warning: pairs.tsv:12: 1 source with several targets, such as 'a'; "
        "the model can give one (1 line)\n"
        "1 error, 1 warning"
    )


def test_what_train_asks():
    splits = Splits(
        [Pair("a", "x"), Pair("b", "y"), Pair("a", "y")], [Pair("a", "x")], [Pair("c", "z")]
    )
    found = quick_findings(splits)
    assert {(finding.kind, finding.file, finding.lines) for finding in found} == {
        ("conflicts", "train", ()),
        ("leaks", "valid", ()),
        ("unseen_source_tokens", "test", ()),
        ("unseen_target_tokens", "test", ()),
    }
    assert {finding.severity for finding in found} == {"warning"}
    assert not quick_findings(Splits([Pair("ab", "x"), Pair("b", "y")], [Pair("a", "x")], []))


def test_our_own_data_is_clean():
    for name, kind in (("dates", "char"), ("phrases", "word")):
        assert not check_data(DATA / name, kind, kind).findings
