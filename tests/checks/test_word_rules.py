"""Sentences of rare words: the share is said, and subwords are suggested."""

import pytest

from keras_attention.checks.check import check_data, quick_findings
from keras_attention.checks.findings import Part
from keras_attention.checks.word_rules import rare_words
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from tests.support.tasks import write_splits

# Sources of six words, one of the six in each line occurs nowhere else: 1 in 6 of the words.
TRAIN = [Pair(f"the cat sat on mat nr{i}", "a b") for i in range(20)]
# Two of seven words are unknown: "dog", and "other".
VALID = [Pair("the dog sat on the other mat", "a b")] * 3


def test_shares_by_hand():
    parts = [Part("train.tsv", TRAIN), Part("valid.tsv", VALID)]
    (finding,) = rare_words(parts, "word", "word")
    assert (finding.kind, finding.severity) == ("rare_source_words", "warning")
    assert finding.place == "train.tsv"
    assert "16.7% of the 120 running words occur once" in finding.message
    assert "28.6% of those of validation and test are unknown" in finding.message
    assert "--source-tokens subword" in finding.message
    (alone,) = rare_words(parts[:1], "char", "char")
    assert alone.severity == "info" and "unknown" not in alone.message


@pytest.mark.parametrize(
    ("pairs", "kind"),
    [
        (TRAIN, "subword"),  # nothing to suggest
        ([Pair("the cat sat on the mat", "a b")] * 20, "word"),  # no word is rare
        ([Pair(f"the cat sat nr{i}", "a b") for i in range(20)], "word"),  # no sentences
        ([], "word"),
    ],
)
def test_where_nothing_is_said(pairs, kind):
    assert not list(rare_words([Part("train.tsv", pairs)], kind, kind))


def test_check_and_training_say_so(tmp_path):
    data = write_splits(tmp_path / "data", Splits(TRAIN, VALID, VALID))
    for kind, expected in (("word", 1), ("subword", 0)):
        report = check_data(data, kind, kind)
        assert sum(f.kind == "rare_source_words" for f in report.findings) == expected
    found = quick_findings(Splits(TRAIN, VALID, VALID), "word", "word", data=data)
    assert [f.kind for f in found].count("rare_source_words") == 1
