"""The page that answers as one types: with a server, and as a site that runs the model itself."""

import contextlib
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
import urllib.parse

import numpy as np
import pytest

from keras_attention.errors import UserError
from keras_attention.plots.visible_label import visible_label
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.web import live_page
from tests.support import ROOT
from tests.support.browser import BROWSERS, opened_browser
from tests.support.commands import call_verb
from tests.support.exports import BEAM_WIDTH, random_export, random_texts
from tests.support.servers import server_of, shared_server
from tests.web.test_viewer import CONTRAST, HOSTILE

# Where `npm install @litertjs/core` was done; by default in the repository's folder.
NODE_MODULES = pathlib.Path(os.environ.get("KERAS_ATTENTION_NODE_MODULES", ROOT / "node_modules"))


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request):
    yield from opened_browser(request.param)


@pytest.fixture(scope="module")
def server():
    return shared_server()


@pytest.fixture(scope="module")
def reader():
    return SavedModelReader(random_export()[1])


@pytest.fixture
def page(browser, server):
    """Opens the server's page; afterwards nothing may have failed in it, or gone elsewhere."""

    def open_page(fragment="language=en", **window):
        browser.open(f"{server.url}assets/live.css")
        browser.run("sessionStorage.clear()")
        browser.open(f"{server.url}#{fragment}", **window)
        wait_for(browser, "globalThis.attentionPage")
        return browser

    yield open_page
    assert browser.log() == []
    names = browser.run("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert names and all(name.startswith(server.url) for name in names)
    assert browser.run("return window.pwned ?? null") is None


def wait_for(page, script, seconds=30):
    """Waits until `script` is true in the page."""
    end = time.monotonic() + seconds
    while not page.run(f"return Boolean({script})"):
        assert time.monotonic() < end, f"never true: {script}"
        time.sleep(0.02)


def text_of(page, selector):
    return page.run("return document.querySelector(arguments[0])?.textContent", selector)


def texts_of(page, selector):
    return page.run(
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
    )


def wait_for_answer_to(page, text):
    """Waits until what is shown belongs to `text`, alternatives included."""
    wait_for(
        page,
        f"attentionPage.shown?.source === {json.dumps(text)}"
        " && !document.getElementById('result').hasAttribute('aria-busy')",
    )
    drawn = texts_of(page, ".token[data-side=source] title")
    assert not drawn or "|".join(drawn) == visible(text)


def visible(text):
    return "|".join(visible_label(character) for character in text)


def write(page, text):
    """Puts text into the box at once, as pasting does."""
    page.run(
        "const b = document.getElementById('text'); b.value = arguments[0];"
        "b.dispatchEvent(new InputEvent('input'))",
        text,
    )


# --- typing


def test_typing_shows_the_answer_and_where_the_model_looks(page, reader):
    page = page()
    assert page.run("return document.getElementById('result').hidden")
    page.press("a", "b", "1", "2")  # the box has the focus from the start
    wait_for_answer_to(page, "ab12")
    (expected,) = reader.translate_batch(["ab12"])
    assert text_of(page, "#answer") == expected.text
    share = f"{100 * expected.confidence:.1f} %" if expected.confidence > 0.001 else "<0.1 %"
    assert text_of(page, "#confidence").startswith(f"{share} sure")
    cells = page.run(
        "return [...document.querySelectorAll('.cell')].map((e) => [+e.dataset.row,"
        " +e.dataset.column, parseFloat(e.style.getPropertyValue('--weight')) / 100])"
    )
    drawn = np.zeros_like(expected.attention_weights)
    for row, column, weight in cells:
        drawn[row, column] = weight
    np.testing.assert_allclose(drawn, expected.attention_weights, atol=0.006)


def test_every_further_key_changes_the_answer(page, reader):
    page = page()
    for typed in ("a", "ab", "ab1", "ab1가"):
        page.press(typed[-1])
        wait_for_answer_to(page, typed)
        assert text_of(page, "#answer") == reader.translate_batch([typed])[0].text
    page.press("Backspace", "Backspace")
    wait_for_answer_to(page, "ab")


def test_only_the_newest_text_is_answered(page, reader):
    """An answer that comes late must not replace that of a later text."""
    page = page()
    page.run(
        "const real = window.fetch;"
        "window.fetch = async (...a) => { const reply = await real(...a);"
        "if (a[1].body.includes('slow')) await new Promise((done) => setTimeout(done, 700));"
        "return reply; }"
    )
    write(page, "slow")
    time.sleep(0.3)
    write(page, "ab1")
    wait_for_answer_to(page, "ab1")
    time.sleep(1)
    assert text_of(page, "#answer") == reader.translate_batch(["ab1"])[0].text
    assert text_of(page, "#notice") == ""


def test_korean_is_put_together_by_an_input_method(page, reader):
    page = page()
    page.run(
        "window.events = []; const b = document.getElementById('text');"
        "for (const n of ['compositionstart', 'compositionupdate', 'compositionend', 'input'])"
        "b.addEventListener(n, (e) => window.events.push([n, b.value, e.isComposing ?? null]))"
    )
    for composed in ("ㄱ", "가", "간"):  # what stands there while 가나 is typed: ㄱ, 가, 간, 가나
        page.compose(composed)
        time.sleep(0.05)
    page.compose("가", commit=True)
    page.compose("나")
    # The last syllable is answered while it is still being composed, and stays in composition.
    wait_for_answer_to(page, "가나")
    assert page.run("return document.getElementById('text').value") == "가나"
    # Enter now belongs to the input method.
    page.run(
        "document.getElementById('text').dispatchEvent(new KeyboardEvent('keydown',"
        " { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
    )
    assert "가나" not in texts_of(page, "#history .source")
    page.compose("나", commit=True)
    wait_for_answer_to(page, "가나")
    assert text_of(page, "#answer") == reader.translate_batch(["가나"])[0].text
    events = page.run("return window.events")
    assert [name for name, *_ in events].count("compositionend") == 2
    assert ["input", "간", True] in events
    assert page.run("return document.getElementById('text').value") == "가나"
    page.press("c")
    wait_for_answer_to(page, "가나c")


@pytest.mark.parametrize("text", [t for t in HOSTILE if t and t not in "\t\n" and t != "\ud800"])
def test_hostile_text_is_shown_and_does_nothing(page, text):
    page = page()
    write(page, f"ab12 {text} ab12")
    wait_for_answer_to(page, page.run("return document.getElementById('text').value"))
    assert page.run("return document.querySelectorAll('main img, main script, main b').length") == 0


def test_hostile_answers_are_text_as_well(page):
    evil = '<img src=x onerror="window.pwned = 1">'
    outputs = {
        "text": [evil],
        "confidence": [0.5],
        "log_probability": [-0.7],
        "source_tokens": [[evil]],
        "target_tokens": [[evil]],
        "source_length": [1],
        "target_length": [1],
        "attention_weights": [[[1.0]]],
    }
    page = page()
    page.run(
        "const answer = JSON.stringify({ outputs: arguments[0] });"
        "window.fetch = async () => new Response(answer)",
        outputs,
    )
    write(page, evil)
    wait_for(page, "document.getElementById('answer').textContent.startsWith('<img')")
    assert page.run("return document.querySelectorAll('main img').length") == 0


# --- looking


def test_the_pointer_and_the_keys_move_the_lines(page):
    page = page("text=ab12&language=en")
    wait_for_answer_to(page, "ab12")
    page.point(".token[data-side='target'] rect")
    assert page.run("return document.querySelectorAll('.line.active').length") >= 1
    assert "looks at" in text_of(page, ".readout-title")
    page.run("document.querySelector('.attention-lines').focus()")
    page.press("ArrowRight", "ArrowRight")
    active = ".token.active[data-side='target']"
    assert page.run("return document.querySelector(arguments[0]).dataset.index", active) == "2"
    page.press("Tab", "ArrowDown", "ArrowRight")
    label = page.run(
        "const h = document.querySelector('.attention-heatmap');"
        "return document.getElementById(h.getAttribute('aria-activedescendant')).textContent"
    )
    assert label.startswith("target")


def test_alternatives_of_the_beam_can_be_looked_at(page, reader):
    page = page("text=ab12&language=en")
    wait_for_answer_to(page, "ab12")
    (best,) = reader.translate_batch(["ab12"], beam_width=BEAM_WIDTH)
    hypotheses = [best, *best.alternatives]
    assert texts_of(page, "#alternatives bdi") == [h.text for h in hypotheses]
    page.point("#alternatives li:nth-child(3) button", click=True)
    assert text_of(page, "#answer") == hypotheses[2].text
    chosen = page.run(
        "return [...document.querySelectorAll('#alternatives button')].map((b) => b.ariaPressed)"
    )
    assert chosen == ["false", "false", "true"]
    rows = page.run("return document.querySelectorAll('.token[data-side=target]').length")
    assert rows == len(hypotheses[2].target_tokens)


def test_the_link_shows_the_same_again(page):
    page = page("text=ab12&language=ko")
    wait_for_answer_to(page, "ab12")
    page.point("#alternatives li:nth-child(2) button", click=True)
    page.run("document.querySelector('.attention-heatmap').focus()")
    page.press("ArrowDown", "ArrowDown", "ArrowRight")
    seen = [text_of(page, selector) for selector in ("#answer", ".readout-title", "h1")]
    assert seen[1]
    address = page.run("return location.href")
    said = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).fragment))
    assert said == {"text": "ab12", "answer": "2", "row": "2", "column": "2", "language": "ko"}
    page.open("about:blank")
    page.open(address)
    wait_for(page, "document.querySelector('.readout-title')")
    assert [text_of(page, selector) for selector in ("#answer", ".readout-title", "h1")] == seen
    page.run("document.getElementById('link').click()")
    wait_for(page, "document.getElementById('linked').textContent")


