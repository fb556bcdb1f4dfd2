"""The verb `convert`: one line of what was done, and nothing half-written."""

import pytest

from keras_attention.pairs.pair_files import read_pairs
from tests.support.commands import call_verb


def test_a_dictionary_becomes_pairs(tmp_path):
    file, out = tmp_path / "words.dict", tmp_path / "new" / "words.tsv"
    file.write_text(";;; x\nREAD  R EH1 D\nREAD(2)  R IY1 D\n", encoding="utf-8")
    done = call_verb("convert", file, "--out", out, "--source-case", "lower", "--stress", "drop")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"{out}: 2 pairs from a pronouncing dictionary like CMUdict; comments left out: 1; "
        "variant numbers taken off: 1; phones are separated by spaces: train with "
        "--target-tokens word\n"
    )
    assert [pair[:2] for pair in read_pairs(out)] == [("read", "R EH D"), ("read", "R IY D")]


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        (b"a\tb\n" * 20 + b"c\n", [], "error: {file}:21: is not in the form"),
        (b"a b\n", [], "error: {file}: nine of ten lines"),
        (b"a\tb\n", ["--columns", "1"], "error: --columns: must be two numbers from 1"),
        (b"a\tb\n", ["--columns", "0,1"], "error: --columns: must be two numbers from 1"),
        (b"a\tb\n", ["--columns", "2,2"], "error: --columns: must be two different columns"),
        (b"a\tb\n", ["--form", "x"], "error: --form: invalid choice"),
        (None, [], "error: {file}: no such file"),
    ],
)
def test_a_mistake_leaves_nothing_behind(tmp_path, content, arguments, says):
    file, out = tmp_path / "file", tmp_path / "out.tsv"
    if content is not None:
        file.write_bytes(content)
    out.write_text("kept\n")
    done = call_verb("convert", file, "--out", out, *arguments)
    assert done.status == 2 and done.out == "" and done.err.count("\n") == 1
    assert done.err.startswith(says.format(file=file))
    assert out.read_text() == "kept\n"
    assert {p.name for p in tmp_path.iterdir()} <= {"file", "out.tsv"}


def test_the_file_itself_is_not_written_over(tmp_path):
    file = tmp_path / "words.tsv"
    file.write_text("a\tb\tnote\n")
    done = call_verb("convert", file, "--out", file)
    assert done.status == 2 and "is the file that is read" in done.err
    assert file.read_text() == "a\tb\tnote\n"


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("a\tb\n")
    done = call_verb("convert", tmp_path / "file", "--out", tmp_path / "file" / "out.tsv")
    assert done.status == 2 and done.err.startswith("error: --out: ")


def test_two_files_of_parallel_lines_become_pairs(tmp_path):
    german, english = tmp_path / "a.de", tmp_path / "b.en"
    german.write_bytes("\ufeffEin Hund.\r\nÄpfel\tund Birnen \r\n\r\nEin Hund.\r\n".encode())
    english.write_bytes("A dog.\nApples\u2028and pears\n\nA dog.".encode())
    out = tmp_path / "pairs.tsv"
    done = call_verb("convert", german, english, "--out", out)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"{out}: 3 pairs from two files of parallel lines; lines whose tabs became spaces: 1; "
        "blank lines left out: 1\n"
    )
    assert [pair[:2] for pair in read_pairs(out)] == [
        ("Ein Hund.", "A dog."),
        ("Äpfel und Birnen", "Apples\u2028and pears"),
        ("Ein Hund.", "A dog."),
    ]


@pytest.mark.parametrize(
    ("first", "second", "arguments", "says"),
    [
        (b"a\nb\n", b"a\n", [], "error: {second}: has 1 lines and {first} has 2"),
        (b"a\n\n", b"a\nb\n", [], "error: {first}:2: is blank"),
        (b"a\n", b"\0b\n", [], "error: {second}:1: holds a NUL"),
        (b"\n", b" \n", [], "error: {first}: holds no pair"),
        (b"a\n", b"\xff\n", [], "error: {second}:1: is not utf-8"),
        (b"a\n", b"b\n", ["--columns", "2,1"], "error: --columns: is of one FILE"),
        (b"a\n", b"b\n", ["--stress", "drop"], "error: --stress: is of one FILE"),
        (b"a\n", b"b\n", ["--out", "{second}"], "error: --out: {second} is the file that is read"),
    ],
)
def test_mistakes_in_parallel_files(tmp_path, first, second, arguments, says):
    names = {"first": tmp_path / "a.de", "second": tmp_path / "b.en"}
    names["first"].write_bytes(first)
    names["second"].write_bytes(second)
    flags = [argument.format(**names) for argument in arguments]
    done = call_verb("convert", *names.values(), "--out", tmp_path / "out.tsv", *flags)
    assert done.status == 2 and done.err.count("\n") == 1
    assert done.err.startswith(says.format(**names))
    assert not (tmp_path / "out.tsv").exists() and names["second"].read_bytes() == second


def test_bad_parallel_lines_are_skipped_where_that_is_asked_for(tmp_path):
    (tmp_path / "a").write_text("One\nTwo\n\n", encoding="utf-8")
    (tmp_path / "b").write_text("1\n\n3\n", encoding="utf-8")
    done = call_verb(
        *("convert", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "o.tsv"),
        *("--skip-bad-lines", "--source-case", "lower"),
    )
    assert "1 pairs" in done.out and "bad lines left out: 2" in done.out
    assert (tmp_path / "o.tsv").read_text(encoding="utf-8") == "one\t1\n"
