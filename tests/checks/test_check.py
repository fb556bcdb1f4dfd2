"""Strangers' files: what `check` says of each, and that training takes or refuses it alike."""

import gzip
import json

import pytest

from keras_attention.checks.check import check_data, quick_findings
from keras_attention.checks.places import PlacesInFiles
from keras_attention.errors import UserError
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, load_splits
from tests.support import ROOT
from tests.support.commands import call_train

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
    ("commas", b"a,x\nb,y\nc,z\n", [error("columns", 1, 2, 3)],
     "the file seems to be comma-separated columns (CSV) (3 of 3 lines): `python -m "
     "keras_attention convert pairs.tsv --out pairs.pairs.tsv` turns it into pairs"),
    ("semicolons", b"a;x,1\nb;y\nc;z\n", [error("columns", 1, 2, 3)],
     "seems to be semicolon-separated"),
    ("written tabs", b"a\\tx\nb\\ty\nc\\tz\n", [error("columns", 1, 2, 3)], r"have a written \t"),
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
    ("a target of 513 characters", GOOD + b"d\t" + b"w" * 513 + b"\n",
     [warning("long_target", 5), warning("longest_output", 5)],
     "up to 513"),
    ("NFC and NFD", GOOD + "é\tw\ne\u0301e\tw\n".encode(), [warning("normal_form", 6)],
     "where 1 line of the data"),
    ("NFC and NFD in one line", GOOD + "e\u0301é\tw\n".encode(), [warning("normal_form", 5)],
     "where 1 line of the data"),
    ("only NFD", GOOD + "e\u0301\tw\n".encode(), [info("normal_form", 5)], "as all of the data"),
    ("jamo and syllables", GOOD + "\u1100\u1161\tw\n가나\tw\n".encode(),
     [warning("normal_form", 5)], "not NFC"),
    ("zero-width and marks", GOOD + "d\u200b\tw\n\ufeffe\tw\nf\u202eg\tw\n".encode(),
     [warning("invisible", 5), warning("invisible", 6), warning("invisible", 7)],
     "pairs.tsv:5: U+200B ZERO WIDTH SPACE (1 time) is invisible"),
    ("fillers and selectors",
     GOOD + "\u3164d\tw\n\u115fe\tw\u115f\nf\u034fg\tw\nh\ufe0fi\tw\n".encode(),
     [warning("invisible", 5), warning("invisible", 6), warning("invisible", 7),
      warning("invisible", 8)],
     "pairs.tsv:6: U+115F HANGUL CHOSEONG FILLER (2 times) is invisible"),
    ("Hangul filler", GOOD + "\u3164d\tw\n".encode(), [warning("invisible", 5)],
     "U+3164 HANGUL FILLER (1 time)"),
    ("thirteen kinds", GOOD + b"".join(b"%d%s\tw\n" % (i, chr(0x2060 + i).encode())
                                       for i in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14)),
     [warning("invisible", i) for i in range(5, 17)] + [warning("invisible", 17, 18)],
     "2 further characters"),
    ("encoded twice", GOOD + "cafÃ©\tw\nì•ˆë…•\tw\nÐ¿Ñ€Ð¸\tw\n".encode(),
     [warning("encoded_twice", 5, 6, 7)], "such as 'cafÃ©' for 'café'"),
    ("not encoded twice",
     GOOD + "Spaß“\tw\n„Ö“\tw\nIRMÃO\tw\n©Â\tw\nÉ’é\tw\n".encode(), [], ""),
    ("a dictionary", b";;; x\nREAD  R EH1 D\nREAD(2)  R IY1 D\nA  AH0\n",
     [error("columns", 1, 2, 3, 4)],
     "a pronouncing dictionary like CMUdict (3 of 3 lines): `python"),
    ("variants and remarks", b"READ\tR EH1 D\nREAD(2)\tR IY1 D # noun\nA\tAH0\n",
     [warning("variants", 2), warning("remarks", 2)], "such as 'READ(2)', as in CMUdict; `python"),
    ("scores", b"cat\tk a t\t0.93\ndog\td o g\t0.5\na\ta\t1\n", [error("alignment", 1, 2, 3)],
     "the third holds something else than an alignment (3 of 3 lines)"),
    ("IPA without spaces", "cat\tˈkæt\ndog\tdɔɡː\nchurch\tt͡ʃɜːt͡ʃ\n".encode(),
     [info("unsegmented_phones", 1, 2, 3)], "without spaces between phones; `python"),
    ("IPA with spaces", "cat\tˈk æ t\ndog\td ɔ ɡː\nchurch\tt͡ʃ ɜː t͡ʃ\n".encode(), [], ""),
    ("a good line among semicolons", b"a\tx\n" + b"".join(b"%d;x\n" % i for i in range(20)),
     [("columns", "error", 20, (2, 3, 4, 5, 6))], "semicolon-separated columns (CSV) (20 of 21"),
    ("twins are one source", b"a\tx\nA\ty\nb\tz\n", [error("too_few_sources", 1)], "case, spaces"),
    ("no-break spaces", GOOD + "d\u00a0e\tw\nf\tw\u202fw\n".encode(),
     [warning("spaces", 5), warning("spaces", 6)],
     "U+202F NARROW NO-BREAK SPACE (1 time)"),
    ("other line ends", GOOD + "d\u2028e\tw\nf\x85\tw\x0b\ng\rh\tw\n".encode(),
     [warning("line_separators", 5), warning("line_separators", 6), warning("line_separators", 6),
      warning("line_separators", 7)], "pairs.tsv:7: U+000D (1 time) ends a line in other"),
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
        "message": "U+200B ZERO WIDTH SPACE (1 time) is invisible; remove it unless the writing "
        "system needs it",
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
        "an answer counts as right if it is one of them (against each line's own target, "
        "no model can exceed 80.0%) (1 line)\n"
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


