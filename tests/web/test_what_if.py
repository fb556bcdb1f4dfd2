"""The what-if page: every change is answered in the browser as the reader in Python answers it."""

import json
import time

import numpy as np
import pytest

from keras_attention.engine.decoder import START, log_softmax
from keras_attention.engine.search import greedy
from keras_attention.folders.weights_folder import read_weights
from keras_attention.readers.translator import Translator
from keras_attention.web import what_if
from tests.support import chromium
from tests.support.commands import call_verb
from tests.support.texts import random_texts
from tests.support.weights import LONGEST_OUTPUT, random_weights
from tests.web.test_viewer import CONTRAST

EDITS = 200
# The other kinds of model, each with fewer edits.
KINDS = [
    {"encoder": "gru", "attention": "additive", "layers": 2},
    {"attention": "general", "attentional_layer": True, "reverse_source": True},
    {"attention": "scaled_dot", "attention_normalizer": "sparsemax", "bidirectional": False},
    {"attention_normalizer": "entmax15", "initial_state": "hidden", "reverse_source": True},
    {"tokens": ("word", "word")},
    {"tokens": ("subword", "subword")},
]


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    return random_weights(tmp_path_factory.mktemp("exports") / "export")


@pytest.fixture(scope="module")
def translator(export):
    return Translator.load(export)


