"""`inference.keras`: reloaded in a new process, joined by `predict`, driven by one's own loop."""

import json
import pathlib
import re
import shutil

import keras
import numpy as np
import pytest

from keras_attention import InferenceModel
from keras_attention.evaluation.parity import compare
from keras_attention.models.inference import InferenceModel as InferenceModelOfModule
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from tests.support import ROOT
from tests.support.exports import (
    LONGEST_OUTPUT,
    random_export,
    random_run,
    random_texts,
    run_python,
)


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture(scope="module")
def model(exported) -> InferenceModel:
    return keras.saving.load_model(exported[1] / "inference.keras")


def ids_of(run, texts) -> np.ndarray:
    return run.source.encode(texts).padded(np.arange(len(texts)))


def test_the_public_name_is_the_class():
    assert InferenceModel is InferenceModelOfModule


@pytest.mark.parametrize(
    "statement",
    ["from keras_attention import InferenceModel", "import keras_attention.models.inference"],
)
def test_it_loads_in_a_new_process_after_one_import(exported, model, statement):
    run, export = exported
    ids = ids_of(run, random_texts(run.source, 3))
    code = f"""
import json
import keras
import numpy as np
{statement}
model = keras.saving.load_model(sys.argv[1])
answers = model.predict(np.array(json.loads(sys.argv[2]), "int32"), verbose=0)
print(json.dumps({{name: value.tolist() for name, value in answers.items()}}))
"""
    arguments = (export / "inference.keras", json.dumps(ids.tolist()))
    answers = json.loads(run_python(code, *arguments, blocked=(), path=str(ROOT)))
    expected = model.predict(ids, verbose=0)
    assert set(answers) == set(expected) == {"target_ids", "log_probability", "attention_weights"}
    assert answers["target_ids"] == expected["target_ids"].tolist()
    for name in ("log_probability", "attention_weights"):
        np.testing.assert_allclose(answers[name], expected[name], atol=1e-6)


def test_predict_joins_batches(exported, model):
    run, _ = exported
    texts = [*random_texts(run.source, 9), ""]
    ids = ids_of(run, texts)
    joined = model.predict(ids, batch_size=4, verbose=0)
    assert joined["target_ids"].shape == (10, LONGEST_OUTPUT)
    assert joined["attention_weights"].shape == (10, LONGEST_OUTPUT, ids.shape[1])
    assert joined["target_ids"].dtype == np.int32
    assert joined["log_probability"].dtype == joined["attention_weights"].dtype == np.float32
    for row, text in enumerate(texts):
        alone = model(ids_of(run, [text]) if text else np.zeros((1, 1), np.int32))
        np.testing.assert_array_equal(joined["target_ids"][row], alone["target_ids"][0])
        weights = alone["attention_weights"][0, :, : len(text)]
        np.testing.assert_allclose(
            joined["attention_weights"][row, :, : len(text)], weights, atol=1e-5
        )
        assert not joined["attention_weights"][row, :, len(text) :].any()


def test_its_outputs_are_known_beforehand(model):
    specs = model.compute_output_spec(keras.KerasTensor((None, 12), "int32"))
    assert {name: (spec.shape, spec.dtype) for name, spec in specs.items()} == {
        "target_ids": ((None, LONGEST_OUTPUT), "int32"),
        "log_probability": ((None,), "float32"),
        "attention_weights": ((None, LONGEST_OUTPUT, 12), "float32"),
    }


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 31, "attention": "additive", "encoder": "gru", "reverse_source": True},
        {"seed": 32, "attention": "peeky", "layers": 2, "bidirectional": False},
        {"seed": 33, "attention": "none"},
    ],
    ids=lambda options: options["attention"],
)
def test_every_kind_of_model_is_the_same_reloaded(options, tmp_path):
    run = random_run(**options)
    made = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    texts = [*random_texts(run.source, 12), ""]
    before = Translator(RunReader(made, run.source, run.target)).translate(texts)
    made(ids_of(run, texts[:1]))
    made.save(tmp_path / "inference.keras")
    reloaded = keras.saving.load_model(tmp_path / "inference.keras")
    after = Translator(RunReader(reloaded, run.source, run.target)).translate(texts)
    parity = compare(before, after)
    assert parity.holds and parity.score_difference < 1e-6, parity.first_difference
    keys = set(reloaded(ids_of(run, texts[:1])))
    assert ("attention_weights" in keys) == (options["attention"] == "additive")


def test_the_loop_that_the_page_shows_gives_the_same_text(exported, monkeypatch, tmp_path):
    """The block of docs/shipping.md, run as it stands there, on an export of the same names."""
    run, export = exported
    (tmp_path / "exports").mkdir()
    (tmp_path / "runs").mkdir()
    shutil.copytree(export, tmp_path / "exports" / "dates")
    shutil.copytree(run.config.out, tmp_path / "runs" / "dates")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "shipping.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (block,) = (block for block in blocks if "model.encoder(" in block)
    names: dict = {}
    exec(compile(block, "docs/shipping.md", "exec"), names)
    texts = re.search(r"encode\((\[.*?\])\)", block).group(1)
    expected = Translator.load(pathlib.Path(run.config.out)).translate(eval(texts))
    assert names["by_hand"] == [translation.text for translation in expected]
    rows = names["answers"]["target_ids"]
    lengths = [len(translation.target_tokens) for translation in expected]
    assert [np.count_nonzero(row) for row in rows] == lengths
