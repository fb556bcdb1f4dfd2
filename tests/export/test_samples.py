"""The sample projects of examples/: the page is built and asked in browsers, the apps are read."""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest

from keras_attention.export.litert import write_litert
from keras_attention.readers.litert_reader import TENSOR_OF_KIND
from keras_attention.readers.translator import Translator
from tests.support import ROOT
from tests.support.browser import BROWSERS, opened_browser
from tests.support.exports import made_once, random_run, random_texts

EXAMPLES = ROOT / "examples"
# Kind of tokens, and the longest source that the file reads: no sample may know either.
KINDS = {"char": 21, "word": 7, "subword": 12}


def export_of(kind: str) -> pathlib.Path:
    """A folder with the LiteRT files of a model of random weights."""

    def make(folder: pathlib.Path) -> None:
        (folder / "litert").mkdir(parents=True)
        write_litert(random_run(tokens=(kind, kind)), folder / "litert", "NAME", KINDS[kind])

    return made_once(f"sample-{kind}", make)


# --- the page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page's project with what it depends on."""
    if not shutil.which("npm"):
        pytest.skip("the page is not built: no npm on PATH")
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(EXAMPLES / "page", folder, dirs_exist_ok=True)
    given = os.environ.get("KERAS_ATTENTION_NODE_MODULES")
    if given and (pathlib.Path(given) / "esbuild").exists():
        (folder / "node_modules").symlink_to(given)
        return folder
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    if subprocess.run(install, cwd=folder, capture_output=True, timeout=240).returncode:
        pytest.skip("the page is not built: npm cannot install its packages here")
    return folder


@pytest.fixture(scope="module")
def built(page):
    """A built site for each kind of tokens, served; its address by kind."""
    for kind in KINDS:
        command = ["npm", "run", "build", "--", str(export_of(kind)), f"dist/{kind}"]
        finished = subprocess.run(command, cwd=page, capture_output=True, text=True, timeout=240)
        assert finished.returncode == 0, finished.stderr

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=page / "dist")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield lambda kind: f"http://127.0.0.1:{host.server_port}/{kind}/"
        host.shutdown()


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request):
    yield from opened_browser(request.param)


def wait_for(browser, script):
    end = time.monotonic() + 120
    while not browser.run(f"return Boolean({script})"):
        assert time.monotonic() < end, browser.log()
        time.sleep(0.05)


ASK = """
window.answers = null;
(async (texts) => {
  const found = [];
  for (const text of texts) found.push(await attention.translate(text));
  window.answers = found;
})(arguments[0]);
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_answers_as_python_does(built, browser, kind):
    texts = [*random_texts(random_run(tokens=(kind, kind)).source, 12), "", "\0", "a\0b", "é" * 40]
    reader = Translator.load(export_of(kind) / "litert" / "NAME.int8.tflite")
    browser.open(built(kind))
    wait_for(browser, "globalThis.attention")
    browser.run(ASK, texts)
    wait_for(browser, "window.answers")
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        expected = reader.translate(texts)
    answers = browser.run("return window.answers")
    assert len({answer["text"] for answer in answers}) > 4
    for answer, translation in zip(answers, expected, strict=True):
        assert answer["text"] == translation.text
        assert answer["confidence"] == pytest.approx(translation.confidence, abs=1e-4)
        assert answer["sourceTokens"] == list(translation.source_tokens)
        assert answer["targetTokens"] == list(translation.target_tokens)
        weights = translation.attention_weights
        np.testing.assert_allclose(np.reshape(answer["weights"], weights.shape), weights, atol=1e-4)
    # As one types, and with nothing from elsewhere.
    browser.run("document.getElementById('text').focus()")
    browser.press("a", "b")
    (typed,) = reader.translate(["ab"])
    wait_for(browser, f"document.getElementById('answer').value === {json.dumps(typed.text)}")
    names = browser.run("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert names and all(name.startswith(built(kind)) for name in names)
    assert [line for line in browser.log() if re.search("Content.Security.Policy", line)] == []


@pytest.mark.slow
def test_without_an_export_the_build_says_what_it_wants(page):
    finished = subprocess.run(["node", "build.mjs"], cwd=page, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)
    assert "EXPORT" in finished.stderr


# --- all three

SOURCES = {
    "page": ["model.js", "tokens.js", "page.js"],
    "android": [f"app/src/main/java/org/example/attention/{n}.kt" for n in ("Model", "Tokens")],
    "ios": [f"Sources/Attention/{n}.swift" for n in ("Model", "Tokens")],
}


def code_of(sample: str) -> str:
    """Its sources without comments."""
    texts = [(EXAMPLES / sample / name).read_text(encoding="utf-8") for name in SOURCES[sample]]
    return re.sub(r"/\*[\s\S]*?\*/|//.*", "", "\n".join(texts))


@pytest.mark.parametrize("sample", SOURCES)
def test_no_sample_holds_a_number_of_the_model(sample):
    code = re.sub(r"\\u\{?[0-9A-Fa-f]+\}?|1e-\d", "", code_of(sample))
    numbers = set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", code))
    # Nothing, the first, one more; percent; and the decimals that are shown.
    assert numbers <= {"0", "1", "100"}, numbers


@pytest.mark.slow
@pytest.mark.parametrize("sample", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_samples_read_what_the_json_says(sample, kind):
    path = export_of(kind) / "litert" / "NAME.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    code = code_of(sample)
    for side in ("source", "target"):  # Kotlin names both at once
        code += f" {side}_tokens {side}_vocabulary" if "${side}_tokens" in code else ""
        assert f"{side}_vocabulary" in code
        assert kind == "char" or f"{side}_vocabulary" in description
    asked = set(re.findall(r"\b(?:longest_\w+|\w+_tokens|normal_form|signature)\b", code))
    needed = {"longest_source", "source_tokens", "target_tokens", "normal_form", "signature"}
    assert needed <= asked <= set(description), asked
    assert set(TENSOR_OF_KIND.values()) <= set(re.findall(r'"(\w+)"', code))
    for name in ("attention_weights", "confidence"):
        assert name in code
