"""What version 0.1 wrote keeps loading and gives the same answers.

`tests/data/version_0_1` holds a run, its export and what version 0.1 itself answered with them.
"""

import json
import shutil

import numpy as np
import pytest

from keras_attention.readers.translator import Translator
from tests.support import ROOT
from tests.support.commands import call_train

FOLDER = ROOT / "tests" / "data" / "version_0_1"
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
MODELS = {
    "run": ("run", 1),
    "run_beam": ("run", 3),
    "export": ("export", 1),
    "tflite": ("export/litert/reversal.tflite", 1),
    "int8": ("export/litert/reversal.int8.tflite", 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_version_0_1(name):
    path, beam_width = MODELS[name]
    given = Translator.load(FOLDER / path).translate(ANSWERS["sources"], beam_width)
    assert len(given) == len(ANSWERS[name]) == len(ANSWERS["sources"])
    for translation, expected in zip(given, ANSWERS[name], strict=True):
        assert translation.text == expected["text"]
        assert list(translation.source_tokens) == expected["source_tokens"]
        assert list(translation.target_tokens) == expected["target_tokens"]
        assert translation.log_probability == pytest.approx(expected["log_probability"], abs=1e-4)
        assert translation.confidence == pytest.approx(expected["confidence"], abs=1e-4)
        weights = np.reshape(expected["attention_weights"], translation.attention_weights.shape)
        np.testing.assert_allclose(translation.attention_weights, weights, atol=1e-4)


def test_a_finished_run_counts_as_finished(tmp_path):
    run = shutil.copytree(FOLDER / "run", tmp_path / "run")
    sizes = ("--units", "16", "--embedding-size", "8", "--epochs", "8", "--batch-size", "32")
    rates = ("--learning-rate", "0.03", "--dropout", "0.05", "--decoder-input-dropout", "0.1")
    given = call_train("--data", FOLDER / "data", "--out", run, "--resume", *sizes, *rates)
    assert given.status == 0, given.err
    assert given.out.splitlines()[-1] == "exact match on test: 0.6800 (n=100)"
    assert f"{run} is finished already" in given.out