@pytest.mark.parametrize(
    "fragment",
    [
        "answer=99&text=ab",
        "row=99&column=-1&text=ab",
        "row=x&text=ab",
        "language=xx&text=ab",
        "%%%",
    ],
)
def test_a_broken_link_shows_what_it_can(page, fragment):
    page = page(fragment)
    if "text" in fragment:
        wait_for_answer_to(page, "ab")
    assert text_of(page, "h1") == "Attention, live"


def test_both_languages(page):
    page = page("text=ab12&language=en")
    wait_for_answer_to(page, "ab12")
    english = texts_of(page, "h1, h2, label, button:not(#alternatives button), .hint")
    page.point("[data-language=ko]", click=True)
    assert page.run("return document.documentElement.lang") == "ko"
    korean = texts_of(page, "h1, h2, label, button:not(#alternatives button), .hint")
    assert text_of(page, "#confidence span:nth-child(2)").startswith("확신")
    assert page.run("return document.querySelector('[role=grid]').ariaLabel").startswith("히트맵")
    same = {a for a, b in zip(english, korean, strict=True) if a == b}
    assert same <= {"English", "한국어"} | {t for t in same if not re.search("[A-Za-z]{3}", t)}
    wait_for_answer_to(page, "ab12")


def test_what_was_tried_can_be_tried_again_and_forgotten(page):
    page = page()
    for text in ("ab", "12", "ab"):
        write(page, text)
        wait_for_answer_to(page, text)
        page.run("document.getElementById('text').focus()")
        page.press("\ue007")  # Enter
    assert texts_of(page, "#history .source") == ["ab", "12"]
    page.point("#history li:nth-child(2) button", click=True)
    wait_for_answer_to(page, "12")
    assert page.run("return document.getElementById('text').value") == "12"
    page.point("#forget", click=True)
    assert texts_of(page, "#history .source") == []
    page.point("#clear", click=True)
    wait_for(page, "document.getElementById('result').hidden")


