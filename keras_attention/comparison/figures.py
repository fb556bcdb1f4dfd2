"""The comparison drawn: exact match per epoch, against source length, and gradient norms.

A colour is a kind of model, the same in every panel; dashes and markers tell its variants apart.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from keras_attention.comparison.comparison import Result
from keras_attention.plots.figure_files import matplotlib_defaults

# Okabe and Ito's palette, told apart by people of any colour vision. What a model of another name
# gets comes after the three.
COLOURS = {"fixed vector": "#D55E00", "peeky": "#009E73", "attention": "#0072B2"}
OTHER_COLOURS = ("#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
NO_CLIPPING = "no clipping"

INK, QUIET = "#1c2430", "#5a6675"
PANEL_WIDTH, PANEL_HEIGHT = 5.0, 3.9  # inches


@dataclasses.dataclass(frozen=True)
class _Panel:
    title: str
    results: list[Result]


def plot_curves(results: Sequence[Result]) -> Figure:
    """Exact match on validation data after each epoch.

    For each task a panel of its plain models and, where it has variants, one of how the source is
    read. Models without clipping are left to `plot_gradient_norms` and the table.
    """
    panels = []
    for task in dict.fromkeys(result.task for result in results):
        group = [result for result in results if result.task == task]
        panels += _panels(group, lambda variant: not variant, "")
        varied = {_base(result.model) for result in group if _variant(result.model)}
        related = [result for result in group if _base(result.model) in varied]
        panels += _panels(
            related, lambda variant: variant != NO_CLIPPING, ": how the source is read"
        )
    return _draw_figure(
        panels,
        "Exact match per epoch",
        "epoch",
        "exact match on validation data",
        lambda result: [(epoch, value) for epoch, value in enumerate(result.curve, 1)],
    )


def plot_lengths(results: Sequence[Result]) -> Figure:
    """Exact match on test against the source's length: the plain models, a panel for each task."""
    return _draw_figure(
        _panels(results, lambda variant: not variant, ""),
        "Exact match by source length",
        "source length in tokens (each point: up to this length)",
        "exact match on test data",
        lambda result: [(longest, value) for longest, _, value in result.by_length],
    )


def plot_gradient_norms(results: Sequence[Result]) -> Figure:
    """Mean norm of all gradients before clipping, in each epoch, with and without clipping."""
    panels = _panels(results, lambda variant: variant in ("", NO_CLIPPING), "")
    return _draw_figure(
        panels,
        "Gradient norm per epoch",
        "epoch",
        "mean norm of all gradients, before clipping",
        lambda result: list(enumerate(result.gradient_norms, 1)),
        log_scale=True,
    )


def _panels(results, wanted: Callable[[str], bool], suffix: str) -> list[_Panel]:
    return [
        _Panel(task + suffix, chosen)
        for task in dict.fromkeys(result.task for result in results)
        if (chosen := [r for r in results if r.task == task and wanted(_variant(r.model))])
    ]


def _base(model: str) -> str:
    return model.partition(", ")[0]


def _variant(model: str) -> str:
    return model.partition(", ")[2]


def _draw_figure(
    panels: list[_Panel],
    title: str,
    x_label: str,
    y_label: str,
    points_of: Callable[[Result], list[tuple[float, float]]],
    log_scale: bool = False,
) -> Figure:
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with matplotlib_defaults():
        figure = Figure(
            figsize=(PANEL_WIDTH * columns, PANEL_HEIGHT * rows + 0.4),
            dpi=110,
            facecolor="white",
            layout="constrained",
        )
        figure.suptitle(title, fontweight="bold", color=INK)
        first = None
        for number, panel in enumerate(panels):
            axes = first = figure.add_subplot(rows, columns, number + 1, sharey=first)
            _draw(axes, panel.results, points_of)
            axes.set_title(panel.title, fontsize=11, color=INK, parse_math=False)
            if number >= len(panels) - columns:
                axes.set_xlabel(x_label, color=QUIET)
            if number % columns == 0:
                axes.set_ylabel(y_label, color=QUIET)
            if log_scale:
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axes.yaxis.set_minor_formatter(NullFormatter())
            else:
                axes.set_ylim(-0.03, 1.03)
        figure.set_label(f"{title}: {'; '.join(_in_words(panel, points_of) for panel in panels)}")
        figure.draw_without_rendering()
    return figure


def _draw(axes: Axes, results: Sequence[Result], points_of) -> None:
    """One line a model, the mean over its seeds; a band from the lowest to the highest seed."""
    models = list(dict.fromkeys(result.model for result in results))
    bases = [base for base in dict.fromkeys(map(_base, models)) if base not in COLOURS]
    variants = list(dict.fromkeys(map(_variant, models)))
    for model in models:
        values = _values(results, model, points_of)
        x = sorted(values)
        dashes, marker = STYLES[variants.index(_variant(model)) % len(STYLES)]
        base = _base(model)
        colour = COLOURS.get(base) or OTHER_COLOURS[bases.index(base) % len(OTHER_COLOURS)]
        axes.plot(
            x,
            [statistics.mean(values[v]) for v in x],
            color=colour,
            linestyle=dashes,
            marker=marker,
            # Lines can coincide: what is hollow and wide then still shows behind what is filled.
            markerfacecolor="white" if _variant(model) else colour,
            markersize=7 if _variant(model) else 4.5,
            linewidth=1.8,
            label=model,
            clip_on=False,  # a point at 0 or 1 is drawn whole
            zorder=3 if _variant(model) else 4,
        )
        if max(len(v) for v in values.values()) > 1:
            low, high = ([pick(values[v]) for v in x] for pick in (min, max))
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.locator_params("x", integer=True)
    axes.grid(color="#e3e7ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#c6ccd4")
    axes.tick_params(color="#c6ccd4", labelcolor=QUIET)
    axes.legend(fontsize=8.5, frameon=False, labelcolor=INK, handlelength=2.8)


def _values(results: Sequence[Result], model: str, points_of) -> dict[float, list[float]]:
    """From each x to the values of the model's seeds."""
    values: dict[float, list[float]] = {}
    for result in results:
        if result.model == model:
            for x, y in points_of(result):
                values.setdefault(x, []).append(y)
    return values


def _in_words(panel: _Panel, points_of) -> str:
    """What a panel's lines end at, for people who cannot see the figure."""
    ends = []
    for model in dict.fromkeys(result.model for result in panel.results):
        values = _values(panel.results, model, points_of)
        ends.append(f"{model} ends at {statistics.mean(values[max(values)]):.3g}")
    return f"{panel.title}, {', '.join(ends)}"
