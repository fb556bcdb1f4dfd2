"""Confidence as drawings in SVG: reliability, errors against coverage, histogram."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.evaluation.confidence import BINS
from keras_attention.evaluation.evaluation import Evaluation

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 44
_POINTS = 200  # of the curve, at most


def confidence_figures(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Captions and drawings for `reports.report.write_page`."""
    confidences = np.array([each.confidence for each in evaluation.translations])
    right = np.array(evaluation.right, bool)
    return [
        (
            "Reliability: how often answers of each confidence are right, with the number of "
            "answers. On the diagonal, a confidence is what it says.",
            _reliability(reliability(confidences, right)),
        ),
        (
            "Risk and coverage: the share of wrong answers when only the surest are given.",
            _risk(risk_coverage(confidences, right)),
        ),
        (
            "Histogram: how many right (light) and wrong (dark) answers have each confidence. The "
            "scale is logarithmic.",
            _histogram(confidences, right),
        ),
    ]


def reliability(confidences: np.ndarray, right: np.ndarray) -> list[tuple[float, float, int]]:
    """Mean confidence, share of right answers and number of answers of each bin that has any."""
    bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
    return [
        (float(confidences[inside].mean()), float(right[inside].mean()), int(inside.sum()))
        for inside in (bins == number for number in range(BINS))
        if inside.any()
    ]


def risk_coverage(confidences: np.ndarray, right: np.ndarray) -> list[tuple[float, float]]:
    """Share of the answers that are given, and share of those that are wrong, surest first.

    Answers of one confidence cannot be told apart, and are given together.
    """
    order = np.argsort(-confidences, kind="stable")
    given = np.arange(1, len(order) + 1)
    wrong = np.cumsum(~right[order])
    last = np.append(np.diff(confidences[order]) != 0, True)
    return [(g / len(order), w / g) for g, w in zip(given[last], wrong[last], strict=True)]


def _reliability(points: Sequence[tuple[float, float, int]]) -> str:
    marks = [_line([(0, 0), (1, 1)], "4 4")]
    for confidence, share, count in points:
        x, y = _place(confidence, share)
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="currentColor"/>'
            f'<text x="{x - 7:.1f}" y="{y - 7:.1f}" text-anchor="end">{count:,}</text>'
        )
    return _chart("reliability diagram", "confidence", "right", "1", marks)


def _risk(points: Sequence[tuple[float, float]]) -> str:
    most = max(max(risk for _, risk in points), 1e-3)
    step = -(-len(points) // _POINTS)
    shown = [*points[::step], points[-1]]
    marks = [_line([(coverage, risk / most) for coverage, risk in shown])]
    return _chart("risk-coverage curve", "answered", "wrong", f"{most:.3g}", marks)


def _histogram(confidences: np.ndarray, right: np.ndarray) -> str:
    edges = np.linspace(0, 1, BINS + 1)
    counts = [np.histogram(confidences[kind], edges)[0] for kind in (right, ~right)]
    most = max(int(max(count.max() for count in counts)), 1)
    marks = []
    for place, (count, opacity) in enumerate(zip(counts, (0.35, 1.0), strict=True)):
        for number, answers in enumerate(count.tolist()):
            height = np.log1p(answers) / np.log1p(most)
            x, y = _place((number + 0.1 + 0.4 * place) / BINS, height)
            width = 0.4 / BINS * (_WIDTH - _LEFT - _RIGHT)
            marks.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" fill="currentColor" '
                f'height="{_HEIGHT - _BOTTOM - y:.1f}" opacity="{opacity}"/>'
            )
    return _chart("histogram of confidence", "confidence", "answers", f"{most:,}", marks)


def _place(x: float, y: float) -> tuple[float, float]:
    return (
        _LEFT + x * (_WIDTH - _LEFT - _RIGHT),
        _HEIGHT - _BOTTOM - y * (_HEIGHT - _TOP - _BOTTOM),
    )


def _line(points: Iterable[tuple[float, float]], dashes: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(*point) for point in points))
    return (
        f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.5" '
        f'stroke-dasharray="{dashes}"/>'
    )


def _chart(label: str, x_label: str, y_label: str, y_most: str, marks: Iterable[str]) -> str:
    """A frame with labelled ends of both axes, 0 to 1 and 0 to `y_most`."""
    (left, bottom), (right, top) = _place(0, 0), _place(1, 1)
    texts = [
        (left, bottom + 16, "middle", "0"),
        (right, bottom + 16, "middle", "1"),
        ((left + right) / 2, bottom + 34, "middle", x_label),
        (left - 6, bottom + 4, "end", "0"),
        (left - 6, top + 10, "end", y_most),
        (left - 6, (top + bottom) / 2, "end", y_label),
    ]
    labels = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'
        for x, y, anchor, text in texts
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" '
        f'aria-label="{html.escape(label)}" font-size="12" fill="currentColor">'
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor" '
        f'opacity="0.5"/>{labels}{"".join(marks)}</svg>'
    )
