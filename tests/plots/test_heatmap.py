"""Figures of attention maps. Each kind of plotting bug known from public trackers has a test."""

import importlib.util
import io
import os
import subprocess
import sys
import threading
import types
import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle
from PIL import Image

from keras_attention.errors import UserError
from keras_attention.plots import figure_files, label_fonts
from keras_attention.plots.heatmap import (
    attention_colormap,
    plot_attention,
    plot_attention_grid,
    save_figure,
)
from keras_attention.plots.visible_label import visible_label
from tests.support import ROOT

SOURCE, TARGET = "SEPTEMBER 27, 1994", "1994-09-27"
LOOKS_AT = [14, 15, 16, 17, 13, 1, 3, 9, 10, 11]

HOSTILE = [
    "<script>alert(1)</script>",
    "&amp;",
    "\"'",
    "$x_$",
    "$$",
    "$",
    r"\frac{",
    "a_b^c",
    "%d{}",
    "שלום",
    "سلام",
    "e\u0301",
    "\u0301",
    "\t",
    "\n",
    "a\nb",
    "\0",
    "\u200b",
    "\u202e",
    "\ud800",
    "",
    " ",
    "--",
    "]]>",
]


def one_hot(rows, columns, where):
    weights = np.zeros((rows, columns), np.float32)
    weights[np.arange(rows), where] = 1
    return weights


def date_map():
    weights = 0.9 * one_hot(10, 18, LOOKS_AT) + 0.1 / 18
    return weights.astype(np.float32), SOURCE, TARGET


def translation(**changes):
    weights, source, target = date_map()
    fields = dict(
        attention_weights=weights, source_tokens=source, target_tokens=target, text=target
    )
    return types.SimpleNamespace(**(fields | changes))


def link(source, target, sure=True):
    return types.SimpleNamespace(source=source, target=target, sure=sure)


def cells(figure, place=0):
    (mesh,) = [c for c in figure.axes[place].collections if isinstance(c, QuadMesh)]
    return mesh


def x_labels(figure, place=0):
    return [label.get_text() for label in figure.axes[place].get_xticklabels()]


def y_labels(figure, place=0):
    return [label.get_text() for label in figure.axes[place].get_yticklabels()]


