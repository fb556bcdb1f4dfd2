"""Attention weights and tokens into a matplotlib Figure, and a Figure into a file.

Rows are target tokens from top to bottom, columns source tokens from left to right, both in reading
order. Nothing here sees a model, opens a window or keeps a figure: figures are made without pyplot,
so they need no closing, and with fixed settings, so a user's matplotlibrc does not change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from keras_attention.plots.attention_map import empty_note
from keras_attention.plots.figure_files import ShownFigure, matplotlib_defaults, save_figure
from keras_attention.plots.map_layout import (
    GAP,
    NOTE_SIZE,
    TITLE_SIZE,
    Panel,
    arrange,
    best_columns,
)

__all__ = ["attention_colormap", "plot_attention", "plot_attention_grid", "save_figure"]

# Sizes in inches unless they say otherwise.
MARGIN = 0.16
BAR_WIDTH, BAR_LEAST_HEIGHT, BAR_SPACE = 0.12, 1.25, 0.72
MOST_CELLS_AS_SHAPES = 20_000  # larger maps are a picture inside an SVG or PDF
INK, QUIET, GOLD = "#1c2430", "#5a6675", "#d95f02"

_BLUES = ["#f7f9fc", "#d7e5f3", "#abcbe6", "#75a9d4", "#4484bd", "#205e9f", "#0c3b74", "#04204a"]


def plot_attention(
    attention_weights,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    title: str | None = None,
    links: Iterable | None = None,
    style: str = "colour",
) -> Figure:
    """Draws one attention map.

    Args:
        attention_weights: float `[T, S]` in 0..1, rows are target tokens.
        source_tokens: S tokens in reading order; equal tokens keep columns of their own.
        target_tokens: T tokens.
        title: Text above the map, taken literally.
        links: Gold alignment to outline: objects with `source`, `target` (positions from 0) and
            `sure` (solid outline; otherwise dashed).
        style: `"colour"`, light to dark blue, readable without colour vision and in grey print, or
            `"grey"`, black to white as in the article. Both always cover 0 to 1.

    Returns:
        A Figure that belongs to the caller alone (pyplot does not know it); its label is a
        description in words. A map without rows or columns says so instead of failing. Above 295
        tokens only every n-th is labelled, and the axis says so.

    Raises:
        UserError: `attention_weights` is None (a model without attention).
        TypeError: tokens or a title that are no strings, weights that are no numbers, links without
            `source`, `target` and `sure`.
        ValueError: wrong shape or range, an unknown style, a link outside the map.
    """
    panel = Panel.of(attention_weights, source_tokens, target_tokens, title, links)
    return _draw_figure([panel], columns=1, style=style)


def plot_attention_grid(
    translations: Sequence,
    *,
    titles: Sequence[str | None] | None = None,
    links: Sequence[Iterable | None] | None = None,
    style: str = "colour",
    columns: int | None = None,
) -> Figure:
    """Draws several maps on one Figure with one colour bar.

    Args:
        translations: Objects with `source_tokens`, `target_tokens`, `attention_weights` and `text`.
        titles: One for each; by default the translation's text.
        links: For each map as in `plot_attention`, or None.
        style: As in `plot_attention`.
        columns: Maps side by side; by default whatever comes nearest to a landscape page.

    Raises: as `plot_attention`, and ValueError where there is nothing to draw or lengths differ.
    """
    translations = list(translations)
    count = len(translations)
    titles = [each.text for each in translations] if titles is None else list(titles)
    links = [None] * count if links is None else list(links)
    if not count or len(titles) != count or len(links) != count:
        raise ValueError(
            "translations must hold at least one, and titles and links as many. Received: "
            f"{count} translations, {len(titles)} titles, {len(links)} links"
        )
    panels = [
        Panel.of(each.attention_weights, each.source_tokens, each.target_tokens, title, link)
        for each, title, link in zip(translations, titles, links, strict=True)
    ]
    if columns is not None and columns < 1:
        raise ValueError(f"columns must be at least 1. Received: columns={columns}")
    return _draw_figure(panels, columns, style)


def attention_colormap(style: str) -> Colormap:
    """The colours of 0 to 1; lightness changes in one direction only.

    Args:
        style: "colour" or "grey", as in `plot_attention`.

    Raises:
        ValueError: another style.
    """
    if style == "grey":
        return matplotlib.colormaps["Greys_r"]
    if style == "colour":
        return LinearSegmentedColormap.from_list("attention", _BLUES)
    raise ValueError(f'style must be "colour" or "grey". Received: style={style!r}')


def _draw_figure(panels: list[Panel], columns: int | None, style: str) -> Figure:
    attention_colormap(style)  # an unknown style fails before anything is drawn
    with matplotlib_defaults():
        figure = ShownFigure(figsize=(1, 1), dpi=144, facecolor="white")
        renderer = FigureCanvasAgg(figure).get_renderer()

        def text_size(text: str, font: FontProperties) -> tuple[float, float]:
            width, height, _ = renderer.get_text_width_height_descent(text, font, False)
            return width / 144, height / 144

        for panel in panels:
            panel.measure(text_size)
        columns = columns or best_columns([panel.total for panel in panels])
        places, width, height = arrange([panel.total for panel in panels], columns)
        height = max(height, BAR_LEAST_HEIGHT + 2 * MARGIN)
        figure.set_size_inches(width + 2 * MARGIN + BAR_SPACE, height + 2 * MARGIN)
        for panel, (x, y) in zip(panels, places, strict=True):
            _draw_panel(figure, panel, MARGIN + x, MARGIN + y, style)
        for panel, (_, y) in zip(panels, places, strict=True):
            if panel.weights.size:
                _draw_colour_bar(figure, style, MARGIN + width + 0.22, MARGIN + y, panel)
                break
        figure.set_label("\n".join(panel.description for panel in panels))
        figure.draw_without_rendering()  # ticks are made here, under the fixed settings
    return figure


def _axes_at(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes by inches from the figure's top left corner."""
    whole_width, whole_height = figure.get_size_inches()
    bottom = whole_height - y - height
    return figure.add_axes(
        (x / whole_width, bottom / whole_height, width / whole_width, height / whole_height)
    )


