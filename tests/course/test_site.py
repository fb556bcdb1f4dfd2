"""The static site: built without a network, every link and picture in it leads somewhere."""

import html.parser
import json
import pathlib
import subprocess
import sys
import urllib.parse

import pytest

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.decoder import Model
from keras_attention.engine.weights import read_safetensors
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.readers.engine_reader import EngineReader
from keras_attention.text.vocabulary import Vocabulary
from tests.support import ROOT

pytest.importorskip("mkdocs", reason="needs pip install -r requirements-docs.txt")
pytest.importorskip("latex2mathml", reason="needs pip install -r requirements-docs.txt")

from docs.making import site_pages  # noqa: E402


class Page(html.parser.HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.links, self.loaded, self.ids, self.tags = [], [], set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.add(tag)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("img", "script") and values.get("src"):
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(values["href"])


def test_a_diagram_becomes_rows_of_boxes():
    text = 'flowchart LR\n  a["x & y"] -- "one<br>two" --> b --> c[z]\n  b[last] -- plain --> c\n'
    assert site_pages.diagram(text) == (
        '<div class="diagram">'
        "<p><b>x &amp; y</b> <i>one two</i> → <b>last</b> → <b>z</b></p>"
        "<p><b>last</b> <i>plain</i> → <b>z</b></p></div>"
    )
    with pytest.raises(ValueError, match="chain of nodes"):
        site_pages.diagram("flowchart LR\n  subgraph one thing\n")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda p: p.name)
def test_every_diagram_of_the_pages_can_be_shown(page):
    for match in site_pages.MERMAID.finditer(page.read_text(encoding="utf-8")):
        assert site_pages.diagram(match[1]).count("<b>") >= 3


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[pathlib.Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


@pytest.mark.slow
@pytest.mark.long
def test_links_and_pictures_lead_somewhere(site, pages):
    assert len(pages) > 40
    for path, page in pages.items():
        for target in page.links + page.loaded:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                assert target in page.links, f"{path.name} loads {target}"
                continue
            named = urllib.parse.unquote(parts.path)
            file = (path.parent / named).resolve() if named else path
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), f"{path.name} refers to {target}"
            if parts.fragment and file.suffix == ".html" and file.stem != "what-if":
                anchor = urllib.parse.unquote(parts.fragment)
                assert anchor in pages[file].ids, f"{path.name} refers to {target}"


def test_the_models_of_the_what_if_page_read_dates():
    files = sorted(site_pages.MODELS.glob("*.safetensors"))
    assert len(files) == 2  # side by side
    pairs = read_pairs(ROOT / "data" / "dates" / "test.tsv")[:300]
    for file in files:
        arrays, about = read_safetensors(file)
        exported = json.loads(about["description"])
        source, target = (
            Vocabulary(side["kind"], tuple(side["tokens"]), side["normal_form"])
            for side in (exported["source"], exported["target"])
        )
        arrays = {name.removeprefix("0/"): array for name, array in arrays.items()}
        architecture = Architecture(**exported["models"][0])
        reader = EngineReader(Model(architecture, arrays, len(source), len(target)), source, target)
        answers = reader.translate_batch([pair.source for pair in pairs])
        right = [a.text == pair.target for a, pair in zip(answers, pairs, strict=True)]
        assert sum(right) >= 0.97 * len(right), file.name


@pytest.mark.slow
@pytest.mark.long
def test_the_what_if_page_is_in_the_site_and_inside_both_pages(site):
    assert '"models":[{"name":"dates"' in (site / "what-if.html").read_text(encoding="utf-8")
    for folder, language in (("course", "en"), ("ko", "ko")):
        page = (site / folder / "11-other-weights.html").read_text(encoding="utf-8")
        assert f'src="../what-if.html#language={language}"' in page


@pytest.mark.slow
@pytest.mark.long
def test_nothing_of_the_source_s_own_language_is_left(pages):
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert "```" not in text and 'class="mermaid"' not in text, path.name
    by_name = {f"{path.parent.name}/{path.stem}": page for path, page in pages.items()}
    for folder in ("course", "ko"):
        assert "math" in by_name[f"{folder}/9-decoding"].tags
        assert "details" in by_name[f"{folder}/9-decoding"].tags


@pytest.mark.slow
@pytest.mark.long
def test_both_languages_can_be_searched(site):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    assert index["config"]["lang"] == ["en", "ko"]
    assert (site / "assets/javascripts/lunr/min/lunr.ko.min.js").is_file()
    titles = {entry["title"]: entry["location"] for entry in index["docs"]}
    assert titles["Exposure bias, measured"].startswith("course/9-decoding.html")
    assert titles["노출 편향을 재다"].startswith("ko/9-decoding.html")
