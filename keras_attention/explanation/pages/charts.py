"""What several drawings of the report share: bars, violins, names and numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

from keras_attention.explanation.pages import svg
from keras_attention.explanation.reporting.estimate import Number
from keras_attention.explanation.reporting.report import Histogram

WIDTH = 720
LABELS = 210  # room for labels on the left
VALUES = 150  # and for numbers on the right
LARGEST_JSD = 0.6931
WORDS = {
    "gradient": "gradient × input",
    "integrated_gradients": "integrated gradients",
    "leave_one_out": "leave one out",
    "leave_one_out_replaced": "leave one out, replaced",
    "gradient_through_attention": "gradient, attention free",
    "unchanged": "nothing changed",
    "uniform": "uniform weights",
    "permutation": "permuted weights",
    "another_example": "another example's weights",
    "largest_removed": "largest weight removed",
    "random_removed": "another weight removed",
    "only_largest": "only the largest weight",
    "rows_shifted_up": "weights of the next step",
    "rows_shifted_down": "weights of the step before",
    "diagonal": "the diagonal",
    "reversal_not_undone": "source order reversed",
    "random": "a random position",
    "model": "the model",
}


def shown(number: Number | None) -> str:
    """`0.373 [0.351, 0.394]`, or that it is undefined."""
    if number is None:
        return "not measured"
    if number.value is None:
        return "undefined"
    if number.low is None or number.high is None:
        return decimals(number.value)
    return f"{decimals(number.value)} [{decimals(number.low)}, {decimals(number.high)}]"


def decimals(value: float) -> str:
    """Three decimals, with a minus sign, but never before nothing."""
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "\N{MINUS SIGN}")


def bars(name: str, rows: Sequence[tuple[str, Number]], colours: Sequence[str], axis: str) -> str:
    left, right, height = LABELS, WIDTH - VALUES, 30.0

    def x_of(share: float) -> float:
        return left + (right - left) * share

    bottom = 8 + height * len(rows)
    parts = [svg.line(x_of(t), 4, x_of(t), bottom, "grid") for t in (0, 0.25, 0.5, 0.75, 1)]
    for place, ((key, number), colour) in enumerate(zip(rows, colours, strict=True)):
        y = 8 + height * place
        parts.append(svg.text(left - 12, y + 19, WORDS.get(key, key), "", "end"))
        parts.append(svg.text(right + 12, y + 19, shown(number), "small"))
        if number.value is not None:
            parts.append(svg.rect(left, y + 5, x_of(number.value) - left, height - 10, colour))
            if number.low is not None and number.high is not None:
                parts.append(svg.whisker(x_of(number.low), x_of(number.high), y + height / 2))
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(svg.text(x_of(tick), bottom + 16, f"{tick:g}", "quiet small", "middle"))
    parts.append(svg.text(x_of(0.5), bottom + 34, axis, "quiet small", "middle"))
    words = "; ".join(f"{WORDS.get(key, key)}: {shown(number)}" for key, number in rows)
    return svg.figure(name, words, WIDTH, bottom + 42, parts)


def violin(spread: Histogram, at, middle: float, half: float, colour: str, upright=False) -> str:
    """A smoothed histogram, mirrored, as wide as `half` at its mode; with quartiles."""
    if spread.quartiles is None:
        return ""
    counts = [0.0, 0.0, *map(float, spread.counts), 0.0, 0.0]
    for _ in range(2):
        padded = [0.0, *counts, 0.0]
        counts = [
            (a + 2 * b + c) / 4 for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)
        ]
    width = spread.edges[1] - spread.edges[0]
    first, last = spread.edges[0], spread.edges[-1]
    centres = [first + width * (place - 1.5) for place in range(len(counts))]
    tallest = max(counts)
    outline = [
        (min(max(centre, first), last), half * count / tallest)
        for centre, count in zip(centres, counts, strict=True)
        if count > 0.002 * tallest
    ]
    sides = [(at(c), middle - h) for c, h in outline] + [
        (at(c), middle + h) for c, h in outline[::-1]
    ]
    low, _, high = (at(q) for q in spread.quartiles)
    ends = [(low, middle), (high, middle)]
    if upright:
        sides = [(x, y) for y, x in sides]
        ends = [(x, y) for y, x in ends]
    return svg.path(sides, colour, closed=True) + svg.line(*ends[0], *ends[1], "middle")
