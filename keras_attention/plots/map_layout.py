"""Where everything on a figure of attention maps goes: sizes first, then places, in inches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from matplotlib.font_manager import FontProperties

from keras_attention.plots.attention_map import checked_weights, describe
from keras_attention.plots.label_fonts import drawable
from keras_attention.plots.visible_label import is_lone, visible_label

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
        strides: Every how many source and target tokens one is labelled; 1 where cells have room.
        upright: For each source label, whether it stands (True) or is turned by 90 degrees;
            False where it is not drawn.
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
    strides: tuple[int, int] = (1, 1)
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
        if title is not None and not isinstance(title, str):
            raise TypeError(f"title must be a string or None. Received: title={title!r}")
        if links is not None and not isinstance(links, Iterable):
            raise TypeError(f"links must be a sequence or None. Received: links={links!r}")
        links = list(links or ())
        for link in links:
            if not all(hasattr(link, name) for name in ("source", "target", "sure")):
                raise TypeError(
                    "links must be objects with source, target and sure. "
                    f"Received: {link!r:.80} of type {type(link).__name__}"
                )
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

        self.strides = _label_stride(self.cell[0]), _label_stride(self.cell[1])
        shown = self.source_labels[:: self.strides[0]]
        room_of_label = 0.95 * self.cell[0] * self.strides[0] + 1e-9
        sizes = [text_size(label, self.font()) for label in shown]
        # A lone character stands; words are turned as soon as one is wider than its column.
        fits = [label_width <= room_of_label for label_width, _ in sizes]
        self.upright = [False] * columns
        self.upright[:: self.strides[0]] = [
            fit and (all(fits) or is_lone(label)) for fit, label in zip(fits, shown, strict=True)
        ]
        heights = [
            label_height if stands else label_width
            for (label_width, label_height), stands in zip(
                sizes, self.upright[:: self.strides[0]], strict=True
            )
        ]
        targets = self.target_labels[:: self.strides[1]]
        widths = [text_size(label, self.font())[0] for label in targets]
        self.left = 0.28 + GAP + max(widths, default=0.0)
        self.top = 0.27 + GAP + max(heights, default=0.0) + (0.34 if self.title else 0.0)
        title_width = text_size(self.title or "", self.font(TITLE_SIZE, "bold"))[0]
        note_width = text_size(self.links_note, self.font(NOTE_SIZE))[0]
        self.least_width = max(title_width, self.left + max(note_width, 0.6))


def _label_stride(cell: float) -> int:
    """Every how many tokens one is labelled, where cells are too small for all."""
    return max(1, int(np.ceil(SMALLEST_CELL / cell - 1e-9)))


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
