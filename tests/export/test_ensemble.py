"""Several runs exported as one: every artefact decodes by the mean of their probabilities."""

import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES, compare
from keras_attention.export.exporter import ExportOptions, export
from keras_attention.folders.export_layout import read_manifest
from keras_attention.readers.engine_reader import EngineReader
from keras_attention.readers.run import RunEnsemble, load_ensemble
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import Translator
from keras_attention.text.repair import repair
from tests.support.commands import call_verb
from tests.support.exports import (
    BEAM_WIDTH,
    call_export,
    made_once,
    random_run,
    random_texts,
    run_python,
)


@pytest.fixture(scope="module")
def runs():
    """Two that differ in kind: an ensemble is worth most then."""
    return random_run(0), random_run(1, encoder="gru")


@pytest.fixture(scope="module")
def paths(runs):
    return [run.config.out for run in runs]


@pytest.fixture(scope="module")
def exported(paths) -> pathlib.Path:
    def make(out: pathlib.Path):
        finished = call_export(",".join(paths), "--out", out, "--beam-width", BEAM_WIDTH)
        assert finished.status == 0, finished.err

    return made_once("two-together", make)


@pytest.fixture(scope="module")
def texts(runs):
    return [*random_texts(runs[0].source, 40, seed=5), *map(repair, HOSTILE_SOURCES[:9])]


def test_the_export_is_called_as_its_folder_and_counts_its_members(exported):
    manifest = read_manifest(exported)
    assert (manifest["name"], manifest["members"]) == ("two-together", 2)
    checks = manifest["checks"]
    assert len(checks) == 7
    for artefact, figures in checks.items():
        if "int8" not in artefact:
            assert figures["same_text"] == figures["n"] > 40, artefact


@pytest.mark.parametrize("engine", ["numpy", "tensorflow"])
@pytest.mark.parametrize("beam_width", [1, BEAM_WIDTH])
def test_it_answers_as_the_runs_do_together(exported, paths, texts, engine, beam_width):
    shipped = Translator.load(exported, engine)
    assert isinstance(shipped._reader, {"numpy": EngineReader}.get(engine, SavedModelReader))
    together = Translator.load(paths)
    parity = compare(together.translate(texts, beam_width), shipped.translate(texts, beam_width))
    assert parity.holds, parity.first_difference
    # It is neither of its members.
    for path in paths:
        assert not compare(Translator.load(path).translate(texts), shipped.translate(texts)).holds


def test_so_does_the_litert_file(exported, paths, texts):
    phone = Translator.load(exported / "litert" / "two-together.tflite")
    texts = [text for text in texts if len(text) <= 64]
    parity = compare(Translator.load(paths).translate(texts), phone.translate(texts))
    assert parity.holds, parity.first_difference


def test_the_keras_model_is_loaded_after_a_bare_import(exported, paths):
    """In a process that knows nothing but the package's name."""
    code = """
import json, sys
import keras
import keras_attention
model = keras.saving.load_model(sys.argv[1])
said = model.predict(__import__("numpy").array([json.loads(sys.argv[2])]), verbose=0)
print(json.dumps({name: value.tolist() for name, value in said.items()}))
"""
    ensemble = load_ensemble(paths)
    ids = ensemble.source.encode(["abc가"]).padded(np.array([0]))
    root = str(pathlib.Path(__file__).parents[2])
    said = run_python(
        code, exported / "inference.keras", json.dumps(ids[0].tolist()), blocked=(), path=root
    )
    expected = ensemble.inference_model()(tf.constant(ids))
    for name, value in json.loads(said.splitlines()[-1]).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-5)


def test_saved_weights_are_those_of_all_members(exported, paths):
    """Every member once, and no member twice."""
    loaded = keras.saving.load_model(exported / "inference.keras", compile=False)
    wanted = load_ensemble(paths).inference_model()
    ours, theirs = loaded.get_weights(), wanted.get_weights()
    assert len(ours) == len(theirs) > 20
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_reader_in_another_language_learns_the_gates_of_each_cell(exported):
    content = json.loads((exported / "weights" / "two-together.json").read_text("utf-8"))
    assert [model["encoder"] for model in content["models"]] == ["lstm", "gru"]
    assert content["gates"] == {
        "gru": ["update", "reset", "candidate"],
        "lstm": ["input", "forget", "candidate", "output"],
    }


def test_verbs_read_it(exported, paths, tmp_path):
    together = call_verb("translate", ",".join(paths), "abc", "--scores")
    shipped = call_verb("translate", exported, "abc", "--scores")
    assert (shipped.status, shipped.out.split("\t")[0]) == (0, together.out.split("\t")[0])
    plotted = call_verb("plot", exported, "abc", "--out", tmp_path / "map.svg")
    assert plotted.status == 0 and (tmp_path / "map.svg").stat().st_size > 1000, plotted.err


def test_one_that_says_something_else_is_not_exported(runs, tmp_path, monkeypatch):
    """A run beside itself stands for two: the same but for its second member's weights."""
    members = RunEnsemble((runs[0], random_run(2)))
    whole = RunEnsemble.inference_model

    def without_the_last(self, *adapt):
        model = whole(self, *adapt)
        if adapt:  # as LiteRT's is made
            model.members = model.members[:1]
        return model

    monkeypatch.setattr(RunEnsemble, "inference_model", without_the_last)
    with pytest.raises(UserError, match=r"litert/pair.tflite: does not agree"):
        export(members, random_texts(members.source, 5), tmp_path / "pair", ExportOptions("pair"))
    assert not (tmp_path / "pair").exists()


def test_runs_that_do_not_fit_together_are_refused_before_anything_is_written(paths, tmp_path):
    words = random_run(0, tokens=("char", "word")).config.out
    finished = call_export(f"{paths[0]},{words}", "--out", tmp_path / "pair")
    assert finished.status == 2
    assert finished.err.count("\n") == 1 and "other vocabularies" in finished.err
    assert not (tmp_path / "pair").exists()