def _draw_panel(figure: Figure, panel: Panel, x: float, y: float, style: str) -> None:
    rows, columns = panel.weights.shape
    axes = _axes_at(figure, x + panel.left, y + panel.top, *panel.body)
    axes.set_facecolor("white")
    if panel.title:
        figure.text(
            x / figure.get_size_inches()[0],
            1 - y / figure.get_size_inches()[1],
            panel.title,
            fontproperties=panel.font(TITLE_SIZE, "bold"),
            color=INK,
            va="top",
            ha="left",
            parse_math=False,
        )
    if panel.weights.size:
        _draw_cells(axes, panel, style)
    else:
        note = empty_note(rows, columns)
        axes.text(
            *(0.5, 0.5, note),
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=QUIET,
            fontproperties=panel.font(10),
            parse_math=False,
        )
    # Without cells the body is wider or higher than its tokens; they keep their cell size.
    axes.set_xlim(0, panel.body[0] / panel.cell[0])
    axes.set_ylim(panel.body[1] / panel.cell[1], 0)
    _draw_labels(axes, panel)
    _draw_links(axes, panel)


def _draw_cells(axes: Axes, panel: Panel, style: str) -> None:
    rows, columns = panel.weights.shape
    large = panel.weights.size > MOST_CELLS_AS_SHAPES
    axes.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        panel.weights,
        cmap=attention_colormap(style),
        vmin=0.0,
        vmax=1.0,
        edgecolors="none" if large else ("#3a3a3a" if style == "grey" else "white"),
        linewidth=0.0 if large else 0.5,
        antialiased=False,
        rasterized=large,
    )


def _draw_labels(axes: Axes, panel: Panel) -> None:
    sides = (
        (axes.xaxis, panel.source_labels, panel.strides[0], "source"),
        (axes.yaxis, panel.target_labels, panel.strides[1], "target"),
    )
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    for axis, labels, stride, side in sides:
        count = len(labels)
        shown = range(0, count, stride)
        axis.set_ticks(
            [index + 0.5 for index in shown],
            labels=[labels[index] for index in shown],
            fontproperties=panel.font(),
            color=INK,
            parse_math=False,
        )
        axis.set_tick_params(length=0, pad=GAP * 72)
        name = side if stride == 1 else f"{side}: {count} tokens, every {_ordinal(stride)} labelled"
        axis.set_label_text(name, fontproperties=panel.font(9.5), color=QUIET)
    standing = panel.upright[:: panel.strides[0]]
    for stands, label in zip(standing, axes.get_xticklabels(), strict=True):
        label.set_rotation(0 if stands else 90)
    axes.xaxis.labelpad = axes.yaxis.labelpad = 4
    axes.spines[:].set(color="#c6ccd4", linewidth=0.8, visible=bool(panel.weights.size))


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _draw_links(axes: Axes, panel: Panel) -> None:
    for link in panel.links:
        outline = Rectangle((link.source + 0.06, link.target + 0.06), 0.88, 0.88)
        outline.set(fill=False, edgecolor=GOLD, linewidth=1.6, clip_on=False)
        outline.set_linestyle("-" if link.sure else (0, (2, 1.4)))
        axes.add_patch(outline)
    if panel.links:
        axes.annotate(
            panel.links_note,
            (0, 0),
            xytext=(0, -5),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontproperties=panel.font(NOTE_SIZE),
            color=GOLD,
        )


def _draw_colour_bar(figure: Figure, style: str, x: float, y: float, panel: Panel) -> None:
    height = min(max(panel.body[1], BAR_LEAST_HEIGHT), 3.0)
    lowest = figure.get_size_inches()[1] - MARGIN - height
    axes = _axes_at(figure, x, min(y + panel.top, lowest), BAR_WIDTH, height)
    axes.pcolormesh(
        [0, 1],
        np.linspace(0, 1, 129),
        np.linspace(0, 1, 128)[:, None],
        cmap=attention_colormap(style),
        vmin=0,
        vmax=1,
        rasterized=True,
    )
    axes.set_xticks([])
    font = FontProperties(family=["DejaVu Sans"], size=8.5)
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.set_yticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontproperties=font, color=QUIET)
    axes.yaxis.set_tick_params(length=2.5, width=0.6, color=QUIET)
    axes.set_ylabel("attention weight", fontproperties=font, color=QUIET)
    axes.set_label("colour bar")
    axes.spines[:].set(color="#c6ccd4", linewidth=0.8)
