"""A matplotlib Figure into a PNG, SVG or PDF file: whole or not at all, always the same bytes."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import threading
from collections.abc import Iterator
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_attention._runtime.files import replacing
from keras_attention.errors import UserError

SUFFIXES = (".png", ".svg", ".pdf")

_settings_lock = threading.RLock()


@contextlib.contextmanager
def matplotlib_defaults() -> Iterator[None]:
    """matplotlib's own defaults inside, the user's settings again afterwards."""
    # Without the lock, two threads could restore each other's fixed settings.
    with _settings_lock, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "keras_attention"  # ids that do not change
        yield


class ShownFigure(Figure):
    """A Figure that a notebook shows when a cell returns it, though pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        return figure_bytes(self, "png")


def save_figure(figure: Figure, path: str | os.PathLike) -> pathlib.Path:
    """Writes `figure` to `path`, the format by its suffix: `.png`, `.svg` or `.pdf`.

    The file appears whole or not at all, replaces an older one, holds the figure's label as a
    description for people who cannot see it, and is the same for the same figure whatever the
    matplotlibrc, the time and the user. Missing folders are made.

    Raises:
        UserError: another suffix, or the file cannot be written.
    """
    path = pathlib.Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"{path}: a figure is written as {', '.join(SUFFIXES)}; give a name that ends in one "
            f"of them. Received: suffix={path.suffix!r}"
        )
    content = figure_bytes(figure, path.suffix.lower()[1:])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The file that `save_figure` writes; `kind` is `"png"`, `"svg"` or `"pdf"`."""
    alt_text = str(figure.get_label())
    title = alt_text.partition(". ")[0][:200]
    metadata = {
        "png": {"Software": None, "Title": title, "Description": alt_text},
        "svg": {"Date": None, "Creator": None, "Title": title},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None, "Title": title}
        | {"Subject": alt_text},
    }[kind]
    buffer = io.BytesIO()
    canvas = figure.canvas
    with matplotlib_defaults():
        try:
            FigureCanvasAgg(figure).print_figure(
                buffer, format=kind, dpi=figure.dpi, metadata=metadata
            )
        finally:
            figure.set_canvas(canvas)  # a figure that is shown in a window stays shown
    content = buffer.getvalue()
    return _with_description(content, title, alt_text) if kind == "svg" else content


def _with_description(svg: bytes, title: str, alt_text: str) -> bytes:
    """Tells screen readers that the drawing is one image, and what it shows."""
    head, opening, rest = svg.partition(b"<svg ")
    described = f"<title>{escape(title)}</title>"
    end = rest.index(b">") + 1
    attributes, body = rest[:end], rest[end:].replace(described.encode(), b"", 1)
    lead = f"{described}<desc>{escape(alt_text)}</desc>"
    return head + opening + b'role="img" ' + attributes + lead.encode() + body
