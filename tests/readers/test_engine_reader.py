"""A run read without TensorFlow gives what its Keras model gives, whatever the text."""

import json
import shutil

import numpy as np
import pytest

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES, compare
from keras_attention.folders.run_folder import CALIBRATION, MODEL, VOCABULARY
from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import build_training_model
from keras_attention.readers.engine_reader import EngineReader, engine_from_model
from keras_attention.readers.run import load_run
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from keras_attention.text.repair import repair
from keras_attention.text.vocabulary import Vocabulary
from tests.support import ROOT
from tests.support.exports import random_run, random_texts, run_python

TOLERANCE = 1e-5
KINDS = {
    "characters": {},
    "words": {"tokens": ("word", "word"), "encoder": "gru", "attention": "general"},
    "characters to words": {"tokens": ("char", "word"), "attention": "peeky", "layers": 2},
    "decomposed": {"source_form": "NFD", "bidirectional": False, "attention": "additive"},
    "composed, reversed": {
        "source_form": "NFC",
        "reverse_source": True,
        "attentional_layer": True,
        "initial_state": "hidden",
        "attention": "scaled_dot",
    },
    "sparse": {"attention_normalizer": "entmax15", "attention": "general"},
    "no attention": {"attention": "none", "encoder": "gru", "layers": 2},
}


def assert_same(
    run, ours: Translator, theirs: Translator, beam_width: int, longest: int = 10_000
) -> None:
    texts = [*random_texts(run.source, 60, seed=3), *map(repair, HOSTILE_SOURCES)]
    texts = [text for text in texts if len(text) <= longest]
    mine, keras = (way.translate(texts, beam_width) for way in (ours, theirs))
    assert compare(keras, mine).holds, compare(keras, mine)
    # Over thousands of positions float32 sums differ by more, whoever adds them up.
    short = [row for row, translation in enumerate(keras) if len(translation.source_tokens) <= 100]
    parity = compare([keras[row] for row in short], [mine[row] for row in short])
    assert parity.score_difference < TOLERANCE and parity.attention_difference < TOLERANCE
    for one, other in zip(mine, keras, strict=True):
        assert one.source_tokens == other.source_tokens
        assert one.target_tokens == other.target_tokens


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_text_is_answered_as_by_keras(kind):
    run = random_run(**KINDS[kind])
    ours = Translator.load(run.config.out)
    theirs = Translator.load(run.config.out, engine="tensorflow")
    # Keras finds the threshold of a sparse row in float32: over 2,000 equal positions it shows.
    longest = 100 if kind == "sparse" else 10_000
    for beam_width in (1, 4):
        assert_same(run, ours, theirs, beam_width, longest)


def test_an_ensemble_is_answered_as_by_keras():
    runs = [random_run(seed) for seed in (0, 5)]
    paths = [run.config.out for run in runs]
    ours, theirs = Translator.load(paths), Translator.load(paths, engine="tensorflow")
    for beam_width in (1, 3):
        assert_same(runs[0], ours, theirs, beam_width)


def test_runs_of_an_ensemble_must_fit_together():
    plain, words = random_run(), random_run(tokens=("word", "word"))
    blind = random_run(attention="none")
    with pytest.raises(UserError, match="has other vocabularies than"):
        EngineReader.load_ensemble([plain.config.out, words.config.out])
    with pytest.raises(UserError, match="has no attention"):
        EngineReader.load_ensemble([plain.config.out, blind.config.out])


def test_a_live_model_is_read_as_its_file():
    run = random_run()
    reader = engine_from_model(run.model, run.config, run.source, run.target)
    texts = random_texts(run.source, 30)
    from_file = EngineReader.load(run.config.out).translate_batch(texts)
    for one, other in zip(reader.translate_batch(texts), from_file, strict=True):
        assert (one.text, one.log_probability) == (other.text, other.log_probability)


def test_subwords_are_answered_as_by_keras():
    config = Config(units=16, embedding_size=8, longest_output=7)
    pieces = ("\u2581", "\u2581ab", "a", "b", "c", "\u2581c", "ba", "\u0436")
    source, target = Vocabulary("subword", pieces), Vocabulary("subword", pieces[:6])
    model = build_training_model(config, len(source), len(target))
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(scale=0.8, size=w.shape) for w in model.get_weights()])
    inference = InferenceModel.from_training_model(model, config, 7)
    texts = ["abab c", "", "cab \u0436\u4e2d", "b  a", "ababab ababab c"]
    ours = engine_from_model(model, config, source, target).translate_batch(texts, 3)
    theirs = RunReader(inference, source, target).translate_batch(texts, 3)
    assert compare(theirs, ours).same_text == len(texts)
    for one, other in zip(ours, theirs, strict=True):
        assert (one.text, one.source_tokens) == (other.text, other.source_tokens)
        assert one.attention_weights.shape == other.attention_weights.shape


