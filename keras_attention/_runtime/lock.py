"""One writer at a time in a folder, over all processes of a machine.

The lock is the system's: it is held through an open file and freed when the process that holds it
ends, however it ends. So a killed process leaves nothing behind that would have to be cleaned up.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import threading
from collections.abc import Iterator

from keras_attention._runtime.files import make_folder
from keras_attention.errors import UserError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # no type can say that a module may be missing
    import msvcrt

_held = threading.local()


@contextlib.contextmanager
def folder_lock(path: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """Holds a folder for writing while the block runs; creates the folder where there is none.

    Take it before anything in the folder is read that decides what is written. A thread that holds
    a folder may take it again, so that a command and the functions that it calls can all ask for
    it. Different folders do not concern each other, one inside the other included.

    The lock is on the folder itself where the system can lock folders, so that there is no lock
    file. Elsewhere (Windows, some network file systems) it is on an empty file beside the folder,
    `.NAME.lock`, which is removed at the end. A process forked inside the block shares the lock.

    Yields:
        The folder. If it was created here and is still empty at the end, it is removed.

    Raises:
        UserError: another process, or another thread, holds the folder, or the folder cannot be
            written to.
    """
    key = pathlib.Path(path).resolve()
    held = _held.__dict__.setdefault("folders", set())
    if key in held:
        yield pathlib.Path(path)
        return
    with contextlib.ExitStack() as stack:
        folder, created = _locked_folder(pathlib.Path(path), stack)
        held.add(key)
        try:
            yield folder
        finally:
            held.remove(key)
            if created:
                with contextlib.suppress(OSError):  # not empty: what it was created for
                    folder.rmdir()


def _locked_folder(path: pathlib.Path, stack: contextlib.ExitStack) -> tuple[pathlib.Path, bool]:
    """The folder, locked until the stack is closed, and whether it was created here."""
    while True:
        created = not path.exists()
        folder = make_folder(path)
        descriptor = _lock_folder(folder)
        if descriptor is None:
            stack.enter_context(_lock_file_beside(folder))
            return folder, created
        # Whoever held it may have removed the folder between its opening here and its locking.
        if _is_at(descriptor, folder):
            stack.callback(os.close, descriptor)
            return folder, created
        os.close(descriptor)


def _lock_folder(folder: pathlib.Path) -> int | None:
    """An open descriptor of the locked folder; None where folders cannot be locked."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        raise _in_use(folder) from None
    except OSError:  # NFS locks only what is open for writing, which a folder never is
        os.close(descriptor)
        return None


@contextlib.contextmanager
def _lock_file_beside(folder: pathlib.Path) -> Iterator[None]:
    folder = folder.resolve()
    path = folder.parent / f".{folder.name}.lock"
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(
                f"{path}: cannot be created to lock the folder: {error.strerror}; choose another "
                "folder with --out"
            ) from None
        try:
            _lock_file(descriptor)
        except OSError:
            os.close(descriptor)
            raise _in_use(folder) from None
        if _is_at(descriptor, path):
            break
        os.close(descriptor)
    try:
        yield
    finally:
        if fcntl is not None:
            path.unlink(missing_ok=True)  # while it is held: who waits to open it sees it gone
        os.close(descriptor)
        if fcntl is None:
            with contextlib.suppress(OSError):  # Windows removes no file that somebody has open
                path.unlink()


def _lock_file(descriptor: int) -> None:
    if fcntl is None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_at(descriptor: int, path: pathlib.Path) -> bool:
    """Whether the open file is still the one that stands at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _in_use(folder: pathlib.Path) -> UserError:
    return UserError(
        f"{folder}: another process is writing to this folder; wait until it has ended, or choose "
        "another folder with --out"
    )