def all_texts(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def in_cell(figure, row, column, place=0):
    """Colour of the pixel in the middle of a cell."""
    picture = pixels(figure)
    x, y = figure.axes[place].transData.transform((column + 0.5, row + 0.5))
    return picture[picture.shape[0] - 1 - int(y), int(x), :3].astype(int)


# --- labels and cells


@pytest.mark.parametrize("length", [1, 2, 9, 20, 29, 30, 61, 100, 295])
def test_every_cell_has_the_label_of_its_own_token(length):
    source = [chr(0x61 + i % 26) for i in range(length)]
    target = [chr(0x41 + i % 26) for i in range(7)]
    figure = plot_attention(np.full((7, length), 1 / length), source, target)
    axes = figure.axes[0]
    assert x_labels(figure) == source and y_labels(figure) == target
    assert axes.get_xticks().tolist() == [i + 0.5 for i in range(length)]
    assert axes.get_yticks().tolist() == [i + 0.5 for i in range(7)]
    pixels(figure)  # labels that drawing changes would be wrong all the same
    assert x_labels(figure) == source and y_labels(figure) == target


def test_repeated_tokens_keep_cells_of_their_own():
    figure = plot_attention(one_hot(4, 6, [5, 1, 1, 0]), ["a"] * 6, ["b"] * 4)
    assert cells(figure).get_array().shape == (4, 6)
    assert cells(figure).get_coordinates().shape == (5, 7, 2)
    assert len(x_labels(figure)) == 6 and len(y_labels(figure)) == 4


def test_rows_are_target_and_columns_source_in_the_order_given():
    figure = plot_attention(one_hot(2, 5, [4, 0]), "abcde", "xy")
    axes = figure.axes[0]
    assert axes.get_xlabel() == "source" and axes.get_ylabel() == "target"
    dark = [(r, c) for r in range(2) for c in range(5) if in_cell(figure, r, c).sum() < 300]
    assert dark == [(0, 4), (1, 0)]
    left, right = axes.transData.transform((0.5, 0.5)), axes.transData.transform((4.5, 0.5))
    top, bottom = axes.transData.transform((0.5, 0.5)), axes.transData.transform((0.5, 1.5))
    assert left[0] < right[0], "source runs from left to right"
    assert top[1] > bottom[1], "target runs from top to bottom"


def test_swapped_axes_are_refused():
    with pytest.raises(ValueError, match="one row for each target token"):
        plot_attention(np.zeros((5, 2)), "abcde", "xy")


def test_first_and_last_cells_are_whole():
    weights, source, target = date_map()
    axes = plot_attention(weights, source, target).axes[0]
    assert np.allclose(axes.get_xlim(), (0, 18)) and np.allclose(axes.get_ylim(), (10, 0))


def test_cells_are_square():
    weights, source, target = date_map()
    axes = plot_attention(weights, source, target).axes[0]
    (x0, y0), (x1, y1) = axes.transData.transform([(0, 0), (1, 1)])
    assert abs(abs(x1 - x0) - abs(y1 - y0)) < 1e-6


def test_long_inputs_keep_labels_apart_or_announce_the_stride():
    figure = plot_attention(np.eye(600), ["ab"] * 600, [str(i % 10) for i in range(600)])
    axes = figure.axes[0]
    assert axes.get_xlabel() == "source: 600 tokens, every 3rd labelled"
    assert axes.get_xticks().tolist() == [i + 0.5 for i in range(0, 600, 3)]
    assert y_labels(figure) == [str(i % 10) for i in range(0, 600, 3)]
    assert max(figure.get_size_inches() * figure.dpi) < 5500
    for length in (60, 250):
        figure = plot_attention(np.eye(length), ["n"] * length, ["m"] * length)
        boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
        assert all(a.x1 <= b.x0 + 0.5 for a, b in zip(boxes, boxes[1:], strict=False))
        assert figure.axes[0].get_xlabel() == "source"


def test_words_are_turned_together_and_lone_characters_stand():
    def turned(tokens):
        figure = plot_attention(np.full((1, len(tokens)), 1 / len(tokens)), tokens, "x")
        drawn = figure.axes[0].get_xticklabels()
        boxes = [label.get_window_extent() for label in drawn]
        assert all(a.x1 <= b.x0 + 0.5 for a, b in zip(boxes, boxes[1:], strict=False))
        return [label.get_rotation() == 90 for label in drawn]

    assert turned(["a", "e\u0301", " "]) == [False] * 3
    assert turned(["it", "is", "a"]) == [False] * 3
    # A phrase is given columns as wide as its words; a sentence is not.
    assert turned(["it", "is", "a", "comparison"]) == [False] * 4
    many = ["it", "is", "a", "comparison"] * 4
    assert turned(many) == [True, True, False, True] * 4
    assert turned(["comparison"] * 9) == [True] * 9


def test_labels_are_turned_by_their_own_token_where_not_every_one_is_labelled():
    tokens = ["a"] * 200 + ["comparison"] * 200
    figure = plot_attention(np.full((1, 400), 1 / 400), tokens, "x")
    drawn = figure.axes[0].get_xticklabels()
    assert len(drawn) == 200
    for label in drawn:
        assert label.get_rotation() == (90 if label.get_text() == "comparison" else 0)
    boxes = [label.get_window_extent() for label in drawn]
    assert all(a.x1 <= b.x0 + 0.5 for a, b in zip(boxes, boxes[1:], strict=False))


def test_a_label_has_the_room_of_all_the_columns_it_stands_for():
    figure = plot_attention(np.full((1, 600), 1 / 600), ["M"] * 600, "x")
    drawn = figure.axes[0].get_xticklabels()
    assert len(drawn) == 200 and all(label.get_rotation() == 0 for label in drawn)
    boxes = [label.get_window_extent() for label in drawn]
    assert all(a.x1 <= b.x0 + 0.5 for a, b in zip(boxes, boxes[1:], strict=False))


def test_512_by_512_is_one_picture():
    figure = plot_attention(np.eye(512), ["x"] * 512, ["y"] * 512)
    assert len(figure_files.figure_bytes(figure, "svg")) < 2_000_000


def test_everything_lies_inside_the_figure():
    tokens = ["extraordinarily", "a", "U" * 30, "W" * 200]
    figure = plot_attention(
        np.full((2, 4), 0.25),
        tokens,
        ["internationalisation", "b"],
        title="t" * 300,
        links=[link(0, 0, sure=False)],
    )
    edge = figure.bbox
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= 0 and box.y0 >= 0, text.get_text()
            assert box.x1 <= edge.x1 and box.y1 <= edge.y1, text.get_text()


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_an_empty_map_says_so(shape):
    rows, columns = shape
    figure = plot_attention(np.zeros(shape), "abcde"[:columns], "vwxyz"[:rows])
    note = "the answer is empty" if columns else "the source is empty"
    assert any(note in text for text in all_texts(figure))
    assert x_labels(figure) == list("abcde"[:columns])
    assert y_labels(figure) == list("vwxyz"[:rows])
    assert pixels(figure).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1)])
