"""The JavaScript of docs/shipping.md, run as it stands there in headless Chromium.

LiteRT.js comes from npm, into a temporary folder; without npm, its registry or Chromium the test is
skipped. Nothing is bundled: an import map tells the browser where the two packages are.
"""

import contextlib
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading

import numpy as np
import pytest

from keras_attention.export.litert import write_litert
from keras_attention.readers.translator import Translator
from tests.support import ROOT, chromium
from tests.support.exports import random_run, random_texts

LITERT_JS = "@litertjs/core@2.5.3"
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="importmap">{"imports": {
  "@litertjs/core": "/node_modules/@litertjs/core/dist/index.js",
  "@litertjs/wasm-utils": "/node_modules/@litertjs/wasm-utils/dist/index.js"}}</script>
<script type="module">
import { translate } from "./snippet.js";
window.answers = [];
const texts = JSON.parse(await (await fetch("texts.json")).text());
for (const text of texts) {
  const { text: answer, weights } = await translate(text);
  window.answers.push([answer, Array.from(weights)]);
}
window.finished = true;
</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("site")
    if chromium.missing() or not shutil.which("npm"):
        pytest.skip(chromium.missing() or "no npm on PATH")
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", LITERT_JS]
    (folder / "package.json").write_text("{}")
    if subprocess.run(install, cwd=folder, capture_output=True, timeout=240).returncode:
        pytest.skip(f"npm cannot install {LITERT_JS} here")
    return folder


@contextlib.contextmanager
def served(folder: pathlib.Path):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
def test_the_javascript_of_the_page_gives_the_same_text_and_attention(site):
    run = random_run()
    write_litert(run, site, "dates", 64)
    page = (ROOT / "docs" / "shipping.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"^```js\n(.*?)^```", page, re.M | re.S)
    (site / "snippet.js").write_text(snippet)
    (site / "index.html").write_text(PAGE)
    texts = [*random_texts(run.source, 12), "", "\0", "a\0b", "😀" * 64]
    (site / "texts.json").write_text(json.dumps(texts))
    expected = Translator.load(site / "dates.tflite").translate(texts)
    with served(site) as url, chromium.Chromium() as browser:
        browser.open(f"{url}/index.html")
        finished = threading.Event()
        for _ in range(600):
            if browser.run("return window.finished === true;"):
                break
            finished.wait(0.2)
        answers, log = browser.run("return window.answers;"), browser.log()
    assert len(answers) == len(texts), log
    assert len({answer for answer, _ in answers}) > 4
    for (answer, weights), translation in zip(answers, expected, strict=True):
        assert answer == translation.text
        rows = np.float32(weights).reshape(-1, 64)
        shape = translation.attention_weights.shape
        np.testing.assert_allclose(
            rows[: shape[0], : shape[1]], translation.attention_weights, atol=1e-5
        )
