"""The penalty is chosen where answers are sentences, kept in the run, and used."""

import json
import types

import pytest

from keras_attention.folders.run_folder import length_penalty_of
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.readers.translator import Translator
from keras_attention.training.length_penalty import BEAM_WIDTH, PENALTIES, choose_length_penalty
from tests.support.commands import call_verb
from tests.support.exports import call_export, random_run
from tests.training.test_trainer import train_tiny

TARGET = "a b c d e f g h"


class Longer:
    """Answers with more words the larger the penalty; 1.0 gives the right number."""

    def __init__(self):
        self.asked = []

    def translate(self, texts, beam_width, length_penalty, progress=None):
        self.asked.append((len(texts), beam_width, length_penalty))
        words = [*TARGET.split(), "i", "j"][: 4 + round(4 * length_penalty)]
        return [types.SimpleNamespace(text=" ".join(words)) for _ in texts]


def test_the_penalty_with_the_best_bleu_is_chosen():
    translator, valid = Longer(), types.SimpleNamespace(exact_match=0.01)
    pairs = [Pair("x", TARGET)] * 600
    assert choose_length_penalty(translator, pairs, valid) == 1.0
    assert translator.asked == [(500, BEAM_WIDTH, penalty) for penalty in PENALTIES]


@pytest.mark.parametrize(("target", "exact_match"), [(TARGET, 0.5), ("1994-09-27", 0.0)])
def test_where_answers_are_no_sentences_nothing_is_searched(target, exact_match):
    translator, valid = Longer(), types.SimpleNamespace(exact_match=exact_match)
    assert choose_length_penalty(translator, [Pair("x", target)] * 5, valid) is None
    assert not translator.asked


@pytest.fixture(scope="module")
def run():
    """A run whose training has chosen a penalty that changes answers."""
    loaded = random_run(seed=5)
    out = loaded.config.out
    with open(f"{out}/metrics.json", "w", encoding="utf-8") as file:
        json.dump({"length_penalty": 1.5}, file)
    return loaded


def test_a_run_without_one_has_zero(tmp_path):
    assert length_penalty_of(tmp_path) == 0.0
    (tmp_path / "metrics.json").write_text("{}", encoding="utf-8")
    assert length_penalty_of(tmp_path) == 0.0


@pytest.mark.slow
def test_the_run_uses_its_own_penalty_unless_told_otherwise(run):
    texts = [word * n for word in ("ab", "cd", "가0", "e ") for n in range(1, 8)]
    for engine in ("numpy", "tensorflow"):
        translator = Translator.load(run.config.out, engine=engine)
        own, named, none = (
            [each.text for each in translator.translate(texts, 3, penalty)]
            for penalty in (None, 1.5, 0.0)
        )
        assert own == named != none
    for penalty, expected in ((None, own), (0, none)):
        flags = () if penalty is None else ("--length-penalty", penalty)
        done = call_verb("translate", run.config.out, *texts, "--beam-width", 3, *flags)
        assert done.out.splitlines() == expected


@pytest.mark.slow
def test_the_export_has_the_penalty_of_the_run(run, tmp_path):
    done = call_export(run.config.out, "--out", tmp_path / "export")
    assert done.status == 0, done.err
    manifest = json.loads((tmp_path / "export" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["length_penalty"] == 1.5


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--length-penalty", "nan", "--beam-width", "2"), "must be finite"),
        (("--length-penalty", "1"), "needs --beam-width of at least 2"),
    ],
)
def test_a_penalty_that_cannot_be_used_is_refused(verb, flags, message):
    done = call_verb(verb, "run", "text", *flags)
    assert done.status == 2 and done.err.startswith(f"error: --length-penalty: {message}")


def test_training_chooses_one_for_sentences_and_none_for_words(tmp_path):
    sentences = [Pair(f"{a} {b} x y", f"{b} {a} u v w") for a in "pqrs" for b in "mn"]
    splits = Splits(sentences, sentences, sentences)
    words = {"source_tokens": "word", "target_tokens": "word"}
    assert train_tiny(tmp_path / "a", splits, **words).metrics["length_penalty"] in PENALTIES
    assert "length_penalty" not in train_tiny(tmp_path / "b").metrics
