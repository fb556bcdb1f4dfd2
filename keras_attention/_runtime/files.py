"""Files that appear whole or not at all, whenever the process dies."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
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
    temporary = _create_beside(path)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | pathlib.Path, text: str) -> None:
    """Replaces the file at `path` by UTF-8 text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def check_place(option: str, path: str | pathlib.Path) -> None:
    """Raises UserError unless a file that an option names can be written, as far as can be seen."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise UserError(f"{option}: {path} is a folder; name a file")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option}: {path.parent} is no folder; make it, or name another file")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UserError(f"{option}: {path.parent} may not be written to; name another file")


def remove_unfinished(folder: str | pathlib.Path) -> None:
    """Removes what a process that was killed while it wrote left in a folder: files and folders."""
    for path in pathlib.Path(folder).glob(f"{_UNFINISHED}*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
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


def _create_beside(path: pathlib.Path) -> pathlib.Path:
    """An empty file of a name of its own; the system gives it the mode of any new file."""
    while True:
        name = f"{_UNFINISHED}{os.urandom(4).hex()}{path.name}"
        temporary = path.with_name(name)
        try:  # `tempfile` would make it readable to its owner only
            temporary.touch(mode=0o666, exist_ok=False)
        except FileExistsError:
            continue
        return temporary


def _sync_folder(path: pathlib.Path) -> None:
    """Puts the names in a folder on disk, where the system can: Windows opens no folder for it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return  # the rename itself is still atomic
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # nor can some file systems
    finally:
        os.close(descriptor)
