"""Training on subwords: from raw pairs to raw answers, through the commands."""

import json
import random

import pytest

from keras_attention.batching.training_data import prepare
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.readers.translator import Translator
from keras_attention.text.vocabulary import load_vocabularies
from tests.support.commands import call_train, call_verb
from tests.support.tasks import EAGER_LEARNER, write_splits

NOUNS = {"Hund": "dog", "Katze": "cat", "Vogel": "bird", "Fisch": "fish"}
VERBS = {"läuft": "walks", "schläft": "sleeps", "singt": "sings"}
SUBWORDS = ("--source-tokens", "subword", "--target-tokens", "subword", "--subwords", "60")


def sentences(n: int, seed: int = 0) -> list[Pair]:
    """German and English, cased and with punctuation, the verb first in a question."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        (noun, dog), (verb, walks) = (rng.choice([*d.items()]) for d in (NOUNS, VERBS))
        if rng.random() < 0.5:
            pairs.append(
                Pair(
                    f"{verb.capitalize()} der {noun}?",
                    f"The {dog} {walks}?",
                    (Link(1, 0, True), Link(2, 1, True), Link(0, 2, True)),
                )
            )
        else:
            links = tuple(Link(i, i, True) for i in range(3))
            pairs.append(Pair(f"Der {noun} {verb}.", f"The {dog} {walks}.", links))
    return pairs


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    parts = (sentences(400), sentences(60, 1), sentences(60, 2))
    return write_splits(tmp_path_factory.mktemp("sentences") / "data", Splits(*parts))


@pytest.fixture(scope="module")
def run(tmp_path_factory, data):
    out = tmp_path_factory.mktemp("runs") / "run"
    flags = ("--units", 32, "--embedding-size", 16, "--epochs", 10, "--batch-size", 32)
    done = call_train("--data", data, "--out", out, *SUBWORDS, *flags, *EAGER_LEARNER)
    assert done.status == 0, done.err
    return out


@pytest.mark.slow
def test_raw_text_in_raw_text_out(run):
    (answer, question, other) = Translator.load(run).translate(
        ["Der Hund schläft.", "Singt der Vogel?", "Ĝis\u00a0🙂"]
    )
    assert answer.text == "The dog sleeps." and question.text == "The bird sings?"
    assert "".join(answer.source_tokens) == " Der Hund schläft."
    assert len(answer.source_tokens) < len("Der Hund schläft.")
    assert other.source_tokens[-1] == "🙂" and other.text


@pytest.mark.slow
def test_the_vocabulary_is_in_the_run(run):
    source, target = load_vocabularies(run / "vocabulary.json")
    assert source.kind == target.kind == "subword"
    assert len(source.tokens) <= 60 and max(map(len, source.tokens)) > 1
    assert source.tokens != target.tokens


@pytest.mark.slow
def test_evaluate_counts_words_and_view_shows_links_between_pieces(run, data, tmp_path):
    done = call_verb("evaluate", run, data / "test.tsv", "--json")
    assert done.status == 0, done.err
    figures = json.loads(done.out)
    assert figures["exact_match"] > 0.9 and figures["token_error_rate"] < 0.1
    page = tmp_path / "page.html"
    done = call_verb("view", run, data / "test.tsv", "--out", page)
    assert done.status == 0, done.err
    assert " Der" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_finished_run_resumes_and_more_epochs_keep_its_pieces(run, data, tmp_path, monkeypatch):
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    before = (copy / "vocabulary.json").read_bytes()
    flags = ("--units", 32, "--embedding-size", 16, "--batch-size", 32, *EAGER_LEARNER)
    start = ("--data", data, "--out", copy, *SUBWORDS, *flags, "--resume", "--epochs")
    assert "is finished already" in call_train(*start, 10).out

    def learning(*given, **options):
        raise AssertionError("subwords are learned again")

    monkeypatch.setattr("keras_attention.batching.training_data.learn_subwords", learning)
    done = call_train(*start, 11)
    assert done.status == 0, done.err
    assert (copy / "vocabulary.json").read_bytes() == before


def test_joint_subwords_are_the_same_on_both_sides():
    pairs = sentences(50)
    options = {"source_tokens": "subword", "target_tokens": "subword", "subwords": 80}
    found = prepare(Splits(pairs, pairs, pairs), Config(**options, joint=True)).survey
    assert found.source == found.target
    assert {"ä", "?", "T"} <= set(found.source.tokens)
    apart = prepare(Splits(pairs, pairs, pairs), Config(**options)).survey
    assert "ä" not in apart.target.tokens


def test_joint_subwords_of_sources_in_a_normal_form():
    pairs = [Pair("ä" * 3, "ä" * 3)]
    config = Config(
        source_tokens="subword",
        target_tokens="subword",
        subwords=8,
        joint=True,
        source_form="NFD",
    )
    data = prepare(Splits(pairs, pairs, pairs), config)
    assert {"a", "\u0308", "ä"} <= set(data.survey.source.tokens)
    assert data.survey.source.normal_form == "NFD" and data.survey.target.normal_form == "none"
    assert 3 not in data.valid.source.flat and 3 not in data.valid.target.flat  # none unknown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joint": True}, "--joint: needs --source-tokens subword and --target-tokens subword"),
        ({"joint": True, "source_tokens": "subword"}, "--joint: needs"),
        ({"subwords": 0}, "--subwords: must be at least 1"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(UserError, match=f"^{message}"):
        Config(**options)


def test_fewer_subwords_than_characters_are_refused(data, tmp_path):
    flags = ("--source-tokens", "subword", "--subwords", "5")
    done = call_train("--data", data, "--out", tmp_path / "run", *flags)
    assert done.status == 2
    assert done.err.splitlines()[-1].startswith("error: --subwords: must be at least ")
    assert not (tmp_path / "run" / "config.json").exists()
