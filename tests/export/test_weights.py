"""Weights in an open file: read without TensorFlow, and enough for a reader in another language."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest
from safetensors import safe_open

from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES, compare
from keras_attention.folders.export_layout import MANIFEST, read_manifest, write_manifest
from keras_attention.readers.engine_reader import EngineReader
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import Translator
from keras_attention.text.repair import repair
from tests.support import ROOT
from tests.support.commands import call_verb
from tests.support.exports import BEAM_WIDTH, random_export, random_texts, run_python


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture
def copy(exported, tmp_path):
    return pathlib.Path(shutil.copytree(exported[1], tmp_path / "export"))


def files_of(export):
    name = read_manifest(export)["name"]
    return export / "weights" / f"{name}.safetensors", export / "weights" / f"{name}.json"


@pytest.mark.parametrize("beam_width", [1, BEAM_WIDTH])
def test_an_export_is_answered_as_by_its_savedmodel(exported, beam_width):
    run, export = exported
    texts = [*random_texts(run.source, 60, seed=4), *map(repair, HOSTILE_SOURCES)]
    ours = Translator.load(export)
    assert isinstance(ours._reader, EngineReader)
    theirs = Translator.load(export, engine="tensorflow")
    assert isinstance(theirs._reader, SavedModelReader)
    parity = compare(theirs.translate(texts, beam_width), ours.translate(texts, beam_width))
    assert parity.same_text == len(texts)
    assert parity.score_difference < 1e-5 and parity.attention_difference < 1e-5


def test_the_description_has_all_that_a_reader_needs(exported):
    run, export = exported
    tensors, description = files_of(export)
    content = json.loads(description.read_text(encoding="utf-8"))
    with safe_open(tensors, framework="numpy") as file:
        assert json.loads(file.metadata()["description"]) == content
        names = set(file.keys())
        np.testing.assert_array_equal(
            file.get_tensor("0/affine/kernel"), run.model.get_layer("affine").get_weights()[0]
        )
    assert content["models"][0]["units"] == run.config.units
    assert content["models"][0]["longest_output"] == run.config.longest_output
    assert content["gates"] == ["input", "forget", "candidate", "output"]
    assert content["source"]["tokens"] == list(run.source.tokens)
    assert content["beam_width"] == BEAM_WIDTH and content["length_penalty"] == 0
    assert "0/encoder_1/backward/recurrent_kernel" in names and "0/decoder_1/bias" in names


IN_PLAIN_NUMPY = r"""
import json, sys
import numpy as np
from safetensors import safe_open

with safe_open(sys.argv[1], framework="numpy") as file:
    w = {name[2:]: file.get_tensor(name).astype(float) for name in file.keys()}
    about = json.loads(file.metadata()["description"])
sigmoid = lambda x: 1 / (1 + np.exp(-x))

def lstm(name, x, h, c):
    gates = x @ w[name + "/kernel"] + h @ w[name + "/recurrent_kernel"] + w[name + "/bias"]
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c

def read(name, vectors):
    h = c = np.zeros(len(w[name + "/recurrent_kernel"]))
    states = []
    for x in vectors:
        h, c = lstm(name, x, h, c)
        states.append(h)
    return states, h, c

def answer(text):
    known = {token: i + 4 for i, token in enumerate(about["source"]["tokens"])}
    vectors = [w["source_embedding"][known.get(token, 3)] for token in text]
    forward, h, c = read("encoder_1/forward", vectors)
    backward, h2, c2 = read("encoder_1/backward", vectors[::-1])
    values = np.concatenate([forward, backward[::-1]], axis=1)
    h, c = np.concatenate([h, h2]), np.concatenate([c, c2])
    said, score, token = [], 0.0, 1
    for _ in range(about["models"][0]["longest_output"]):
        h, c = lstm("decoder_1", w["target_embedding"][token], h, c)
        scores = np.exp(values @ h - (values @ h).max())
        context = scores / scores.sum() @ values
        logits = np.concatenate([context, h]) @ w["affine/kernel"] + w["affine/bias"]
        logits[[0, 1, 3]] = -1e9
        token = int(logits.argmax())
        score += logits[token] - logits.max() - np.log(np.exp(logits - logits.max()).sum())
        if token == 2:
            break
        said.append(about["target"]["tokens"][token - 4])
    return "".join(said), score

print(json.dumps([answer(text) for text in json.loads(sys.argv[2])]))
"""


def test_a_reader_of_forty_lines_gives_the_same(exported):
    """What docs/shipping.md tells others to write, for the default kind of model."""
    run, export = exported
    texts = random_texts(run.source, 30, seed=5)
    blocked = ("tensorflow", "keras", "keras_attention")
    out = run_python(IN_PLAIN_NUMPY, files_of(export)[0], json.dumps(texts), blocked=blocked)
    expected = Translator.load(export).translate(texts)
    for (text, score), ours in zip(json.loads(out), expected, strict=True):
        assert text == ours.text
        assert score == pytest.approx(ours.log_probability, abs=1e-4)


def test_an_export_without_weights_is_read_by_its_savedmodel(copy):
    shutil.rmtree(copy / "weights")
    assert isinstance(Translator.load(copy)._reader, SavedModelReader)
    with pytest.raises(UserError, match="no weights in an open format"):
        Translator.load(copy, engine="numpy")


def test_weights_of_another_version_are_not_read(copy):
    """As an export leaves them that is killed before its manifest is written."""
    other = random_export(seed=3)[1]
    shutil.copy(files_of(other)[0], files_of(copy)[0])
    reader = Translator.load(copy)._reader
    assert isinstance(reader, SavedModelReader)


def test_damage_is_told_in_one_line(copy):
    tensors, _ = files_of(copy)
    whole = tensors.read_bytes()
    manifest = read_manifest(copy)
    for damaged in (b"", whole[:500], whole[:-4], b"\xff" * 8 + whole[8:]):
        tensors.write_bytes(damaged)
        with pytest.raises(UserError, match="safetensors: cannot be read: .*export the run again"):
            EngineReader.load_export(copy)
    tensors.unlink()
    with pytest.raises(UserError, match="safetensors: cannot be read"):
        EngineReader.load_export(copy)
    write_manifest(copy, manifest)
    (copy / MANIFEST).unlink()
    with pytest.raises(UserError, match="holds no finished export"):
        EngineReader.load_export(copy)


def test_an_export_is_read_without_tensorflow_keras_and_h5py(exported):
    _, export = exported
    code = (
        "import sys; from keras_attention import Translator\n"
        "print(Translator.load(sys.argv[1]).translate(['abc'], 2)[0].text)"
    )
    blocked = ("tensorflow", "keras", "h5py", "scipy", "matplotlib")
    out = run_python(code, export, blocked=blocked, path=str(ROOT))
    assert out == Translator.load(export).translate(["abc"], 2)[0].text + os.linesep


def test_the_command_chooses_the_engine(exported):
    _, export = exported
    answers = [
        call_verb("translate", export, "abc", "--engine", engine)
        for engine in ("numpy", "tensorflow")
    ]
    assert [answer.status for answer in answers] == [0, 0]
    assert answers[0].out == answers[1].out
    wrong = call_verb("translate", export, "abc", "--engine", "torch")
    assert wrong.status == 2 and wrong.err.startswith("error: --engine: invalid choice: 'torch'")
