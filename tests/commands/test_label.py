"""`label`: what a model is sure of becomes pairs to train on, and nothing that judges it."""

import pathlib
import shutil

import pytest

from keras_attention.evaluation.labelling import Labelled, label
from keras_attention.pairs.lines import LineError
from keras_attention.pairs.pair import Pair, format_line, parse_line
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import open_splits
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import Vocabulary
from tests.support.commands import call_verb
from tests.support.exports import random_run


class Teacher:
    """Answers in capitals, as sure as the text is short, and not at all to a question mark."""

    source_vocabulary = Vocabulary("char", tuple("?ABTabcdest"))

    def __init__(self):
        self.asked: list[str] = []
        self.widths: list[int] = []

    def translate(self, texts, beam_width):
        self.asked += texts
        self.widths.append(beam_width)
        return [
            Translation("" if t == "?" else t.upper(), -1.0, 1 / len(t), tuple(t), tuple(t), None)
            for t in texts
        ]


def test_every_source_is_counted_once():
    teacher = Teacher()
    sources = ["ab", "a", "AB ", "test", "?", "abcd", "Test", "ab", "aж"]
    made = label(teacher, sources, 0.5, withheld=["TEST"], beam_width=4)
    assert made.pairs == [Pair("ab", "AB", confidence=0.5), Pair("a", "A", confidence=1.0)]
    assert made == Labelled(made.pairs, 9, repeated=2, withheld=2, unknown=1, unsure=1, empty=1)
    assert len(made.pairs) + 2 + 2 + 1 + 1 + 1 == made.sources
    # What is left out is not even translated.
    assert teacher.asked == ["ab", "a", "?", "abcd"] and teacher.widths == [4]
    assert made.to_text() == (
        "2 pairs of 9 sources; left out: 2 repeated, "
        "2 kept for validation, test or by --without, 1 with unknown tokens, "
        "1 too unsure, 1 without an answer"
    )


def test_a_file_without_its_tokens_cannot_tell_unknown_ones(monkeypatch):
    monkeypatch.setattr(Teacher, "source_vocabulary", None)
    assert label(Teacher(), ["aж"], 0).pairs == [Pair("aж", "AЖ", confidence=0.5)]


def test_nothing_left_out_is_not_spoken_of():
    assert label(Teacher(), ["a"], 0).to_text() == "1 pair of 1 source"


def test_the_column_is_written_and_read():
    pair = Pair("a b", "c", confidence=0.97314)
    line = format_line(pair)
    assert line == b"a b\tc\tconfidence=0.9731\n"
    assert parse_line(line.rstrip(), "F:1") == pair._replace(confidence=0.9731)
    for whole in (b"confidence=1", b"confidence=0"):
        assert parse_line(b"a\tb\t" + whole, "F:1").confidence in (0.0, 1.0)


@pytest.mark.parametrize("column", ["confidence=", "confidence=2", "confidence=.5", "confidence"])
def test_what_only_looks_like_it_is_refused(column):
    with pytest.raises(LineError, match="F:3: malformed link"):
        parse_line(f"a\tb\t{column}".encode(), "F:3")


@pytest.fixture(scope="module")
def run():
    return random_run(0)


def words_in(folder: pathlib.Path, part: str) -> set[str]:
    return {pair.source for pair in read_pairs(folder / f"{part}.tsv")}


def test_words_that_judge_the_run_are_left_out(run, tmp_path):
    judges = sorted(words_in(pathlib.Path(run.config.data), "test"))
    (tmp_path / "words.txt").write_text("\n".join([*judges, "abc", "cba", "bca\tignored"]) + "\n")
    out = tmp_path / "new" / "train-labelled.tsv"
    finished = call_verb(
        "label", run.config.out, tmp_path / "words.txt", "--min-confidence", 0, "--out", out
    )
    assert (finished.status, finished.err) == (0, "")
    made = read_pairs(out)
    assert {pair.source for pair in made} <= {"abc", "cba", "bca"}
    assert all(0 <= pair.confidence <= 1 for pair in made)
    assert f"{len(judges)} kept for validation, test or by --without" in finished.out
    answers = call_verb("translate", run.config.out, *(pair.source for pair in made))
    assert [pair.target for pair in made] == answers.out.splitlines()


def test_so_is_what_the_user_names(run, tmp_path):
    (tmp_path / "words.txt").write_text("abc\ncba\nbca\n")
    (tmp_path / "known.tsv").write_text("ABC\tx\n")
    finished = call_verb(
        *("label", run.config.out, tmp_path / "words.txt", "--min-confidence", 0),
        *("--without", tmp_path / "known.tsv", "--without", run.config.data),
    )
    assert finished.status == 0, finished.err
    assert (
        "1 kept for validation, test or by --without" in finished.err
    )  # standard output has the pairs alone
    lines = [parse_line(line.encode(), "out") for line in finished.out.splitlines()]
    assert "abc" not in {pair.source for pair in lines}


def test_only_what_is_sure_enough_is_kept(run, tmp_path):
    (tmp_path / "words.txt").write_text("abc\ncba\nbca\naab\nbbc\n")
    everything, some = (
        call_verb("label", run.config.out, tmp_path / "words.txt", "--min-confidence", least)
        for least in (0, 1)
    )
    confidences = [float(line.rpartition("=")[2]) for line in everything.out.splitlines()]
    assert confidences and max(confidences) < 1
    assert (some.status, some.out) == (0, "")


def test_labelled_pairs_stand_beside_the_given_ones_as_a_shard(tmp_path):
    (tmp_path / "train-given.tsv").write_text("a\tb\n")
    (tmp_path / "train-labelled.tsv").write_text("c\td\tconfidence=0.9000\n")
    for part in ("valid", "test"):
        (tmp_path / f"{part}.tsv").write_text("e\tf\n")
    splits = open_splits(tmp_path, seed=1)
    assert splits.train == [Pair("a", "b"), Pair("c", "d", confidence=0.9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["words.txt", "--min-confidence", "1.5"], "--min-confidence: must be from 0 to 1"),
        (["empty.txt", "--min-confidence", "0.5"], "empty.txt: is empty"),
        (["gone.txt", "--min-confidence", "0.5"], "gone.txt: no such file"),
        (["words.txt", "--min-confidence", "0.5", "--without", "gone"], "gone: no such file"),
        (["words.txt", "--min-confidence", "0.5", "--beam-width", "0"], "--beam-width"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("abc\n")
    (tmp_path / "empty.txt").write_text("\n \n")
    finished = call_verb("label", run.config.out, *arguments)
    assert (finished.status, finished.out) == (2, "")
    assert message in finished.err and finished.err.count("\n") == 1


def test_a_run_whose_data_are_gone_says_so(run, tmp_path):
    copy = shutil.copytree(run.config.out, tmp_path / "copy")
    config = (copy / "config.json").read_text().replace(run.config.data, str(tmp_path / "gone"))
    (copy / "config.json").write_text(config)
    (tmp_path / "words.txt").write_text("abc\n")
    finished = call_verb("label", copy, tmp_path / "words.txt", "--min-confidence", 0)
    assert finished.status == 0
    assert "words are not left out" in finished.err and "--without" in finished.err