@pytest.fixture(scope="module")
def browser():
    if reason := chromium.missing():
        pytest.skip(f"the page is not tried in a browser: {reason}")
    with chromium.Chromium() as running:
        yield running


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of some exports; afterwards nothing may have failed in it."""

    def open_page(models, examples=("abcde", "ab12"), order="given", fragment="", **window):
        path = tmp_path / "page.html"
        path.write_text(what_if.render(models, examples, order), encoding="utf-8")
        browser.open(f"{path.as_uri()}#language=en{fragment}", **window)
        end = time.monotonic() + 60
        while not browser.run("return Boolean(globalThis.whatIf)"):
            assert time.monotonic() < end, browser.log()
            time.sleep(0.02)
        return browser

    yield open_page
    assert browser.log() == []


@pytest.fixture(scope="module")
def model(export):
    return what_if.read_model(export)


def text_of(page, selector):
    return page.run("return document.querySelector(arguments[0])?.textContent", selector)


def texts_of(page, selector):
    return page.run(
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
    )


def random_edits(target, translator, text, rng):
    """Edits as `Translator.what_if` takes them: any mixture of prefix, masks and weights."""
    count = len(translator.translate([text])[0].source_tokens)
    places = list(range(count))
    edits = {"prefix": "", "hidden": [], "erased": [], "weights": "own", "rows": {}}
    if rng.random() < 0.4:
        tokens = rng.choice(target.tokens, rng.integers(1, 4)).tolist()
        edits["prefix"] = target.join(tokens)
    if rng.random() < 0.4:
        edits["hidden"] = [p for p in places if rng.random() < 0.25]
    if rng.random() < 0.3:
        edits["erased"] = [p for p in places if rng.random() < 0.2]
    kind = rng.integers(3)
    if kind == 1:
        edits["weights"] = "uniform"
    if kind == 2:
        edits["weights"] = rng.permutation(count).tolist()
    if rng.random() < 0.5:
        for step in rng.choice(LONGEST_OUTPUT, 2, replace=False).tolist():
            edits["rows"][step] = rng.dirichlet(np.full(count, 0.4)).tolist()
    return edits


ANSWER = """
const [{ model }] = whatIf.models;
return arguments[0].map(([text, edits]) => {
  const prefix = model.target.split(edits.prefix);
  const found = whatIf.decode(model, text, { ...edits, prefix });
  const { text: said, sourceTokens, targetTokens, logProbability, confidence, weights } = found;
  return [said, sourceTokens, targetTokens, logProbability, confidence, weights];
});
"""


def assert_answered_alike(page, export, n, seed):
    rng = np.random.default_rng(seed)
    exported, translator = read_weights(export), Translator.load(export)
    asked = [
        (text, random_edits(exported.target, translator, text, rng))
        for text in random_texts(exported.source, n, seed=seed)
    ]
    found = page.run(ANSWER, [[text, edits] for text, edits in asked])
    changed = 0
    for (text, edits), ours in zip(asked, found, strict=True):
        theirs = translator.what_if(text, **edits)
        said = json.dumps([text, edits])
        assert ours[0] == theirs.text, said
        assert ours[1:3] == [list(theirs.source_tokens), list(theirs.target_tokens)], said
        np.testing.assert_allclose(ours[3], theirs.log_probability, atol=2e-4, err_msg=said)
        np.testing.assert_allclose(ours[4], theirs.confidence, atol=1e-4, err_msg=said)
        weights = np.array(ours[5]).reshape(theirs.attention_weights.shape)
        np.testing.assert_allclose(weights, theirs.attention_weights, atol=1e-4, err_msg=said)
        changed += theirs.text != translator.translate([text])[0].text
    assert changed > n / 2, "edits that change nothing show nothing"


def test_200_edits_are_answered_as_the_reader_in_python_answers(opened, model, export):
    assert_answered_alike(opened([model]), export, EDITS, seed=1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_other_kinds_of_model_are_answered_alike(opened, kind, tmp_path):
    export = random_weights(tmp_path / "export", **kind)
    page = opened([what_if.read_model(export)], ["a"])
    assert_answered_alike(page, export, 40, seed=2)


@pytest.mark.parametrize("width", [1, 3, 6])
def test_the_beam_finds_what_the_reader_finds(opened, model, translator, width):
    page = opened([model])
    page.run(
        "const box = document.querySelector('.beam input'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'))",
        width,
    )
    best = translator.translate(["abcde"], beam_width=width)[0]
    expected = [best.text, *(other.text for other in best.alternatives)]
    assert texts_of(page, ".found bdi") == [text or "(an empty answer)" for text in expected]
    # The tree holds every token of the best answer, and its end where there was one.
    drawn = texts_of(page, ".node.best text")
    assert len(drawn) in (len(best.target_tokens), len(best.target_tokens) + 1)
    assert texts_of(page, ".tree svg") and page.run(
        "return document.querySelector('.tree svg').getAttribute('aria-label')"
    ).startswith(f"Tree of the beam: {width} answers, the best of them ")


def suspicion_in_python(model, source, text):
    """By the definition of `search.js`, from the steps of the answer with rotated weights."""
    ids = source.encode([text]).flat[None].astype(np.int64)
    width = ids.shape[1]

    def steps(turn, answer):
        progress = model.start(ids, np.array([width]), 1)
        outputs, largest = [], []
        for token in [START, *answer][:-1]:
            logits, weights = progress.advance(
                np.array([token]), lambda scores, normalise: np.roll(normalise(scores), -turn, -1)
            )
            outputs.append(np.exp(log_softmax(logits)[0]))
            largest.append(weights.max())
        return np.array(outputs), np.array(largest)

    decoded = greedy(model, ids, np.array([width]))
    answer = decoded.token_ids[0, 0, : decoded.lengths[0, 0]].tolist()
    outputs, largest = steps(0, answer)
    others = [steps(turn, answer)[0] for turn in range(1, width)]
    moved = [np.abs(outputs - other).sum(axis=-1) / 2 for other in others]
    return (largest * (1 - np.median(moved, axis=0))).mean()


def test_examples_are_sorted_by_suspicious_attention(opened, model, export):
    exported = read_weights(export)
    texts = [t for t in random_texts(exported.source, 12, seed=5) if len(t) > 1]
    page = opened([model], texts, order="suspicious")
    expected = {t: suspicion_in_python(exported.models[0], exported.source, t) for t in texts}
    found = page.run("return whatIf.examples.map((e) => [e.text, e.suspicious])")
    for text, value in found:
        assert value == pytest.approx(expected[text], abs=1e-3)
    listed = page.run(
        "return [...document.querySelectorAll('#list .source')].map((e) => e.textContent)"
    )
    values = [expected[text] for text in listed]
    assert values == sorted(values, reverse=True) and values[0] - values[-1] > 0.05
    assert page.run("return document.getElementById('text').value") == listed[0]


# ---------------------------------------------------------------- hands on


def answer_of(page):
    return text_of(page, ".model .answer")


def test_it_opens_on_an_answered_example(opened, model, translator):
    page = opened([model])
    expected = translator.translate(["abcde"])[0]
    assert answer_of(page) == expected.text
    assert text_of(page, ".before") == "nothing is changed yet"
    assert len(texts_of(page, ".steps tbody tr")) in (len(expected.text), len(expected.text) + 1)
    assert page.run("return document.querySelectorAll('.cell').length") > 0


def test_a_weight_is_moved_with_the_keyboard(opened, model, translator):
    page = opened([model])
    page.run("document.querySelector('.attention-heatmap').focus()")
    page.press("Home", "ArrowDown")  # the first column of the second row
    page.run("document.querySelector('.mover input').focus()")
    page.press("End")
    assert text_of(page, ".amount") == "1.00"
    asked = translator.what_if("abcde", rows={1: [1.0, 0, 0, 0, 0]})
    assert answer_of(page) == asked.text
    assert texts_of(page, ".steps .mark") == ["moved by hand"]
    page.press("Home")  # nobody has a share, so what is left is shared alike
    asked = translator.what_if("abcde", rows={1: [0, 0.25, 0.25, 0.25, 0.25]})
    assert answer_of(page) == asked.text
    page.run("document.querySelector('.mover button').click()")
    assert text_of(page, ".before") == "nothing is changed yet"


def test_the_other_weights_keep_their_proportions(opened, model, translator):
    own = translator.what_if("abcde").attention_weights[0]
    page = opened([model])
    page.run(
        "const host = document.querySelector('.attention-heatmap'); host.focus();"
        "const box = document.querySelectorAll('.mover select')[1]; box.selectedIndex = 1;"
        "box.dispatchEvent(new Event('change'));"
        "const s = document.querySelector('.mover input'); s.value = 0.5;"
        "s.dispatchEvent(new Event('input'))"
    )
    said = dict(page.run("return [...new URLSearchParams(location.hash.slice(1))]"))
    row = np.array([float(part) for part in said["row.0.0"].split(",")])
    others = np.delete(own, 1)
    np.testing.assert_allclose(np.delete(row, 1), 0.5 * others / others.sum(), atol=2e-4)
    assert row[1] == pytest.approx(0.5)


def test_tokens_are_hidden_and_made_unknown(opened, model, translator):
    page = opened([model])
    page.run("document.querySelectorAll('#tokens button')[2].click()")
    assert answer_of(page) == translator.what_if("abcde", hidden=[2]).text
    label = "return document.querySelectorAll('#tokens button')[2].getAttribute('aria-label')"
    assert page.run(label) == "3 c, hidden from attention"
    page.run("document.querySelector('#ways [value=erased]').click()")
    page.run("document.querySelectorAll('#tokens button')[2].click()")
    assert answer_of(page) == translator.what_if("abcde", erased=[2]).text
    assert page.run(label) == "3 c, unknown to the encoder"
    page.run("document.getElementById('undo').click()")
    assert answer_of(page) == translator.what_if("abcde").text
    assert page.run(label) == "3 c"


def test_a_beginning_is_forced_and_an_impossible_one_is_named(opened, model, translator):
    page = opened([model])
    page.run("document.getElementById('prefix').focus()")
    page.press("e", "a")
    assert answer_of(page) == translator.what_if("abcde", prefix="ea").text
    assert texts_of(page, ".steps .mark") == ["given", "given"]
    page.press("x")
    assert text_of(page, "#notice") == "The model cannot say x."
    assert answer_of(page) == translator.what_if("abcde").text
    page.press("Backspace", *"aaaaaaaa")
    assert text_of(page, "#notice") == "The beginning must be shorter than 9 tokens."


def test_a_link_shows_the_same_again(opened, model, translator):
    fragment = "&text=ab12a&prefix=e&hidden=1&erased=0.3&weights=uniform&row.0.2=0,0,1,0,0"
    page = opened([model], fragment=fragment)
    edits = {"prefix": "e", "hidden": [1], "erased": [0, 3], "weights": "uniform"}
    expected = translator.what_if("ab12a", rows={2: [0, 0, 1, 0, 0]}, **edits)
    assert answer_of(page) == expected.text
    assert page.run("return document.getElementById('prefix').value") == "e"
    said = page.run("return location.hash")
    page.run("document.querySelector('[data-language=ko]').click()")
    assert page.run("return location.hash") == said.replace("language=en", "language=ko")
    assert answer_of(page) == expected.text


def test_the_list_is_walked_with_the_keyboard(opened, model):
    page = opened([model])
    page.run("document.getElementById('list').focus()")
    page.press("ArrowDown")
    assert page.run("return document.getElementById('text').value") == "ab12"
    chosen = page.run(
        "return document.getElementById('list').getAttribute('aria-activedescendant')"
    )
    assert chosen == "example-1"
    assert text_of(page, "#list [aria-selected=true] .source") == "ab12"


def test_two_models_answer_side_by_side(opened, model, translator, tmp_path):
    kind = {"encoder": "gru", "attention": "additive", "layers": 2}
    other = random_weights(tmp_path / "other", seed=1, **kind)
    models = [model, ("other", what_if.read_model(other)[1])]
    page = opened(models, width=1600, fragment="&text=abcde&hidden=0")
    expected = [
        asked.what_if("abcde", hidden=[0]).text for asked in (translator, Translator.load(other))
    ]
    assert texts_of(page, ".model .answer") == expected and expected[0] != expected[1]
    assert texts_of(page, ".model h2") == ["random", "other"]
    tops = page.run(
        "return [...document.querySelectorAll('.model')].map((e) => e.getBoundingClientRect().top)"
    )
    assert tops[0] == tops[1]


@pytest.mark.parametrize("text", ["", "ж", "<b>&amp;", "😀" * 30, "é"])
def test_any_text_is_answered(opened, model, translator, text):
    page = opened([model])
    page.run(
        "const b = document.getElementById('text'); b.value = arguments[0];"
        "b.dispatchEvent(new InputEvent('input'))",
        text,
    )
    expected = translator.what_if(text).text
    assert answer_of(page) == (expected or "(an empty answer)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_the_window_and_can_be_read(opened, model, width, scheme):
    page = opened([model], width=width, scheme=scheme, fragment="&text=abcde&hidden=0&erased=1")
    assert page.run("return document.documentElement.scrollWidth") == width
    found = page.run(CONTRAST)
    assert len(found) > 40
    assert [pair for pair in found if pair[0] < 4.5] == []


def test_nothing_is_named_without_a_name(opened, model):
    page = opened([model])
    unnamed = page.run(
        "return [...document.querySelectorAll('input, select, button, [tabindex]')].filter((e) =>"
        " !(e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label')))"
        ".map((e) => e.outerHTML)"
    )
    assert unnamed == []


# ---------------------------------------------------------------- the command


def test_the_command_writes_a_page_that_asks_for_nothing(export, tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("abcde\ta\nab12\tb\n", encoding="utf-8")
    out = tmp_path / "page.html"
    arguments = ("view", export, data, "--what-if", "--beside", export, "--out", out)
    finished = call_verb(*arguments)
    assert finished.status == 0 and finished.out == f"{out}\n", finished.err
    page = out.read_text(encoding="utf-8")
    assert page.count('"weights":') == 2 and '"order":"suspicious"' in page
    assert "abcde" in page and "<script src" not in page and '<link rel="stylesheet"' not in page


def test_bad_input_is_one_line_and_writes_nothing(export, tmp_path):
    out = tmp_path / "page.html"
    plain = random_weights(tmp_path / "plain", attention="peeky")
    ensemble = random_weights(tmp_path / "ensemble", members=2)
    for arguments, said in (
        ((tmp_path, "--what-if"), "no manifest.json"),
        ((plain, "--what-if"), "without attention"),
        ((ensemble, "--what-if"), "holds an ensemble"),
        ((export, "--text", "a", "--beside", export), "--beside: "),
        ((export, "--what-if", "--examples", "0"), "--examples: must be at least 1"),
    ):
        finished = call_verb("view", *arguments, "--out", out)
        assert finished.status == 2 and finished.err.count("\n") == 1, finished.err
        assert said in finished.err
        assert not out.exists()