def test_a_text_that_stands_goes_into_the_history_by_itself(page):
    page = page()
    write(page, "ab")
    wait_for(page, "document.querySelectorAll('#history .source').length === 1")
    assert page.run("return localStorage.length") == 0, "nothing outlives the tab"


# --- when it does not work


def test_a_text_that_is_too_long_is_not_cut(page):
    page = page()
    write(page, "a" * 513)
    wait_for(page, "document.getElementById('notice').textContent")
    assert "513 characters; at most 512" in text_of(page, "#notice")
    assert page.run("return document.getElementById('result').hidden")
    write(page, "ab")
    wait_for_answer_to(page, "ab")
    assert text_of(page, "#notice") == ""


def test_a_busy_server_is_asked_again(page):
    page = page()
    page.run(
        "const real = window.fetch; let left = 2; window.fetch = (...a) => left-- > 0"
        ' ? Promise.resolve(new Response(\'{"error": "x"}\', { status: 429 })) : real(...a)'
    )
    write(page, "ab")
    wait_for(page, "document.getElementById('notice').textContent")
    assert "busy" in text_of(page, "#notice")
    wait_for_answer_to(page, "ab")
    assert text_of(page, "#notice") == ""


def test_a_page_opens_on_an_answered_example_that_nobody_tried(browser, tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("ab\tx\n12\ty\n")
    with server_of(random_export()[1], "--examples", str(data)) as server:
        browser.open(f"{server.url}assets/live.css")
        browser.run("sessionStorage.clear()")
        browser.open(server.url + "#language=en")
        wait_for(browser, "globalThis.attentionPage")
        wait_for_answer_to(browser, "ab")
        assert browser.run("return document.getElementById('text').value") == "ab"
        time.sleep(1.5)  # longer than a text has to stand to be kept
        assert texts_of(browser, "#history .source") == []
        # Whoever comes with a text, or clears it, gets what was asked for.
        browser.open(server.url + "#language=en&text=12")
        browser.run("location.reload()")
        wait_for(browser, "globalThis.attentionPage")
        wait_for_answer_to(browser, "12")
        browser.point("#clear", click=True)
        wait_for(browser, "document.getElementById('result').hidden")
        assert browser.run("return document.getElementById('text').value") == ""


def test_a_server_that_is_gone_is_told(page):
    page = page()
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    write(page, "ab")
    wait_for(page, "document.getElementById('notice').textContent")
    assert text_of(page, "#notice") == "No answer: gone"


# --- for everyone


def test_everything_is_reached_with_the_tab_key(page):
    page = page("text=ab12&language=en")
    wait_for_answer_to(page, "ab12")
    page.run("document.getElementById('text').focus()")
    reached = []
    for _ in range(5):
        page.press("Tab")
        reached.append(
            page.run("const e = document.activeElement; return e.id || e.getAttribute('role')")
        )
    assert reached[:4] == ["clear", "link", "listbox", "grid"]


def test_names_for_screen_readers(page):
    page = page("text=ab12&language=en")
    wait_for_answer_to(page, "ab12")
    assert page.run("return document.getElementById('text').labels[0].textContent") == "Type a text"
    assert page.run("return document.getElementById('answer').ariaLive") == "polite"
    nameless = page.run(
        "return [...document.querySelectorAll('button, [role=listbox], [role=grid], [role=group]')]"
        ".filter((e) => !e.textContent.trim() && !e.ariaLabel).length"
    )
    assert nameless == 0
    headings = page.run("return [...document.querySelectorAll('h1, h2')].map((e) => e.tagName)")
    assert headings == ["H1", "H2", "H2"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(page, scheme):
    page = page("text=ab12&language=en", scheme=scheme)
    wait_for_answer_to(page, "ab12")
    wait_for(page, "document.querySelectorAll('#history .source').length === 1")
    page.point(".cells")
    found = page.run(CONTRAST)
    assert len(found) > 30
    assert [pair for pair in found if pair[0] < 4.5] == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_is_cut_off_at_any_width(page, width, language):
    page = page(f"text={'ab12가' * 12}&language={language}", width=width, height=900)
    wait_for_answer_to(page, "ab12가" * 12)
    assert page.run("return document.documentElement.scrollWidth") <= width


# --- the page's text


def test_examples_are_those_that_the_model_is_sure_of():
    def confidences(texts):
        return [0.9 if "9월" in text or text == "3 May 2021" else 0.1 for text in texts]

    assert live_page.sure_examples(confidences) == {"en": ["3 May 2021"], "ko": ["1994년 9월 27일"]}
    assert live_page.sure_examples(lambda texts: [0.0] * len(texts)) == {}


def test_examples_can_be_given(browser, tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("<b>ab\tx\n12\ty\n")
    with server_of(random_export()[1], "--examples", str(data)) as server:
        browser.open(server.url + "#language=en")
        wait_for(browser, "document.querySelectorAll('#examples button').length === 2")
        wait_for(browser, "globalThis.attentionPage")
        assert texts_of(browser, "#examples bdi") == ["<b>ab", "12"]
        browser.point("#examples button:nth-of-type(2)", click=True)
        wait_for_answer_to(browser, "12")


@pytest.mark.slow
def test_a_model_without_attention_is_answered_without_drawings(browser):
    _, export = random_export(attention="none")
    with server_of(export) as server:
        browser.open(server.url + "#text=ab12&language=en")
        wait_for(browser, "document.querySelectorAll('#alternatives button').length > 1")
        (expected,) = SavedModelReader(export).translate_batch(["ab12"])
        assert text_of(browser, "#answer") == expected.text
        assert text_of(browser, "#view") == "This model has no attention to show."
        assert browser.log() == []
    finished = call_verb("view", "--live", export, "--out", "x")
    assert finished.status == 2 and "is of a model without attention" in finished.err


def test_assets_never_write_markup():
    for path in (ROOT / "keras_attention" / "web" / "live_assets").glob("*.js"):
        script = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


def test_both_languages_say_the_same_things():
    words = (ROOT / "keras_attention" / "web" / "live_assets" / "words.js").read_text(
        encoding="utf-8"
    )
    english, korean = words.split("\n  ko: {")
    keys = re.compile(r"^    (\w+):", re.M)
    assert keys.findall(english) == keys.findall(korean)
    shared = (ROOT / "keras_attention" / "web" / "viewer_assets" / "attention-view.js").read_text(
        "utf-8"
    )
    in_view = re.findall(
        r"^    (\w+):", shared.split("const WORDS = {")[1].split("\n  };")[0], re.M
    )
    translated = re.findall(r"^      (\w+):", korean.split("view: {")[1], re.M)
    assert set(in_view) - {"legendGold"} == set(translated), "only the live page has no gold"


def test_a_name_cannot_leave_its_place_in_the_page():
    manifest = {"name": "</script><b>", "has_attention": True, "source_tokens": "char"}
    files = live_page.for_server(manifest, {"": ["</script><script>"]}, 10)
    page = files[""][1].decode()
    assert page.count("<script") == page.count("</script>") == 3 and "<b>" not in page


# --- without a server


@pytest.fixture(scope="module")
def litert_js(tmp_path_factory):
    """The npm package: where it was installed before, or in a temporary folder."""
    with contextlib.suppress(UserError):
        return live_page.find_litert_js(NODE_MODULES.parent)
    folder = tmp_path_factory.mktemp("npm")
    package = f"{live_page.LITERT_JS}@{live_page.LITERT_JS_VERSION}"
    if not shutil.which("npm"):
        pytest.skip(f"the static site is not tried: no {package}, and no npm on PATH")
    (folder / "package.json").write_text("{}")
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", package]
    if subprocess.run(install, cwd=folder, capture_output=True, timeout=240).returncode:
        pytest.skip(f"the static site is not tried: npm cannot install {package} here")
    return live_page.find_litert_js(folder)


@pytest.fixture(scope="module")
def site(litert_js, tmp_path_factory):
    """A static site of the random model."""
    out = tmp_path_factory.mktemp("site") / "live"
    finished = call_verb(
        *("view", "--live", random_export()[1], "--out", out, "--litert-js", litert_js)
    )
    assert finished.status == 0, finished.err
    assert re.search(r"\d+\.\d MB in all, of which a visitor loads \d+\.\d MB", finished.out)
    return out


@contextlib.contextmanager
def hosted(folder):
    """A static host for a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_port}/"
        host.shutdown()


ANSWERS = """
window.answers = null;
(async (texts) => {
  const found = [];
  for (const text of texts) {
    const a = await attentionPage.answer(text);
    found.push([a.text, a.confidence, a.logProbability, a.weights, a.targetTokens, a.sourceTokens]);
  }
  window.answers = found;
})(arguments[0]).catch((error) => { window.answers = String(error); });
"""


def answers_of(page, texts):
    page.run(ANSWERS, texts)
    wait_for(page, "window.answers", seconds=240)
    return page.run("return window.answers")


def test_200_sentences_without_a_network_are_answered_as_the_server_answers(site, browser, server):
    run, _ = random_export()
    texts = [t[:64] for t in random_texts(run.source, 195, seed=3)]
    texts += ["\0", "a\0b", "😀" * 64, "<script>", "e\u0301"]
    with hosted(site) as url:
        browser.open(url + "#language=en")
        wait_for(browser, "globalThis.attentionPage", seconds=60)
        answers_of(browser, ["ab"])  # loaded now
        names = browser.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        assert len(names) > 10 and all(name.startswith(url) for name in names)
        browser.offline(True)
        try:
            assert "TypeError" in browser.run(
                "return fetch('index.html').then(() => 'reached', (error) => String(error))"
            )
            alone = answers_of(browser, texts)
            assert isinstance(alone, list), alone
            write(browser, "ab12")
            wait_for_answer_to(browser, "ab12")
        finally:
            browser.offline(False)
        severe = [line for line in browser.log() if re.search("Content.Security.Policy", line)]
        assert severe == []
    browser.open(server.url)
    wait_for(browser, "globalThis.attentionPage")
    served = answers_of(browser, texts)
    for ours, theirs in zip(alone, served, strict=True):
        assert ours[0] == theirs[0] and ours[4:] == theirs[4:]
        np.testing.assert_allclose(ours[1:3], theirs[1:3], atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(ours[3], theirs[3], atol=1e-4)


def test_the_site_warns_of_a_text_that_is_too_long(site, browser):
    with hosted(site) as url:
        browser.open(url + "#language=en")
        wait_for(browser, "globalThis.attentionPage", seconds=60)
        write(browser, "a" * 65)
        wait_for(browser, "document.getElementById('notice').textContent.includes('at most 64')")


@pytest.mark.slow
def test_a_word_level_site_is_answered_as_the_server_answers(litert_js, browser, tmp_path):
    run, export = random_export(tokens=("word", "word"))
    out = tmp_path / "live"
    arguments = ("view", "--live", export, "--out", out, "--litert-js", litert_js)
    assert call_verb(*arguments).status == 0
    texts = [*random_texts(run.source, 40, seed=4), "  a \t bb\n", "", "a\u00a0bb"]
    with hosted(out) as url:
        browser.open(url)
        wait_for(browser, "globalThis.attentionPage", seconds=60)
        alone = answers_of(browser, texts)
    expected = SavedModelReader(export).translate_batch(texts)
    for ours, theirs in zip(alone, expected, strict=True):
        assert ours[0] == theirs.text and ours[5] == list(theirs.source_tokens)
        np.testing.assert_allclose(ours[3], theirs.attention_weights.tolist(), atol=1e-4)


def test_the_site_has_the_licence_of_what_it_takes_along(site):
    notice = (site / "litert-js" / "NOTICE.txt").read_text()
    assert re.search(r"@litertjs/core \d+\.\d+\.\d+, Apache-2\.0, https://", notice)
    assert "Apache License" in (site / "litert-js" / "LICENSE.txt").read_text()
    page = (site / "index.html").read_text()
    assert not re.search(r"(src|href)=\"(https?:)?//", page)


def test_a_site_is_replaced_and_nothing_else(site, litert_js, tmp_path):
    export = random_export()[1]
    before = (site / "index.html").stat().st_mtime_ns
    again = ("view", "--live", export, "--out", site, "--litert-js", litert_js)
    assert call_verb(*again).status == 0
    assert (site / "index.html").stat().st_mtime_ns > before
    other = tmp_path / "precious"
    other.mkdir()
    (other / "file").write_text("x")
    finished = call_verb("view", "--live", export, "--out", other, "--litert-js", litert_js)
    assert finished.status == 2 and "is not a live page" in finished.err
    assert [path.name for path in other.iterdir()] == ["file"]
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_without_the_npm_package_the_command_says_how_to_get_it(tmp_path):
    finished = call_verb(
        *("view", "--live", random_export()[1], "--out", tmp_path / "x", "--litert-js", tmp_path)
    )
    assert finished.status == 2
    assert finished.err.startswith("error: --litert-js: @litertjs/core is not in ")
    assert "npm install @litertjs/core@2.5.3" in finished.err
    assert not (tmp_path / "x").exists()