def test_one_row_or_one_column_and_constant_weights(shape):
    figure = plot_attention(np.ones(shape), ["s"] * shape[1], ["t"] * shape[0])
    assert cells(figure).get_array().shape == shape
    assert in_cell(figure, 0, 0).sum() < 120, "1 is darkest even where every weight is 1"


# --- colours


def lightness(style):
    red, green, blue = attention_colormap(style)(np.linspace(0, 1, 101))[:, :3].T ** 2.2
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("style", "direction"), [("colour", -1), ("grey", 1)])
def test_lightness_only_rises_or_only_falls(style, direction):
    steps = np.diff(lightness(style)) * direction
    assert (steps > 0).all()
    assert abs(lightness(style)[0] - lightness(style)[-1]) > 0.85


def test_the_same_weight_has_the_same_colour_in_every_map():
    low = plot_attention(np.full((2, 2), 0.3), "ab", "xy")
    mixed = plot_attention(np.array([[0.3, 0.7], [1.0, 0.0]]), "ab", "xy")
    assert in_cell(low, 1, 1).tolist() == in_cell(mixed, 0, 0).tolist()
    assert cells(low).get_clim() == (0.0, 1.0)


def test_the_articles_look():
    figure = plot_attention(one_hot(2, 2, [0, 1]), "ab", "xy", style="grey")
    assert in_cell(figure, 0, 0).tolist() == [255] * 3
    assert in_cell(figure, 0, 1).tolist() == [0] * 3


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match="style='jet'"):
        plot_attention([[1.0]], "a", "b", style="jet")


def test_the_colour_bar_is_named_and_numbered():
    figure = plot_attention(*date_map())
    assert len(figure.axes) == 2
    assert figure.axes[1].get_ylabel() == "attention weight"
    assert y_labels(figure, 1) == ["0", "0.5", "1"]


# --- text


def test_hostile_labels_are_drawn_literally_and_none_is_lost():
    count = len(HOSTILE)
    figure = plot_attention(np.eye(count), HOSTILE, HOSTILE, title="$x_$ <b> \\frac{ \0")
    assert x_labels(figure) == y_labels(figure) == [visible_label(token) for token in HOSTILE]
    for kind in ("png", "svg", "pdf"):
        assert figure_files.figure_bytes(figure, kind)
    svg = figure_files.figure_bytes(figure, "svg")
    assert b"<script>" not in svg


def test_an_svg_stays_well_formed_with_hostile_labels():
    from xml.etree import ElementTree

    count = len(HOSTILE)
    figure = plot_attention(np.eye(count), HOSTILE, HOSTILE, title="<&\"'>--]]>")
    root = ElementTree.fromstring(figure_files.figure_bytes(figure, "svg"))
    described = root.find("{http://www.w3.org/2000/svg}desc").text
    assert "<script>alert(1)</script>" in described
    assert root.get("role") == "img"


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (" ", "␣"),
        ("a b", "a␣b"),
        ("\t", r"\t"),
        ("a\nb", r"a\nb"),
        ("\0", r"\0"),
        ("\x1b", "U+001B"),
        ("\u00a0", "⍽"),
        ("\u202f", "U+202F"),
        ("\u200b", "U+200B"),
        ("\u200d", "U+200D"),
        ("\ufe0f", "U+FE0F"),
        ("\u202e", "U+202E"),
        ("\u2028", "U+2028"),
        ("\ud800", "U+D800"),
        ("\ue000", "U+E000"),
        ("", "∅"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("$x_$", "$x_$"),
        ("\\", "\\"),
        ("년", "년"),
    ],
)
def test_visible_labels(token, label):
    assert visible_label(token) == label


