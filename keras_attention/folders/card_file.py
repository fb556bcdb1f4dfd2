"""README.md of a run or an export: a model card, or somebody's own text, which stays."""

from __future__ import annotations

import pathlib

from keras_attention._runtime.files import write_text

CARD = "README.md"
# A file without this line is somebody's own.
MARK = "<!-- written by keras-attention; remove this line to keep your changes -->"


def may_write_card(folder: str | pathlib.Path) -> bool:
    """Whether there is no README.md in a folder, or a model card that nobody has taken over."""
    path = pathlib.Path(folder) / CARD
    if not path.exists():
        return True
    return path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")


def write_card(folder: str | pathlib.Path, text: str) -> bool:
    """Writes README.md where it may; whether it did."""
    if not may_write_card(folder):
        return False
    write_text(pathlib.Path(folder) / CARD, text)
    return True


def remove_card(folder: str | pathlib.Path) -> None:
    """Removes a model card that nobody has taken over."""
    if may_write_card(folder):
        (pathlib.Path(folder) / CARD).unlink(missing_ok=True)