def test_a_trained_run_is_right_and_calibrated(trained):
    ours, theirs = Translator.load(trained.path), Translator(RunReader.load(trained.path))
    assert_same(load_run(trained.path), ours, theirs, 1)
    assert ours.translate(["abcde"])[0].text == "edcba"


def test_few_texts_are_divided_among_threads_and_many_fit_in_memory(monkeypatch):
    import keras_attention.readers.engine_reader as module

    run = random_run()
    texts = random_texts(run.source, 90)
    reader = EngineReader.load(run.config.out)
    expected = Translator(reader).translate(texts, 3)
    sizes = []
    decode = module.search.beam

    def noting(model, ids, *rest):
        sizes.append(len(ids))
        return decode(model, ids, *rest)

    monkeypatch.setattr(module.search, "beam", noting)
    monkeypatch.setattr(module, "LARGEST_ARRAY", 3 * 9 * 20 * 4)  # four of the longest rows
    reader.batches_at_once = 2
    again = Translator(reader).translate(texts, 3)
    assert [t.text for t in again] == [t.text for t in expected]
    assert min(sizes) >= 1 and 4 <= max(sizes) <= 30 and sum(sizes) == 90


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(random_run().config.out, tmp_path / "run")


def test_damage_is_told_in_one_line(copied):
    whole = (copied / MODEL).read_bytes()
    for damaged in (b"", whole[:1000], whole[:-2000], b"PK" + whole[2:4000] + b"x" * 9000):
        (copied / MODEL).write_bytes(damaged)
        with pytest.raises(UserError, match=f"{MODEL}: cannot be read: .*copy the run folder"):
            Translator.load(copied)


def test_weights_of_another_run_are_told(copied):
    shutil.copy(f"{random_run(units=24).config.out}/{MODEL}", copied / MODEL)
    with pytest.raises(UserError, match="must have the shape"):
        Translator.load(copied)
    shutil.copy(f"{random_run(encoder='gru').config.out}/{MODEL}", copied / MODEL)
    with pytest.raises(UserError, match="must have the shape"):
        Translator.load(copied)
    shutil.copy(f"{random_run().config.out}/{MODEL}", copied / MODEL)
    shutil.copy(f"{random_run(tokens=('word', 'word')).config.out}/{VOCABULARY}", copied)
    with pytest.raises(UserError, match="must have the shape"):
        Translator.load(copied)


def test_an_unfinished_run_is_told(copied):
    (copied / MODEL).unlink()
    with pytest.raises(UserError, match="not finished"):
        Translator.load(copied)


def test_the_engine_is_one_of_two():
    with pytest.raises(ValueError, match="engine must be one of .* Received: engine='torch'"):
        Translator.load(random_run().config.out, engine="torch")


WITHOUT = """

from keras_attention import __main__
from keras_attention._runtime.command_line import exit_with_user_errors
verb, *rest = sys.argv[1:]
try:
    exit_with_user_errors(__main__.main, [verb, *rest])
except SystemExit as error:
    assert not error.code, error
heavy = {"tensorflow", "keras", "h5py" if "export" in rest[0] else "", "scipy"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


@pytest.mark.parametrize("verb", ["translate", "evaluate", "plot", "view"])
def test_a_command_imports_neither_tensorflow_nor_keras(verb, trained, reversal_folder, tmp_path):
    data = reversal_folder / "test.tsv"
    arguments = {
        "translate": ["abc", "--beam-width", "3"],
        "evaluate": [data, "--json"],
        "plot": ["abc", "--out", tmp_path / "a.png"],
        "view": [data, "--out", tmp_path / "a.html"],
    }[verb]
    out = run_python(
        WITHOUT, verb, trained.path, *arguments, blocked=("tensorflow", "keras"), path=str(ROOT)
    )
    if verb == "translate":
        assert out == "cba\n"
    if verb == "evaluate":
        theirs = json.loads((trained.path / "metrics.json").read_text())["test"]
        ours = json.loads(out)
        assert ours["exact_match"] == theirs["exact_match"]
        assert ours["token_error_rate"] == theirs["token_error_rate"]


def test_confidence_is_that_of_the_calibration(copied):
    fields = {"log_slope": 1.5, "doubt_slope": 0.5, "offset": 0.2, "length_slope": 0.01}
    content = {"format": 1, **fields, "n": 9, "wrong": 2}
    (copied / CALIBRATION).write_text(json.dumps(content))
    ours, theirs = Translator.load(copied), Translator.load(copied, engine="tensorflow")
    one, other = (way.translate(["abc"])[0] for way in (ours, theirs))
    assert one.confidence == pytest.approx(other.confidence, abs=1e-5)
    assert one.confidence != pytest.approx(np.exp(one.log_probability), abs=1e-3)
