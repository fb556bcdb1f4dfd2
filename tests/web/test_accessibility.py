"""axe-core finds nothing serious on any page: names, roles, contrast, focus, structure."""

import functools
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import time

import pytest

from keras_attention.web import viewer, what_if
from tests.support import ROOT, chromium
from tests.support.session import AT_END
from tests.support.weights import random_weights
from tests.web.test_viewer import date_example, short_example

AXE = "axe-core"
AXE_VERSION = "4.14.1"
NODE_MODULES = pathlib.Path(os.environ.get("KERAS_ATTENTION_NODE_MODULES", ROOT / "node_modules"))
FOUND = """
return axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, impact, nodes }) =>
    [impact, id, nodes.map((node) => node.html).join(" ")]));
"""
LOOKS = [("light", 1280), ("dark", 1280), ("light", 390)]


@functools.cache
def axe_source() -> str:
    """axe-core's script: where it was installed before, or fetched for this run of the tests."""
    installed = NODE_MODULES / AXE / "axe.min.js"
    if installed.is_file():
        return installed.read_text(encoding="utf-8")
    if not shutil.which("npm"):
        pytest.skip(f"accessibility is not tried: no {AXE} in {NODE_MODULES}, and no npm on PATH")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="axe-"))
    AT_END.callback(shutil.rmtree, folder, ignore_errors=True)
    pack = ["npm", "pack", f"{AXE}@{AXE_VERSION}"]
    if subprocess.run(pack, cwd=folder, capture_output=True, timeout=240).returncode:
        pytest.skip(f"accessibility is not tried: npm cannot fetch {AXE} here")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        return packed.extractfile("package/axe.min.js").read().decode("utf-8")


@pytest.fixture(scope="module")
def browser():
    if reason := chromium.missing():
        pytest.skip(f"the page is not tried in a browser: {reason}")
    with chromium.Chromium() as running:
        yield running


def serious(browser, url, ready, scheme, width):
    """What axe-core calls serious or critical."""
    source = axe_source()
    browser.open(url, width=width, scheme=scheme)
    end = time.monotonic() + 90
    while not browser.run(f"return Boolean({ready})"):
        assert time.monotonic() < end, browser.log()
        time.sleep(0.05)
    found = browser.run(f"{source};{FOUND}")
    return [violation for violation in found if violation[0] in ("serious", "critical")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    examples = [date_example(expected="1994-09-28"), short_example(["a", "b"], ["b", "a"])]
    (folder / "viewer.html").write_text(viewer.render(examples), encoding="utf-8")
    models = [what_if.read_model(random_weights(folder / name)) for name in ("one", "two")]
    page = what_if.render(models, ["abcde", "ab12"], "suspicious")
    (folder / "what-if.html").write_text(page, encoding="utf-8")
    return folder


def test_it_would_find_something(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>x</title><img src=x><input>", encoding="utf-8")
    found = serious(browser, page.as_uri(), "true", "light", 1280)
    assert {"image-alt", "label"} <= {violation[1] for violation in found}


@pytest.mark.parametrize("scheme, width", LOOKS)
@pytest.mark.parametrize("name", ["viewer", "what-if"])
def test_pages_of_one_file(browser, pages, name, scheme, width):
    url = (pages / f"{name}.html").as_uri() + "#language=en&text=abcde&hidden=1&erased=2"
    assert serious(browser, url, "document.querySelector('.cell')", scheme, width) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme, width", LOOKS)
def test_the_live_page(browser, scheme, width):
    from tests.support.servers import shared_server

    url = f"{shared_server().url}#language=en&text=abc"
    assert serious(browser, url, "globalThis.attentionPage?.shown", scheme, width) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme, width", LOOKS)
def test_the_report_of_the_audit(browser, tmp_path, scheme, width):
    from keras_attention.explanation.pages.html import render
    from tests.explanation.test_known_models import report_on
    from tests.support.subjects import copier

    page = tmp_path / "report.html"
    page.write_text(render(report_on(copier())), encoding="utf-8")
    assert serious(browser, page.as_uri(), "document.querySelector('h1')", scheme, width) == []
