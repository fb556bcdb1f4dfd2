"""A small translator of German in a real browser: a typed sentence, its answer, its map."""

import json

import numpy as np
import pytest

from keras_attention.engine.calibration import Calibration, save_calibration
from keras_attention.folders.export_layout import read_manifest
from keras_attention.folders.run_folder import CALIBRATION
from keras_attention.pairs.splits import Splits
from keras_attention.readers.translator import Translator
from tests.support.browser import BROWSERS, opened_browser
from tests.support.commands import call_train
from tests.support.exports import call_export
from tests.support.servers import server_of
from tests.support.tasks import EAGER_LEARNER, write_splits
from tests.training.test_subwords import SUBWORDS, sentences
from tests.web.test_live_page import text_of, texts_of, wait_for

pytestmark = pytest.mark.slow

# Of a translator: every answer has a quality to expect.
EXPECTED_QUALITY = Calibration(0.0, 0.0, 1.0, 0.0, 1000, 990, 1.0, "quality")


@pytest.fixture(scope="module", params=BROWSERS[:1])
def browser(request):
    yield from opened_browser(request.param)


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german")
    parts = (sentences(400), sentences(40, 1), sentences(40, 2))
    data, run, out = write_splits(folder / "data", Splits(*parts)), folder / "run", folder / "out"
    sizes = ("--units", 32, "--embedding-size", 16, "--epochs", 10, "--batch-size", 32)
    done = call_train("--data", data, "--out", run, *SUBWORDS, *sizes, *EAGER_LEARNER)
    assert done.status == 0, done.err
    save_calibration(run / CALIBRATION, EXPECTED_QUALITY)
    done = call_export(run, "--out", out)
    assert done.status == 0, done.err
    return out


def test_every_artefact_says_that_its_confidence_is_a_quality(export):
    manifest = read_manifest(export)
    name = manifest["name"]
    for content in (
        manifest,
        json.loads((export / "litert" / f"{name}.json").read_text(encoding="utf-8")),
    ):
        assert content["confidence_means"] == "quality"
        assert content["confidence"].startswith("the chrF to expect")
    weights = json.loads((export / "weights" / f"{name}.json").read_text(encoding="utf-8"))
    assert weights["calibration"]["meaning"] == "quality"
    assert weights["confidence"] == manifest["confidence"]
    readers = [
        Translator.load(export),
        Translator.load(export, engine="tensorflow"),
        Translator.load(export / "litert" / f"{name}.tflite"),
    ]
    text = "Der Hund schläft."
    (expected,) = readers[0].translate([text])
    length = len(expected.target_tokens) + 1
    logit = 1.0 + expected.log_probability / length
    assert expected.confidence == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)
    for reader in readers:
        assert reader.confidence_means == "quality"
        assert reader.translate([text])[0].confidence == pytest.approx(
            expected.confidence, abs=1e-4
        )


def test_a_typed_sentence_is_answered_with_its_map(browser, export):
    text = "Singt der Vogel?"
    (expected,) = Translator.load(export).translate([text])
    assert expected.text == "The bird sings?"
    with server_of(export) as server:
        browser.open(f"{server.url}#language=en")
        wait_for(browser, "globalThis.attentionPage")
        browser.press(*text)
        wait_for(browser, f"attentionPage.shown?.source === {json.dumps(text)}")
        wait_for(browser, "!document.getElementById('result').hasAttribute('aria-busy')")
        assert text_of(browser, "#answer") == expected.text
        shown = f"expected quality {100 * expected.confidence:.1f} %"
        assert text_of(browser, "#confidence").startswith(shown)
        pieces = "".join(texts_of(browser, ".token[data-side=source] title"))
        assert "Vogel" in pieces
        cells = browser.run(
            "return [...document.querySelectorAll('.cell')].map((e) => [+e.dataset.row,"
            " +e.dataset.column, parseFloat(e.style.getPropertyValue('--weight')) / 100])"
        )
        drawn = np.zeros_like(expected.attention_weights)
        for row, column, weight in cells:
            drawn[row, column] = weight
        np.testing.assert_allclose(drawn, expected.attention_weights, atol=0.006)
