"""Models with sparse attention through the application: run, SavedModel and LiteRT agree."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from keras_attention.readers.run import load_run
from keras_attention.readers.translator import Translator
from tests.support.exports import random_export, random_run, random_texts

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("normalizer", ["sparsemax", "entmax15"])
def test_run_saved_model_and_litert_agree(normalizer):
    run, export = random_export(attention_normalizer=normalizer)
    assert run.model.get_layer("attention").normalizer == normalizer
    litert = next(p for p in (export / "litert").glob("*.tflite") if ".int8" not in p.name)
    texts = random_texts(run.source, 30)
    by_run, *others = (
        Translator.load(path).translate(texts, **options)
        for path, options in ((run.config.out, {"beam_width": 1}), (export, {}), (litert, {}))
    )
    softmax = Translator.load(random_run().config.out).translate(texts, beam_width=1)
    assert all((answer.attention_weights > 0).all() for answer in softmax)
    assert sum((answer.attention_weights == 0).sum() for answer in by_run) > 100
    for answer, by_litert in zip(by_run, others[1], strict=True):
        assert by_litert.text == answer.text
        np.testing.assert_allclose(by_litert.attention_weights, answer.attention_weights, atol=1e-5)
        np.testing.assert_allclose(answer.attention_weights.sum(-1), 1.0, atol=1e-5)
    for by_saved_model in others[0]:  # decodes with a beam
        np.testing.assert_allclose(by_saved_model.attention_weights.sum(-1), 1.0, atol=1e-5)


def test_a_run_from_before_the_option_loads(tmp_path):
    folder = shutil.copytree(random_run().config.out, tmp_path / "run")
    config = json.loads(pathlib.Path(folder, "config.json").read_text(encoding="utf-8"))
    del config["attention_normalizer"]
    pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert load_run(folder).config.attention_normalizer == "softmax"
