"""Viewer, report and live page on paper: nothing is cut, and colours that mean something stay."""

import numpy as np
import pytest

from keras_attention.explanation.pages.html import render as render_report
from keras_attention.web import viewer
from tests.explanation.test_known_models import report_on
from tests.support.browser import BROWSERS, opened_browser
from tests.support.servers import shared_server
from tests.support.subjects import copier
from tests.web.test_live_page import wait_for, wait_for_answer_to
from tests.web.test_viewer import date_example, link_of, short_example

SHEET = 703  # CSS pixels of A4 between margins of 12 mm
WORDS = ["extraordinarily", "curious", "internationalisation", "of", "it"] * 12
PAGES = {
    "date": [date_example(links=[link_of(14, 0, True)], expected="1994-09-28")],
    "long": [short_example(WORDS * 2, WORDS)],
    "tall": [short_example(["a"] * 4, ["b"] * 300)],
}


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request):
    yield from opened_browser(request.param)


@pytest.fixture
def on_paper(browser):
    """Opens a page on a screen of some width, then looks at it as it is printed."""

    def open_page(url, scheme="light", width=1280, ready=None):
        browser.open(url, width=width, scheme=scheme)
        if ready:
            ready(browser)
        browser.prefer(scheme, printed=True)
        # A sheet is as wide as it is, whatever the drawings were made for.
        browser.run(
            "document.documentElement.style.width = document.body.style.width ="
            f" '{SHEET}px'; document.body.style.minWidth = 0"
        )
        return browser

    return open_page


def beyond_the_sheet(page):
    """What reaches over the right edge, or is clipped by a box that scrolls."""
    return page.run(
        "return [...document.querySelectorAll('body *')].filter((e) => {"
        "  const b = e.getBoundingClientRect();"
        "  if (!b.width || e.closest('.visually-hidden, noscript')) return false;"
        "  const s = getComputedStyle(e);"
        "  const clipped = s.overflowX !== 'visible' && !e.closest('svg, input')"
        "    && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1);"
        f"  return clipped || b.right > {SHEET} + 1; }}).map((e) => e.tagName + '.' +"
        " (e.getAttribute('class') ?? e.id) + ' ' + e.getBoundingClientRect().right)"
    )


def style_of(page, selector, name):
    return page.run(
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
        selector,
        name,
    )


def lightness(colour):
    return np.mean([int(part) for part in colour.strip("rgb()").split(",")[:3]]) / 255


@pytest.fixture
def viewer_page(tmp_path):
    def write(name):
        path = tmp_path / "page.html"
        path.write_text(viewer.render(PAGES[name]), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture(scope="module")
def report_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(report_on(copier())), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_map_of_the_viewer_is_cut(on_paper, viewer_page, name, width):
    page = on_paper(viewer_page(name), width=width)
    assert beyond_the_sheet(page) == []
    heights = page.run(
        "return [...document.querySelectorAll('.attention-lines svg, .body')]"
        ".map((e) => e.getBoundingClientRect().height)"
    )
    assert len(heights) == 2 and max(heights) < 1123 - 2 * 46  # a sheet of A4


def test_cells_and_labels_stay_in_line_on_paper(on_paper, viewer_page):
    page = on_paper(viewer_page("long"))
    distances = page.run(
        "const middle = (e) => { const b = e.getBoundingClientRect();"
        " return (b.left + b.right) / 2 };"
        "const labels = [...document.querySelectorAll('.top.labels text')].map(middle);"
        "return [...document.querySelectorAll('.cell')].map((c) =>"
        " Math.abs(middle(c) - labels[+c.dataset.column]));"
    )
    assert len(distances) > 50 and max(distances) < 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_the_viewer_are_printed_on_white(on_paper, viewer_page, scheme):
    page = on_paper(viewer_page("date"), scheme=scheme)
    for selector in (".ramp", ".badge", ".legend-gold", ".legend-entropy"):
        assert style_of(page, selector, "printColorAdjust") == "exact", selector
    assert "gradient" in style_of(page, ".ramp", "backgroundImage")
    assert lightness(style_of(page, ".badge", "backgroundColor")) > 0.85
    assert lightness(style_of(page, ".detail h2", "color")) < 0.25
    assert style_of(page, ".examples", "display") == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tables_and_bars_of_the_report_fit_and_keep_their_colours(on_paper, report_page, scheme):
    page = on_paper(report_page, scheme=scheme)
    assert beyond_the_sheet(page) == []
    for selector in (".outcome", "td.bar i", "svg.figure .accent"):
        assert style_of(page, selector, "printColorAdjust") == "exact", selector
    assert lightness(style_of(page, "h2", "color")) < 0.25
    assert lightness(style_of(page, "td.bar i", "backgroundColor")) < 0.6
    # Short words and numbers are not broken into pieces.
    assert page.run(
        "return [...document.querySelectorAll('.outcome')]"
        ".every((e) => e.getBoundingClientRect().height < 30)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page_prints_its_answer_and_not_its_buttons(on_paper, scheme):
    def ready(page):
        wait_for(page, "globalThis.attentionPage")
        wait_for_answer_to(page, "abc")

    page = on_paper(f"{shared_server().url}#language=en&text=abc", scheme=scheme, ready=ready)
    assert beyond_the_sheet(page) == []
    for selector in (".languages", "#examples", "#clear", "#link", "#history"):
        assert (
            page.run(
                "return document.querySelector(arguments[0]).getBoundingClientRect().width",
                selector,
            )
            == 0
        ), selector
    assert style_of(page, ".meter", "printColorAdjust") == "exact"
    assert lightness(style_of(page, "#answer", "color")) < 0.25


def test_a_long_map_is_one_sheet_of_pdf(browser, viewer_page):
    browser.open(viewer_page("tall"))
    content = browser.pdf()
    pages = content.count(b"/Type /Page\n") or content.count(b"/Type /Page ")
    assert content.startswith(b"%PDF") and 1 <= pages <= 3
