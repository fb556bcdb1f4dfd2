"""The attention page: its text here, and what a reader sees and does in headless Chromium."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
import types

import numpy as np
import pytest

from keras_attention.errors import UserError
from keras_attention.plots.attention_map import row_entropy
from keras_attention.plots.visible_label import visible_label
from keras_attention.web import viewer
from tests.support.browser import BROWSERS, opened_browser

SOURCE, TARGET = "SEPTEMBER 27, 1994", "1994-09-27"
LOOKS_AT = [14, 15, 16, 17, 13, 1, 3, 9, 10, 11]

HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "<!--",
    "-->",
    "]]>",
    "&amp;",
    "\"'`",
    "$x_$",
    "${x}",
    "{{data}}",
    r"\frac{\u003c",
    "שלום",
    "سلام",
    "e\u0301",
    "\u0301",
    "\t",
    "\n",
    "a b",
    "\0",
    "\u200b",
    "\u200d",
    "\ufe0f",
    "\u202e",
    "\u2028",
    "\ud800",
    "\U0001f469\u200d\U0001f467",
    "__proto__",
    "constructor",
    "",
    " ",
    "long" * 40,
]


def sharp(rows, columns, where, weight=0.9):
    weights = np.full((rows, columns), (1 - weight) / max(columns, 1))
    if not weights.size:
        return weights
    weights[np.arange(rows), where] += weight
    return weights


def date_example(**changes):
    weights = sharp(10, 18, LOOKS_AT)
    weights[5] = 0
    weights[5, [0, 1]] = 0.25, 0.75
    fields = {
        "source_tokens": tuple(SOURCE),
        "target_tokens": tuple(TARGET),
        "attention_weights": weights.astype(np.float32),
        "text": TARGET,
        "expected": TARGET,
        "log_probability": -0.0101,
        "confidence": 0.98765,
    }
    return fields | changes


def short_example(source, target, **changes):
    weights = sharp(len(target), len(source), [0] * len(target))
    plain = {"text": "".join(target), "expected": None, "log_probability": None, "confidence": None}
    tokens = {"source_tokens": list(source), "target_tokens": list(target)}
    return tokens | {"attention_weights": weights} | plain | changes


def link_of(source, target, sure):
    return types.SimpleNamespace(source=source, target=target, sure=sure)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*)</script>', page)[1])


# --- the text of the page


def test_200_date_examples_take_far_less_than_two_megabytes():
    assert len(viewer.render([date_example()] * 200)) < 300_000


def test_200_examples_of_60_by_60_take_less_than_two_megabytes():
    tokens = ["가"] * 60
    weights = np.full((60, 60), 1 / 60)
    example = date_example(source_tokens=tokens, target_tokens=tokens, attention_weights=weights)
    assert len(viewer.render([example] * 200).encode()) < 2_000_000


def test_weights_are_kept_to_one_part_in_255():
    weights = np.random.default_rng(5).dirichlet(np.ones(7), size=4)
    page = viewer.render([short_example("abcdefg", "wxyz", attention_weights=weights)])
    (example,) = data_of(page)["examples"]
    kept = np.frombuffer(base64.b64decode(example["weights"]), np.uint8).reshape(4, 7) / 255
    np.testing.assert_allclose(kept, weights, atol=0.5 / 255)
    assert example["entropy"] == pytest.approx(row_entropy(weights).mean(), abs=1e-4)


def test_mappings_and_objects_give_the_same_page():
    example = date_example()
    assert viewer.render([example]) == viewer.render([types.SimpleNamespace(**example)])


def test_what_is_unknown_may_be_missing_or_not_a_number():
    example = short_example("ab", "x", confidence=float("nan"), log_probability=float("-inf"))
    del example["expected"], example["text"]
    (packed,) = data_of(viewer.render([example]))["examples"]
    unknown = ("expected", "confidence", "log_probability")
    assert [packed[name] for name in unknown] == [None] * 3
    assert packed["source"] == "ab" and packed["text"] == "x"


def test_words_are_joined_by_spaces_and_characters_directly():
    assert viewer.joined(["le", "chat"]) == "le chat"
    assert viewer.joined(["9", "월", " ", ""]) == "9월 "


def test_a_model_without_attention_is_the_users_mistake():
    with pytest.raises(UserError, match="no attention"):
        viewer.render([short_example("ab", "x", attention_weights=None)])


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        viewer.render([short_example("ab", "x", attention_weights=np.ones((2, 1)))])


def test_the_page_holds_everything_and_names_no_other_place():
    page = viewer.render([date_example()], "title")
    assert re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]+)""", page) == ["data:,"]
    assert not re.search(r"@import|url\(|fetch\(|\bimport\b|XMLHttpRequest|WebSocket", page)
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_this_script_and_nothing_else():
    page = viewer.render([date_example()])
    script = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in page


