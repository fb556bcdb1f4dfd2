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
