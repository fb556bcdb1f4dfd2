"""One example's attention beside the adversary's, as two maps with one row of labels each."""

from __future__ import annotations

from keras_attention.explanation.pages import svg
from keras_attention.explanation.reporting.report import ShownExample
from keras_attention.plots.visible_label import is_lone, visible_label

CELL = 19.0
GAP = 34.0
VALUES = 44.0  # room for probabilities
TITLE = 170.0  # and at least for a title
LONGEST_WORD = 14  # characters of a label; longer ones are cut


def pair_of_maps(example: ShownExample) -> str:
    """Rows are answer tokens, columns source tokens; gold links are outlined."""
    source = [visible_label(token, LONGEST_WORD) for token in example.source]
    answer = [visible_label(token, LONGEST_WORD) for token in example.answer]
    left = 18 + 7.6 * max(map(len, answer), default=1)
    slanted = not all(map(is_lone, source))
    top = 24 + (6.2 * max(map(len, source), default=1) if slanted else 18)
    width, height = CELL * len(source), CELL * len(answer)
    one = left + max(width + VALUES, TITLE)
    panels = (
        ("the model's attention", example.attention, example.probability),
        ("the adversary's attention", example.adversarial, example.adversarial_probability),
    )
    # Long sources: one map below the other.
    beside = 2 * one + GAP <= 1000
    parts = []
    for place, (title, weights, probability) in enumerate(panels):
        x = left + (one + GAP) * place if beside else left
        y = top if beside else top + (top + height + 14) * place
        parts.append(svg.text(x, y - top + 14, title, "strong"))
        parts += _map(x, y, source, answer, weights, probability, example.links, slanted)
    total_width = 2 * one + GAP if beside else one
    total_height = top + height + 12 if beside else 2 * (top + height + 14)
    words = (
        f"{(' ' if slanted else '').join(source)}: mean divergence "
        f"{sum(example.divergence) / max(1, len(example.divergence)):.3f} nats"
    )
    return svg.figure("Two attentions, one answer", words, total_width, total_height, parts)


def _map(x, y, source, answer, weights, probability, links, slanted: bool) -> list[str]:
    parts = [svg.rect(x, y, CELL * len(source), CELL * len(answer), "cells")]
    for column, label in enumerate(source):
        centre = x + CELL * (column + 0.5)
        if slanted:
            turned = f"rotate(-60 {centre:.1f} {y - 6:.1f})"
            parts.append(svg.text(centre, y - 6, label, "small", transform=turned))
        else:
            parts.append(svg.text(centre, y - 6, label, "", "middle"))
    for row, label in enumerate(answer):
        middle = y + CELL * (row + 0.5) + 4
        parts.append(svg.text(x - 7, middle, label, "", "end"))
        end = x + CELL * len(source) + 7
        parts.append(svg.text(end, middle, f"{probability[row]:.3f}", "quiet small"))
        for column, weight in enumerate(weights[row]):
            if weight >= 0.005:
                parts.append(
                    svg.rect(
                        x + CELL * column + 0.5,
                        y + CELL * row + 0.5,
                        CELL - 1,
                        CELL - 1,
                        "cell",
                        fill_opacity=f"{weight:.2f}",
                    )
                )
    for column, row, sure in links:
        parts.append(
            svg.rect(
                x + CELL * column + 1.3,
                y + CELL * row + 1.3,
                CELL - 2.6,
                CELL - 2.6,
                "gold" if sure else "gold possible",
            )
        )
    return parts