def test_very_long_tokens_are_cut_in_the_middle():
    label = visible_label("a" * 500 + "b" * 500)
    assert len(label) == 48 and label.startswith("aa") and label.endswith("bb") and "…" in label


@pytest.fixture
def fresh_fonts(monkeypatch):
    """matplotlib's font list as it is, but what is added to it here is forgotten afterwards."""
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])
    monkeypatch.setattr(label_fonts, "_warned_scripts", set())
    label_fonts._families_for.cache_clear()
    yield monkeypatch
    label_fonts._families_for.cache_clear()


@pytest.fixture
def only_dejavu(fresh_fonts):
    fonts = [f for f in font_manager.fontManager.ttflist if f.name.startswith("DejaVu")]
    fresh_fonts.setattr(font_manager.fontManager, "ttflist", fonts)
    fresh_fonts.setattr(font_manager, "findSystemFonts", lambda: [])
    fresh_fonts.setattr(importlib.util, "find_spec", lambda name: None)


def test_without_a_font_for_the_script_code_points_are_drawn_with_one_warning(only_dejavu):
    with pytest.warns(UserWarning, match="HANGUL.*koreanize-matplotlib") as caught:
        figure = plot_attention(np.eye(2), ["년", "a"], ["월", "b"], title="일")
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning names the caller's line"
    assert x_labels(figure) == ["U+B144", "a"] and y_labels(figure) == ["U+C6D4", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_attention(np.eye(1), ["화"], ["b"])
        pixels(figure)  # "Glyph missing" would be a warning here
    assert "b at 화" in figure.get_label(), "the description in words needs no font"


def test_hangul_kana_and_han_are_drawn_where_a_font_has_them(fresh_fonts):
    if not importlib.util.find_spec("koreanize_matplotlib"):
        pytest.skip("the package koreanize-matplotlib, which holds a Korean font, is not installed")
    before = dict(matplotlib.rcParams)
    tokens = list("2003년 3월 25일 화요일カなた月日ᄒ")
    figure = plot_attention(np.eye(len(tokens)), tokens, tokens, title="한국어")
    assert x_labels(figure) == [visible_label(token) for token in tokens]
    for kind in ("png", "svg", "pdf"):
        figure_files.figure_bytes(figure, kind)  # a missing glyph would be a warning, an error here
    assert "koreanize_matplotlib" not in sys.modules, "importing it would change rcParams"
    assert dict(matplotlib.rcParams) == before


def test_a_font_newer_than_matplotlibs_cache_is_found(fresh_fonts):
    """As if the cache were older than DejaVu Serif, the one font here that has a character."""
    path = font_manager.findfont("DejaVu Serif")
    fonts = [f for f in font_manager.fontManager.ttflist if f.fname != path]
    fresh_fonts.setattr(font_manager.fontManager, "ttflist", fonts)
    fresh_fonts.setattr(font_manager, "findSystemFonts", lambda: [path])
    fresh_fonts.setattr(
        label_fonts,
        "_candidates",
        lambda: [f for f in font_manager.fontManager.ttflist if f.fname == path],
    )
    real = label_fonts._code_points
    sample = "w"
    fresh_fonts.setattr(
        label_fonts,
        "_code_points",
        lambda file, index: real(file, index) - ({ord(sample)} if file != path else set()),
    )
    assert label_fonts.drawable([sample]) == ([sample], ["DejaVu Sans", "DejaVu Serif"])


# --- gold alignment


def test_gold_links_are_outlined_sure_solid_and_possible_dashed():
    weights, source, target = date_map()
    figure = plot_attention(
        weights, source, target, links=[link(14, 0), link(0, 5, sure=False), link(17, 9)]
    )
    outlines = [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]
    places = [(int(p.get_x()), int(p.get_y()), p.get_linestyle() == "-") for p in outlines]
    assert places == [(14, 0, True), (0, 5, False), (17, 9, True)]
    assert not any(p.get_fill() for p in outlines)
    assert "outlined: gold alignment (dashed: possible)" in all_texts(figure)


@pytest.mark.parametrize(("source", "target"), [(18, 0), (0, 10), (-1, 0), (0, -1)])
def test_a_link_outside_the_map_is_refused(source, target):
    weights, *tokens = date_map()
    with pytest.raises(ValueError, match=f"source={source}, target={target}"):
        plot_attention(weights, *tokens, links=[link(source, target)])


# --- grids


def test_a_grid_draws_each_example_with_its_own_tokens():
    examples = [
        translation(),
        translation(
            attention_weights=one_hot(2, 3, [2, 0]), source_tokens="abc", target_tokens="xy"
        ),
        translation(attention_weights=np.zeros((0, 3)), source_tokens="abc", target_tokens=""),
    ]
    figure = plot_attention_grid(examples, titles=["one", "$two$", None])
    assert len(figure.axes) == 4, "three maps and one colour bar"
    assert x_labels(figure, 0) == [visible_label(c) for c in SOURCE]
    assert x_labels(figure, 1) == list("abc") and y_labels(figure, 1) == list("xy")
    assert in_cell(figure, 0, 2, place=1).sum() < 120 < in_cell(figure, 0, 0, place=1).sum()
    assert {"one", "$two$", "the answer is empty"} <= set(all_texts(figure))
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]), (
        "nothing is drawn over anything else"
    )


