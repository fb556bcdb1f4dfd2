"""Where everything on a figure of attention maps goes: sizes first, then places, in inches."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from matplotlib.font_manager import FontProperties

from keras_attention.plots.attention_map import checked_weights, describe
from keras_attention.plots.label_fonts import drawable, visible_label

CELL, SMALLEST_CELL = 0.27, 0.115
LONGEST_AXIS = 34.0  # beyond 295 tokens cells shrink further and not every one gets a label
ROOMY_AXIS = 13.5  # beyond 50 tokens cells begin to shrink
MOST_WORD_COLUMNS = 5.5  # columns are widened for words to stand upright in up to this width
GAP = 0.07  # between labels and cells
LONGEST_TITLE = 120  # characters

TITLE_SIZE, NOTE_SIZE = 11.5, 8.5  # points


@dataclasses.dataclass
class Panel:
    """One map: what to draw, and after `measure` how large each part is.

    Attributes:
        weights: float64 `[T, S]`.
        source_labels, target_labels: S and T texts as they are drawn.
        title: Text above the map, or None.
        links: Gold alignment to outline.
        families: Font families that can draw all these texts.
        description: The map in words, for people who cannot see it.
        cell, body: Width and height of a cell and of the map.
        left, top: From the panel's corner to the map's: what labels and title take.
        upright: For each source label, whether it stands (True) or is turned by 90 degrees.
    """

    weights: np.ndarray
    source_labels: list[str]
    target_labels: list[str]
    title: str | None
    links: list
    families: list[str]
    description: str
    cell: tuple[float, float] = (CELL, CELL)
    body: tuple[float, float] = (0.0, 0.0)
    left: float = 0.0
    top: float = 0.0
    least_width: float = 0.6
    font_size: float = 10.0
    upright: list[bool] = dataclasses.field(default_factory=list)

    @classmethod
    def of(
        cls,
        attention_weights,
        source_tokens: Sequence[str],
        target_tokens: Sequence[str],
        title: str | None,
        links: Iterable | None,
    ) -> Panel:
        """Checks everything that is to be drawn. Raises as `plot_attention`."""
        weights = checked_weights(attention_weights, source_tokens, target_tokens)
        links = list(links or ())
        for link in links:
            if not (0 <= link.target < weights.shape[0] and 0 <= link.source < weights.shape[1]):
                raise ValueError(
                    f"links must lie inside the {weights.shape[1]} source and {weights.shape[0]} "
                    f"target tokens. Received: source={link.source}, target={link.target}"
                )
        labels = [visible_label(token) for token in (*source_tokens, *target_tokens)]
        # A title is a sentence: its spaces need no sign.
        heading = "".join(c if c == " " else visible_label(c) for c in title or "")
        if len(heading) > LONGEST_TITLE:
            heading = f"{heading[: LONGEST_TITLE - 1]}…"
        count = weights.shape[1]
        words = describe(weights, labels[:count], labels[count:])
        words = f"{heading}. {words}" if heading else words
        (*labels, heading), families = drawable([*labels, heading])
        source, target = labels[:count], labels[count:]
        return cls(weights, source, target, heading or None, links, families, words)

    @property
    def total(self) -> tuple[float, float]:
        """Width and height of everything."""
        width = max(self.left + self.body[0], self.least_width)
        return width, self.top + self.body[1] + (0.25 if self.links else 0.0)

    @property
    def links_note(self) -> str:
        """What the outlines mean; empty without outlines."""
        if not self.links:
            return ""
        unsure = any(not link.sure for link in self.links)
        return "outlined: gold alignment" + (" (dashed: possible)" if unsure else "")

    def font(self, size: float | None = None, weight: str = "normal") -> FontProperties:
        return FontProperties(family=self.families, size=size or self.font_size, weight=weight)

    def measure(self, text_size: Callable[[str, FontProperties], tuple[float, float]]) -> None:
        """Sets all sizes; `text_size(text, font)` gives a text's width and height."""
        rows, columns = self.weights.shape
        base = min(CELL, max(SMALLEST_CELL, ROOMY_AXIS / max(rows, columns, 1)))
        self.cell = (
            min(base, LONGEST_AXIS / max(columns, 1)),
            min(base, LONGEST_AXIS / max(rows, 1)),
        )
        self.font_size = min(10.5, max(5.2, base * 72 * 0.58))
        widest = max((text_size(label, self.font())[0] for label in self.source_labels), default=0)
        if self.cell[0] < widest / 0.94 <= MOST_WORD_COLUMNS / max(columns, 1):
            self.cell = (widest / 0.94, self.cell[1])
        room = (0.0, 0.0) if self.weights.size else (3.9, 0.5)  # for the note on an empty map
        self.body = (max(self.cell[0] * columns, room[0]), max(self.cell[1] * rows, room[1]))

        sizes = [text_size(label, self.font()) for label in self.source_labels]
        # A lone character stands; words are turned as soon as one is wider than its column.
        fits = [width <= 0.95 * self.cell[0] for width, _ in sizes]
        self.upright = [
            fit and (all(fits) or _is_lone(label))
            for fit, label in zip(fits, self.source_labels, strict=True)
        ]
        heights = [h if up else w for (w, h), up in zip(sizes, self.upright, strict=True)]
        widths = [text_size(label, self.font())[0] for label in self.target_labels]
        self.left = 0.28 + GAP + max(widths, default=0.0)
        self.top = 0.27 + GAP + max(heights, default=0.0) + (0.34 if self.title else 0.0)
        title_width = text_size(self.title or "", self.font(TITLE_SIZE, "bold"))[0]
        note_width = text_size(self.links_note, self.font(NOTE_SIZE))[0]
        self.least_width = max(title_width, self.left + max(note_width, 0.6))


def _is_lone(label: str) -> bool:
    """Whether `label` is one character with its combining marks."""
    return sum(not unicodedata.category(c).startswith("M") for c in label) == 1


def best_columns(sizes: Sequence[tuple[float, float]]) -> int:
    """How many panels side by side come nearest to a page 1.3 times as wide as high."""

    def distance(columns: int) -> float:
        _, width, height = arrange(sizes, columns)
        return abs(np.log(width / height / 1.3))

    return min(range(1, len(sizes) + 1), key=distance)


def arrange(
    sizes: Sequence[tuple[float, float]], columns: int
) -> tuple[list[tuple[float, float]], float, float]:
    """Places panels on a grid, row by row.

    Returns the top left corner of each, measured from the grid's, and the grid's width and height.
    """
    space_x, space_y = 0.45, 0.35
    widths = [max(w for w, _ in sizes[c::columns]) for c in range(min(columns, len(sizes)))]
    heights = [max(h for _, h in sizes[r : r + columns]) for r in range(0, len(sizes), columns)]
    lefts = np.concatenate([[0.0], np.cumsum(np.array(widths) + space_x)])
    tops = np.concatenate([[0.0], np.cumsum(np.array(heights) + space_y)])
    places = [(float(lefts[i % columns]), float(tops[i // columns])) for i in range(len(sizes))]
    return places, float(lefts[-1] - space_x), float(tops[-1] - space_y)
