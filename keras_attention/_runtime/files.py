"""Files that appear whole or not at all, whenever the process dies."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator

from keras_attention.errors import UserError

_UNFINISHED = ".writing-"


@contextlib.contextmanager
def replacing(path: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """A temporary path beside `path` that is moved over it when the block ends without an error.

    The temporary name ends as `path` does, so that writers which choose a format by suffix work.
    The content is on disk before the name is.
    """
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(prefix=_UNFINISHED, suffix=path.name, dir=path.parent)
    os.close(handle)
    temporary = pathlib.Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | pathlib.Path, text: str) -> None:
    """Replaces the file at `path` by UTF-8 text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def remove_unfinished(folder: str | pathlib.Path) -> None:
    """Removes what a process that was killed inside `replacing` left in a folder."""
    for path in pathlib.Path(folder).glob(f"{_UNFINISHED}*"):
        path.unlink(missing_ok=True)


def sync_files(folder: str | pathlib.Path) -> None:
    """Puts the content of all files below a folder on disk, so that the folder can be moved."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb+") as file:
                os.fsync(file.fileno())


def make_folder(path: str | pathlib.Path) -> pathlib.Path:
    """Creates a folder, with its parents, and makes sure that it can be written to.

    Raises:
        UserError: something else is there, or writing is not allowed.
    """
    path = pathlib.Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written to: {error.strerror}; choose another folder with --out"
        ) from None
    return path


def _sync_folder(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems cannot; the rename itself is still atomic
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