def test_titles_of_a_grid_are_the_answers():
    assert TARGET in all_texts(plot_attention_grid([translation()]))


@pytest.mark.parametrize("columns", [1, 2, 3, 9])
def test_any_number_of_columns(columns):
    figure = plot_attention_grid([translation()] * 3, columns=columns)
    lefts = {round(axes.get_position().x0, 6) for axes in figure.axes[:3]}
    assert len(lefts) == min(columns, 3)


def test_a_grid_of_nothing_or_of_unequal_lists_is_refused():
    for arguments in (([],), ([translation()], ["a", "b"])):
        with pytest.raises(ValueError, match="translations must hold at least one"):
            plot_attention_grid(arguments[0], titles=arguments[1] if arguments[1:] else None)
    with pytest.raises(ValueError, match="columns=0"):
        plot_attention_grid([translation()], columns=0)


# --- files, settings, state


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")],
)
def test_the_suffix_decides_the_format(tmp_path, suffix, start):
    path = save_figure(plot_attention(*date_map()), tmp_path / "new" / f"map{suffix}")
    assert path.read_bytes().startswith(start)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["map.jpg", "map", "map.html", ".png"])
def test_other_suffixes_are_the_users_mistake(tmp_path, name):
    with pytest.raises(UserError, match=r"\.png, \.svg, \.pdf"):
        save_figure(plot_attention([[1.0]], "a", "b"), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "map.png"
    path.write_bytes(b"old")
    figure = plot_attention([[1.0]], "a", "b")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UserError, match="No space left"):
        save_figure(figure, path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["map.png"]


HOSTILE_SETTINGS = {
    "text.usetex": True,
    "text.parse_math": True,
    "text.color": "red",
    "font.size": 40,
    "font.family": "serif",
    "font.weight": "bold",
    "font.sans-serif": ["STIXGeneral"],
    "axes.facecolor": "green",
    "axes.grid": True,
    "axes.linewidth": 9,
    "axes.labelsize": 30,
    "axes.xmargin": 0.4,
    "axes.spines.top": False,
    "xtick.labelsize": 30,
    "xtick.labeltop": False,
    "xtick.labelbottom": True,
    "xtick.minor.visible": True,
    "ytick.major.size": 30,
    "ytick.color": "red",
    "image.cmap": "jet",
    "figure.dpi": 37,
    "figure.facecolor": "black",
    "figure.constrained_layout.use": True,
    "figure.autolayout": False,
    "savefig.dpi": 31,
    "savefig.bbox": "tight",
    "savefig.transparent": True,
    "savefig.facecolor": "red",
    "svg.fonttype": "none",
    "svg.hashsalt": "other",
    "pdf.fonttype": 42,
    "pdf.compression": 0,
    "path.sketch": (3, 10, 3),
    "lines.antialiased": False,
    "patch.linewidth": 7,
}


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_users_settings_change_nothing(kind):
    weights, source, target = date_map()
    arguments = dict(title="t", links=[link(14, 0), link(0, 5, sure=False)])
    plain = figure_files.figure_bytes(plot_attention(weights, source, target, **arguments), kind)
    with matplotlib.rc_context(HOSTILE_SETTINGS):
        figure = plot_attention(weights, source, target, **arguments)
        assert figure_files.figure_bytes(figure, kind) == plain
        assert matplotlib.rcParams["font.size"] == 40, "and they stay as they were"


def test_a_figure_made_here_looks_the_same_saved_under_other_settings():
    """Saved by `figure.savefig` in the user's own program, beyond our hands."""
    weights, source, target = date_map()
    plain = pixels(plot_attention(weights, source, target))
    with matplotlib.rc_context(HOSTILE_SETTINGS):
        np.testing.assert_array_equal(pixels(plot_attention(weights, source, target)), plain)


def test_the_same_input_gives_the_same_bytes_in_another_process(tmp_path):
    program = (
        "import sys, numpy as np\n"
        "from keras_attention.plots.heatmap import plot_attention, save_figure\n"
        "figure = plot_attention(np.eye(3), 'abc', 'xyz', title='t')\n"
        "for kind in ('png', 'svg', 'pdf'): save_figure(figure, f'{sys.argv[1]}.{kind}')\n"
        "print([m for m in ('tensorflow', 'keras', 'matplotlib.pyplot') if m in sys.modules])\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"}
    environment |= {"PYTHONHASHSEED": "77", "SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Seoul"}
    process = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == "[]", "drawing needs neither TensorFlow nor pyplot"
    figure = plot_attention(np.eye(3), "abc", "xyz", title="t")
    for kind in ("png", "svg", "pdf"):
        saved = save_figure(figure, tmp_path / f"b.{kind}")
        assert saved.read_bytes() == (tmp_path / f"a.{kind}").read_bytes()


def test_no_setting_and_no_pyplot_state_is_left_even_after_an_error():
    before = dict(matplotlib.rcParams)
    plot_attention(*date_map())
    with pytest.raises(ValueError):
        plot_attention([[2.0]], "a", "b")
    assert dict(matplotlib.rcParams) == before
    assert not matplotlib._pylab_helpers.Gcf.figs


def test_settings_survive_threads():
    before = dict(matplotlib.rcParams)
    threads = [
        threading.Thread(target=lambda: plot_attention(np.eye(4), "abcd", "wxyz")) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(matplotlib.rcParams) == before


def test_files_carry_a_description():
    figure = plot_attention(one_hot(2, 3, [2, 0]), "abc", "xy", title="→ <map>")
    expected = "x at c (column 3, 1.00); y at a (column 1, 1.00)"
    with Image.open(io.BytesIO(figure_files.figure_bytes(figure, "png"))) as picture:
        assert picture.text["Description"].startswith("→ <map>. Attention heatmap, 2 target")
        assert expected in picture.text["Description"]
    assert expected.encode() in figure_files.figure_bytes(figure, "svg")
    assert expected in figure.get_label()


# In a process of its own: what other tests have set going changes the size of this one.
MANY_PLOTS = """
import gc, os, sys
import matplotlib.figure, numpy as np
from keras_attention.plots import figure_files
from keras_attention.plots.heatmap import plot_attention

def draw(times):
    for _ in range(times):
        figure_files.figure_bytes(plot_attention(np.eye(6), "abcdef", "uvwxyz"), "png")
    gc.collect()

def resident_megabytes():
    if not os.path.exists("/proc/self/statm"):
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

draw(20)  # caches fill
blocks, megabytes = sys.getallocatedblocks(), resident_megabytes()
draw(200)
print(sys.getallocatedblocks() - blocks, resident_megabytes() - megabytes)
print(sum(isinstance(thing, matplotlib.figure.Figure) for thing in gc.get_objects()))
"""


@pytest.mark.slow
def test_200_plots_do_not_grow_memory():
    result = subprocess.run(
        [sys.executable, "-c", MANY_PLOTS],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr
    blocks, megabytes, figures = map(float, result.stdout.split())
    assert blocks < 2000, "a plot has some 20,000"
    assert megabytes < 20
    assert figures == 0


def test_a_notebook_can_show_a_returned_figure():
    figure = plot_attention(np.eye(2), list("ab"), list("ab"))
    assert figure._repr_png_().startswith(b"\x89PNG")