def test_what_train_asks_names_file_and_line(folder, tmp_path):
    """Of a folder, of shards, and of one file that is split."""
    long = "y" * 140_000
    train = "".join(f"a{i}\tx\n" for i in range(60)) + f"\nb\t{long}\n{'z' * 600}\tx\n"
    path = folder(train=train, valid="aa\tx\na\ty\n", test="0\tx\na2\ty\n")
    found = {f.kind: f for f in quick_findings(load_splits(path, 0), data=path)}
    assert {kind: f.place for kind, f in found.items()} == {
        "longest_output": f"{path}/train.tsv:62",
        "long_target": f"{path}/train.tsv:62",
        "long_source": f"{path}/train.tsv:63",
        "leaks": f"{path}/test.tsv:2",
    }
    assert "sets the longest output of every answer to 175,000" in found["longest_output"].message
    assert "--longest-output" in found["longest_output"].message

    (path / "train.tsv").rename(path / "train-2.tsv")
    (path / "train-1.tsv").write_text("a\tx\n")
    found = {f.kind: f for f in quick_findings(load_splits(path, 0), data=path)}
    assert found["long_source"].place == f"{path}/train-2.tsv:63"

    file = tmp_path / "one.tsv.gz"
    lines = [f"w{i % 99}\tx{i}" for i in range(300)]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    splits = load_splits(file, 0)
    for part, name in zip(splits, splits._fields, strict=True):
        places = PlacesInFiles(name, part, file)
        assert [lines[place.line - 1] for place in places] == ["\t".join(p[:2]) for p in part]
    assert all(f.place.startswith(f"{file}:") for f in quick_findings(splits, data=file))


def test_train_names_the_line(folder, monkeypatch):
    from keras_attention.commands import train

    def stop(*_):
        raise UserError("as far as this test goes")

    monkeypatch.setattr(train, "_train", stop)
    path = folder(train=f"a\tx\nb\t{'y' * 600}\n" * 3, valid="a\tx\n", test="b\ty\n")
    done = call_train("--data", path, "--out", path / "run")
    assert done.status == 2, done.err
    assert f"warning: {path}/train.tsv:2: targets of more than 512 tokens" in done.err


def test_our_own_data_is_clean():
    for name, kind in (("dates", "char"), ("phrases", "word")):
        assert not check_data(DATA / name, kind, kind).findings
