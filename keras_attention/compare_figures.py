"""The comparison drawn: exact match per epoch, against source length, and gradient norms."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_attention.compare import Result
from keras_attention.figure_files import fixed_settings

# Okabe and Ito's palette, told apart by people of any colour vision; markers tell them apart too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def plot_curves(results: Sequence[Result]) -> Figure:
    """Exact match on validation data after each epoch, a panel a task."""
    return _panels(
        results,
        "Exact match per epoch",
        "epoch",
        "exact match",
        lambda result: [(epoch, value) for epoch, value in enumerate(result.curve, 1)],
    )


def plot_lengths(results: Sequence[Result]) -> Figure:
    """Exact match on test against the source's length, a panel a task."""
    return _panels(
        results,
        "Exact match by source length",
        "source length, tokens",
        "exact match",
        lambda result: [(longest, value) for longest, _, value in result.by_length],
    )


def plot_gradient_norms(results: Sequence[Result]) -> Figure:
    """Mean norm of all gradients before clipping, in each epoch, a panel a task."""
    return _panels(
        results,
        "Gradient norm per epoch",
        "epoch",
        "global norm before clipping",
        lambda result: list(enumerate(result.gradient_norms, 1)),
        log_scale=True,
    )


def _panels(
    results: Sequence[Result],
    title: str,
    x_label: str,
    y_label: str,
    points_of: Callable[[Result], list[tuple[float, float]]],
    log_scale: bool = False,
) -> Figure:
    tasks = list(dict.fromkeys(result.task for result in results))
    with fixed_settings():
        figure = Figure(figsize=(5.2 * len(tasks), 4.6), layout="constrained")
        figure.suptitle(title, fontweight="bold")
        for number, task in enumerate(tasks, 1):
            axes = figure.add_subplot(1, len(tasks), number)
            _draw(axes, [result for result in results if result.task == task], points_of)
            axes.set_title(task)
            axes.set_xlabel(x_label)
            axes.set_ylabel(y_label)
            if log_scale:
                axes.set_yscale("log")
            else:
                axes.set_ylim(-0.03, 1.03)
        figure.set_label(f"{title}, for {', '.join(tasks)}")
    return figure


def _draw(axes: Axes, results: Sequence[Result], points_of) -> None:
    """One line a model, the mean over its seeds; a band from the lowest to the highest seed."""
    for number, model in enumerate(dict.fromkeys(result.model for result in results)):
        values: dict[float, list[float]] = {}
        for result in results:
            if result.model == model:
                for x, y in points_of(result):
                    values.setdefault(x, []).append(y)
        x = sorted(values)
        style = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "linestyle": "--" if number >= len(COLOURS) else "-",
        }
        axes.plot(x, [statistics.mean(values[v]) for v in x], markersize=4, label=model, **style)
        if max(len(v) for v in values.values()) > 1:
            low, high = ([pick(values[v]) for v in x] for pick in (min, max))
            axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
