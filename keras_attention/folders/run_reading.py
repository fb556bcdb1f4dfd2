"""A run folder read as one run, whatever a training does to it meanwhile."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from keras_attention._runtime.installation import command_for
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CONFIG, MODEL, is_run, resumption_of


@contextlib.contextmanager
def reading_run(path: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """Checks that a folder holds a finished run, and that it is the same one after the block.

    A training removes `model.keras` before it changes anything else in a run, and writes it behind
    all that belongs to it. So what the block has read belongs together if the model is the same
    file at both ends. Readers take no lock: a run may lie where nothing can be written.

    Yields:
        The folder.

    Raises:
        UserError: there is no run, it is not finished, or it was replaced while it was read.
    """
    path = pathlib.Path(path)
    if not is_run(path):
        raise UserError(
            f"{path}: holds no run (no {CONFIG}); train one with `{command_for('train')}`"
        )
    before = _identity(path / MODEL)
    if before is None:
        raise UserError(
            f"{path}: holds a run that is not finished; go on with `{resumption_of(path)}`"
        )
    try:
        yield path
    except UserError:  # a file was missing or half of another run, which this would explain
        _check_same(path, before)
        raise
    _check_same(path, before)


def _check_same(path: pathlib.Path, before: tuple[int, ...]) -> None:
    if _identity(path / MODEL) != before:
        raise UserError(
            f"{path}: a training replaced the run while it was read; try again once it has ended"
        ) from None


def _identity(file: pathlib.Path) -> tuple[int, ...] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