def test_hostile_text_cannot_leave_its_place():
    example = short_example(HOSTILE, HOSTILE, text="</script>" + "".join(HOSTILE))
    page = viewer.render([example], title="</title><script>&{{data}}\ud800")
    page.encode("utf-8")
    data = page.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&") & set(data)
    assert json.loads(data)["examples"][0]["source_tokens"] == HOSTILE
    assert page.count("<script") == page.count("</script>") == 2
    assert "&lt;/title&gt;&lt;script&gt;&amp;{{data}}" in page


def test_assets_never_write_markup():
    for name in ("attention-view.js", "viewer.js"):
        script = viewer.asset(name)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
        assert "</script" not in script and "<!--" not in script


def test_the_page_is_the_same_every_time():
    assert viewer.render([date_example()], "t") == viewer.render([date_example()], "t")


def test_rendering_needs_neither_tensorflow_nor_matplotlib():
    program = (
        "import sys, numpy, keras_attention.web.viewer as v\n"
        "v.render([dict(source_tokens='a', target_tokens='b', attention_weights=[[1.0]])])\n"
        "print([m for m in ('tensorflow', 'keras', 'matplotlib') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr


# --- in the browser


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request):
    yield from opened_browser(request.param)


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page of examples; afterwards nothing may have failed in it, or gone anywhere."""

    def open_page(examples, title="Attention", at="", **window):
        path = tmp_path / "page.html"
        path.write_bytes(viewer.render(examples, title).encode("utf-8"))
        browser.open(f"{path.as_uri()}{at}", **window)
        return browser

    yield open_page
    assert browser.log() == []
    assert browser.run("return window.pwned ?? null") is None
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def texts(browser, selector):
    return browser.run(
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
    )


def labels(browser, selector):
    """Full labels: where a drawn one is shortened, its tooltip has all of it."""
    return texts(browser, f"{selector} title")


def activated(browser, host):
    """What a screen reader reads on the element `host`: its active descendant."""
    return browser.run(
        "const e = document.getElementById(document.querySelector(arguments[0])"
        ".getAttribute('aria-activedescendant'));"
        "return e && (e.getAttribute('aria-label') ?? e.textContent);",
        host,
    )


def test_every_weight_has_its_cell_and_every_token_its_label(opened):
    page = opened([date_example()])
    assert labels(page, ".top.labels") == [visible_label(c) for c in SOURCE]
    assert labels(page, ".left.labels") == list(TARGET)
    cells = page.run(
        "return [...document.querySelectorAll('.cell')].map((c) => [+c.dataset.row,"
        " +c.dataset.column, parseFloat(c.style.getPropertyValue('--weight')),"
        " c.getBoundingClientRect().x, c.getBoundingClientRect().y])"
    )
    drawn = np.zeros((10, 18))
    for row, column, percent, _, _ in cells:
        drawn[row, column] = percent / 100
    np.testing.assert_allclose(drawn, date_example()["attention_weights"], atol=0.006)
    places = {(row, column): (x, y) for row, column, _, x, y in cells}
    assert places[0, 14][0] < places[1, 15][0] and places[0, 14][1] < places[1, 15][1]


def test_cells_and_labels_stand_in_line(opened):
    page = opened([date_example()])
    middles = page.run(
        "const m = (e) => { const b = e.getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2] };"
        'return [m(document.querySelector(\'.cell[data-row="9"][data-column="11"]\')),'
        " m(document.querySelectorAll('.top.labels text')[11]),"
        " m(document.querySelectorAll('.left.labels text')[9])]"
    )
    cell, column_label, row_label = middles
    assert abs(cell[0] - column_label[0]) < 2 and abs(cell[1] - row_label[1]) < 4


def test_colours_darken_with_the_weight_and_lighten_in_the_dark(opened):
    weights = np.array([[0.02, 0.1, 0.2, 0.3, 0.38]])
    example = short_example("abcde", "x", attention_weights=weights)
    script = (
        "return [...document.querySelectorAll('.cell')].map((c) => {"
        " const x = document.createElement('canvas').getContext('2d');"
        " x.fillStyle = getComputedStyle(c).fill; x.fillRect(0, 0, 1, 1);"
        " const [r, g, b] = x.getImageData(0, 0, 1, 1).data; return 2*r + 7*g + b })"
    )
    light = opened([example]).run(script)
    dark = opened([example], scheme="dark").run(script)
    assert light == sorted(light, reverse=True) and light[0] > light[-1] + 400
    assert dark == sorted(dark) and dark[-1] > dark[0] + 400


def test_a_lone_sign_stands_whatever_its_units_of_utf_16(opened):
    tokens = ["𠮷", "😀", "e\u0301", "a", "가"] * 8
    page = opened([short_example(tokens, "x")], width=390)
    assert turned(page) == []
    words = ["𠮷", "comparison", "😀", "is"]
    assert turned(opened([short_example(words, "x")])) == ["comparison", "is"]


def turned(page):
    return page.run(
        "return [...document.querySelectorAll('.top.labels text[transform]')]"
        ".map((e) => e.querySelector('title').textContent)"
    )


def test_pointing_at_a_cell_shows_it_in_words_and_in_both_drawings(opened):
    page = opened([date_example()])
    page.point(".cells", 1.5 / 18, 5.5 / 10)
    assert texts(page, ".readout-title") == ["0 looks at E: 0.75"]
    assert texts(page, ".readout-list li") == ["E20.75", "S10.25"]
    assert "entropy 0.81 bits" in texts(page, ".attention-readout .hint")[0]
    assert texts(page, ".labels text.active title") == ["E", "0"]
    assert labels(page, ".token.active") == ["E", "0"]
    assert len(texts(page, ".line.active")) == 2
    page.point("h1")
    assert "Point at a token" in texts(page, ".attention-readout")[0]
    assert texts(page, ".labels text.active") == []


def test_pointing_at_a_token_shows_its_lines(opened):
    page = opened([date_example()])
    page.point('.token[data-side="source"][data-index="14"] rect')
    assert "1 (source 15 of 18) is looked at by" in texts(page, ".readout-title")[0]
    assert len(texts(page, ".line.active")) == 1
    page.point('.token[data-side="target"][data-index="5"] rect')
    assert "0 (target 6 of 10) looks at" in texts(page, ".readout-title")[0]
    assert len(texts(page, ".line.active")) == 2


def test_a_click_stays_when_the_pointer_leaves(opened):
    page = opened([date_example()])
    page.point(".cells", 1.5 / 18, 5.5 / 10, click=True)
    page.point("h1")
    assert texts(page, ".readout-title") == ["0 looks at E: 0.75"]


def test_the_heatmap_is_walked_with_keys(opened):
    page = opened([date_example()])
    page.run("document.querySelector('.attention-heatmap').focus()")
    page.press("ArrowDown")
    assert activated(page, ".attention-heatmap") == (
        "target 1, row 1, looks at source S, column 1: <0.01"
    )
    page.press(*["ArrowDown"] * 5, "ArrowRight")
    assert activated(page, ".attention-heatmap") == (
        "target 0, row 6, looks at source E, column 2: 0.75"
    )
    page.press("End")
    assert "column 18" in activated(page, ".attention-heatmap")
    page.press("ArrowRight", *["ArrowDown"] * 20)
    assert "target 7, row 10, looks at source 4, column 18" in activated(page, ".attention-heatmap")
    page.press("Escape")
    assert activated(page, ".attention-heatmap") is None
    assert "Point at a token" in texts(page, ".attention-readout")[0]


def test_the_lines_are_walked_with_keys(opened):
    page = opened([date_example()])
    page.run("document.querySelector('.attention-lines').focus()")
    page.press("ArrowRight", *["ArrowRight"] * 5)
    assert activated(page, ".attention-lines") == "target 0, 6 of 10, looks at E 0.75, S 0.25"
    page.press("ArrowUp")
    assert activated(page, ".attention-lines") == "source E, 2 of 18, looked at by 0 0.75"
    page.press("ArrowRight", "ArrowRight", "ArrowDown")
    assert "target 9, 7 of 10, looks at T 0.91" in activated(page, ".attention-lines")
    page.press("Home")
    assert "target 1, 1 of 10" in activated(page, ".attention-lines")
    assert texts(page, '.token[aria-selected="true"] title') == ["1"]
    page.press("Escape")
    assert activated(page, ".attention-lines") is None


def test_everything_is_reached_with_the_tab_key(opened):
    page = opened([date_example()])
    reached = []
    for _ in range(6):
        page.press("Tab")
        reached.append(
            page.run("const e = document.activeElement; return e.id || e.getAttribute('role')")
        )
    assert reached == ["filter", "show", "order", "list", "listbox", "grid"]


def examples_to_search():
    return [
        date_example(),
        short_example("1994년 9월 27일", "1994-09-27", expected="1994-09-27", confidence=0.5),
        short_example("May 3, 1990", "1990-05-08", expected="1990-05-03", confidence=0.25),
        short_example("ＭＡＹ 4", "1990-05-04", expected="1990-05-04", confidence=0.75),
    ]


def test_typing_filters_by_source_answer_and_expected(opened):
    page = opened(examples_to_search())
    assert texts(page, "#count") == ["4 examples"]
    assert texts(page, "#summary") == ["3 of 4 right"]
    for words, found in [
        ("may", ["May 3, 1990", "ＭＡＹ 4"]),
        ("9월", ["1994년 9월 27일"]),
        ("05-03", ["May 3, 1990"]),
        ("1994 sept", [SOURCE]),
        ("no such thing", []),
    ]:
        page.run("const f = document.getElementById('filter'); f.value = ''; f.focus()")
        page.press(words)
        assert texts(page, "#list .source") == found
        assert texts(page, "#count") == [f"{len(found)} of 4 examples"]
        if found:
            assert texts(page, "h2") == found[:1], "the first found is shown"


def test_arrows_in_the_filter_and_in_the_list_go_from_example_to_example(opened):
    page = opened(examples_to_search())
    page.press("/", "ArrowDown")
    assert texts(page, "h2") == ["1994년 9월 27일"]
    page.press("Tab", "Tab", "Tab", "ArrowDown")
    assert texts(page, "h2") == ["May 3, 1990"]
    assert activated(page, "#list").startswith("May 3, 1990")
    assert texts(page, '#list [aria-selected="true"] .source') == ["May 3, 1990"]
    page.press("End", "ArrowDown")
    assert texts(page, "h2") == ["ＭＡＹ 4"]
    assert page.run("return location.hash") == "#4"


def test_right_and_wrong_are_told_in_words(opened):
    page = opened(examples_to_search(), at="#3")
    assert texts(page, ".detail .answer") == ["→ 1990-05-08 ✗ wrong"]
    assert texts(page, ".expected") == ["expected 1990-05-03"]
    assert page.run(
        "return [...document.querySelectorAll('#list .sign')].map((e) => e.ariaLabel)"
    ) == ["right", "right", "wrong", "right"]
    page.run(
        "const s = document.getElementById('show'); s.value = 'right';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert texts(page, "#count") == ["3 of 4 examples"]
    assert texts(page, ".detail .badge") == ["✓ right"]


def test_the_figures_of_an_example(opened):
    page = opened([date_example()])
    entropy = row_entropy(date_example()["attention_weights"].astype(np.float64)).mean()
    assert texts(page, "dt") == ["confidence", "log probability", "mean entropy", "tokens"]
    assert texts(page, "dd") == ["0.9877", "-0.0101", f"{entropy:.2f} bits", "18 → 10"]


def test_what_is_unknown_is_left_out(opened):
    page = opened([short_example("ab", "x")])
    assert texts(page, "dt") == ["mean entropy", "tokens"]
    assert texts(page, ".badge") == texts(page, ".sign") == []
    assert page.run("return document.getElementById('show').hidden") is True


def test_the_least_confident_come_first_if_asked(opened):
    page = opened(examples_to_search())
    page.run(
        "const s = document.getElementById('order'); s.value = 'confidence';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert texts(page, "#list .source") == ["May 3, 1990", "1994년 9월 27일", "ＭＡＹ 4", SOURCE]


def test_hostile_text_is_shown_and_does_nothing(opened):
    count = len(HOSTILE)
    example = short_example(
        HOSTILE, HOSTILE, attention_weights=np.eye(count), text="".join(HOSTILE), expected="<b>"
    )
    page = opened([example], title="<b>bold</b> {{script}}")
    wanted = [visible_label(token) for token in HOSTILE]
    assert labels(page, ".top.labels") == labels(page, ".left.labels") == wanted
    assert labels(page, '.token[data-side="source"]') == wanted
    assert labels(page, '.token[data-side="target"]') == wanted
    assert texts(page, "h1") == ["<b>bold</b> {{script}}"]
    assert "<img src=x" in texts(page, "h2")[0] and "U+202E" in texts(page, "h2")[0]
    page.run("AttentionView.mount(document.getElementById('view'))")
    assert page.run("return document.querySelectorAll('img, b').length") == 0
    page.point(".token rect")
    page.point(".cells")


def test_a_script_that_got_in_all_the_same_would_not_run(browser, tmp_path):
    path = tmp_path / "page.html"
    page = viewer.render([date_example()])
    path.write_text(page.replace("<main", "<script>window.pwned = 1</script><main"))
    browser.open(path.as_uri())
    assert browser.run("return window.pwned ?? null") is None
    assert any(re.search("Content.Security.Policy", line) for line in browser.log())
    assert texts(browser, "h2") == [SOURCE], "and ours still does"


def test_labels_in_the_page_are_those_of_the_figures(opened):
    others = [
        "\u202f",
        "\ue000",
        "\U0010ffff",
        "\u1100\u1161",
        "각",
        "🏳️",
        *map(chr, range(0x20, 0x180)),
    ]
    # A lone surrogate cannot be sent like this; the page of hostile text has one.
    tokens = [token for token in HOSTILE if token != "\ud800"] + others
    found = opened([]).run("return arguments[0].map(AttentionView.visibleLabel)", tokens)
    assert found == [visible_label(token) for token in tokens]


def test_entropy_in_the_page_is_that_of_python(opened):
    rows = np.random.default_rng(3).dirichlet(np.full(9, 0.3), size=6)
    rows[0] = np.eye(9)[4]
    found = opened([]).run("return arguments[0].map(AttentionView.entropy)", rows.tolist())
    np.testing.assert_allclose(found, row_entropy(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("source", "target", "note"),
    [
        ("", "1994", "The source is empty"),
        ("abc", "", "The answer is empty"),
        ("", "", "The source is empty"),
    ],
)
def test_empty_maps_say_so(opened, source, target, note):
    example = short_example(source, target, attention_weights=np.zeros((len(target), len(source))))
    page = opened([example, date_example()])
    assert note in texts(page, ".attention-empty")[0]
    assert texts(page, "h2") == [source or "(empty)"]
    page.run("location.hash = '#2'")
    page.run("return new Promise(requestAnimationFrame)")
    assert len(texts(page, ".token")) == 28, "and the next example is drawn again"


def test_a_page_without_examples_says_so(opened):
    page = opened([])
    assert texts(page, "#facts") == ["There are no examples."]
    assert texts(page, "#count") == ["0 examples"]


def test_300_tokens_on_both_sides_are_drawn_in_time_with_every_label(opened):
    tokens = [chr(0x61 + i % 26) for i in range(300)]
    start = time.perf_counter()
    page = opened([short_example(tokens, tokens, attention_weights=sharp(300, 300, range(300)))])
    assert labels(page, ".top.labels") == labels(page, ".left.labels") == tokens
    assert time.perf_counter() - start < 10
    page.run("document.querySelector('.attention-heatmap').focus()")
    page.press("ArrowDown", "End")
    assert "column 300" in activated(page, ".attention-heatmap")
    inside = page.run(
        "const v = document.querySelector('.attention-heatmap').getBoundingClientRect();"
        "const m = document.querySelector('.mark').getBoundingClientRect();"
        "return m.left >= v.left && m.right <= v.right + 1"
    )
    assert inside, "the active cell is scrolled into view"


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
def test_nothing_is_cut_off_at_any_width(opened, width):
    words = ["extraordinarily", "comfortable", "mat"] * 8
    examples = [
        date_example(expected="1994-09-28"),
        short_example(words, words, text="unbroken" * 40, attention_weights=np.eye(24)),
    ]
    for at in ("#1", "#2"):
        page = opened(examples, title="t" * 200, at=at, width=width, height=800)
        assert page.run("return document.documentElement.scrollWidth") <= width
        page.run("document.getElementById('view').scrollIntoView()")
        right = page.run(
            "return Math.max(...Array.from(document.querySelectorAll('.detail, .attention-lines,"
            " .attention-heatmap, .attention-readout'), (e) => e.getBoundingClientRect().right))"
        )
        assert right <= width


def test_on_a_phone_rows_of_the_list_are_large_enough_for_a_thumb(opened):
    page = opened([date_example()] * 5, width=390, height=844)
    heights = page.run(
        "return [...document.querySelectorAll('#list li, input, select')]"
        ".map((e) => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 38


def test_the_drawings_follow_the_window(opened):
    page = opened([date_example()], width=390, height=844)
    narrow = page.run("return document.querySelector('.cells').getBoundingClientRect().width")
    page.resize(1280, 844)
    page.run("return new Promise((done) => setTimeout(done, 200))")
    wide = page.run("return document.querySelector('.cells').getBoundingClientRect().width")
    assert wide > 1.3 * narrow
    page.point(".cells", 1.5 / 18, 5.5 / 10)
    assert texts(page, ".readout-title") == ["0 looks at E: 0.75"]


CONTRAST = """
const colour = (css) => {
  const x = document.createElement("canvas").getContext("2d");
  x.fillStyle = css; x.fillRect(0, 0, 1, 1);
  return [...x.getImageData(0, 0, 1, 1).data];
};
const light = (rgb) => {
  const [r, g, b] = rgb.map((v) => (v / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const chip = e.matches(".token") ? getComputedStyle(e.querySelector("rect")).fill : null;
    const found = colour(chip ?? getComputedStyle(e).backgroundColor);
    if (found[3] === 255) return found;
  }
  return [255, 255, 255, 255];
};
return [...document.querySelectorAll("body *:not(script, noscript, title)")]
  .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .map((e) => {
    const style = getComputedStyle(e);
    const ink = light(colour(e.matches("text") ? style.fill : style.color).slice(0, 3));
    const back = light(ground(e).slice(0, 3));
    const ratio = (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
    return [Math.round(ratio * 100) / 100, e.tagName + "." + e.className + ": " + e.textContent];
  });
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(opened, scheme):
    page = opened([date_example(), date_example(expected="x")], at="#2", scheme=scheme)
    page.point(".cells", 1.5 / 18, 5.5 / 10)
    found = page.run(CONTRAST)
    assert len(found) > 60
    assert [pair for pair in found if pair[0] < 4.5] == []


def test_roles_and_names(opened):
    page = opened([date_example()])
    named = page.run(
        "return [...document.querySelectorAll('[role=grid], [role=listbox], input, select, nav')]"
        ".map((e) => e.getAttribute('aria-label'))"
    )
    assert all(named) and len(named) == 7
    grid = page.run(
        "const g = document.querySelector('[role=grid]');"
        "return [g.ariaRowCount, g.ariaColCount, g.tabIndex]"
    )
    assert grid == ["10", "18", 0]
    assert page.run("return document.documentElement.lang") == "en"


def test_gold_links_are_outlined(opened):
    links = [types.SimpleNamespace(source=14, target=0, sure=True)]
    links.append(types.SimpleNamespace(source=0, target=5, sure=False))
    page = opened([date_example(links=links)])
    found = page.run(
        "return [...document.querySelectorAll('.gold')].map((e) => [e.classList.contains('sure'),"
        " getComputedStyle(e).strokeDasharray])"
    )
    assert found == [[True, "none"], [False, "2.5px, 2px"]]
    visible = "return getComputedStyle(document.querySelector('.legend-gold')).display !== 'none'"
    assert page.run(visible)
    assert not opened([date_example()]).run(visible), "no outlines, no legend for them"


def test_the_drawing_serves_any_page(opened):
    """As the live page of the server uses it: mounted in an element, shown, shown anew, removed."""
    page = opened([])
    page.run(
        "window.host = document.createElement('div'); document.body.append(window.host);"
        "window.view = AttentionView.mount(window.host);"
        "window.view.show({ sourceTokens: ['a', 'b'], targetTokens: ['x'],"
        " weights: [new Float32Array([0.25, 0.75])] });"
    )
    assert page.run("return window.host.querySelectorAll('.cell').length") == 2
    page.run("window.view.select({ row: 0, column: 1 })")
    assert texts(page, ".readout-title") == ["x looks at b: 0.75"]
    page.run(
        "window.view.show({ sourceTokens: ['c'], targetTokens: ['y', 'z'], weights: [[1], [1]] })"
    )
    assert page.run("return window.host.querySelectorAll('.cell').length") == 2
    assert texts(page, ".left.labels title") == ["y", "z"]
    error = page.run(
        "try { window.view.show({ sourceTokens: ['c'], targetTokens: ['y'], weights: [[1, 2]] }) }"
        " catch (error) { return error.message }"
    )
    assert error == "weights must have 1 rows of 1"
    page.run(
        "window.view.show({ sourceTokens: ['c'], targetTokens: [], weights: [] });"
        "window.view.select({ row: 0, column: 0 })"
    )
    assert texts(page, ".attention-empty") == ["The answer is empty."]
    page.run("window.view.destroy()")
    assert page.run("return window.host.childNodes.length") == 0
