"""The versions of one exported model: the newest is served, and replaced when a newer one appears.

As TensorFlow Serving's default policy has it: only the version with the largest number is loaded,
and it stays until its successor is ready. A version that cannot be loaded, because it is still
being copied or is damaged, is tried again whenever the content of its folder has changed.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import logging
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from keras_attention._runtime.installation import command_for
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import version_folders
from keras_attention.folders.saved_model_files import DAMAGED, reason_of
from keras_attention.serving.loaded_version import LoadedVersion
from keras_attention.serving.statuses import StatusError

# While a version is loaded, seconds after which Python lets another thread run (5 ms otherwise).
# The server's threads hand over several times for each answer.
_SWITCH_SECONDS = 0.0002

_log = logging.getLogger(__name__)

# What tells one content of a folder from another, without reading the files.
Content = tuple[tuple[str, int, int, int, int], ...]


@dataclasses.dataclass
class _State:
    """What the status reply says of a version."""

    name: str
    error: str = ""


@dataclasses.dataclass
class _Failure:
    """A version that could not be loaded.

    Attributes:
        tried: The folder's content when it was tried.
        seen: The content at the last look.
    """

    tried: Content
    seen: Content


class ModelVersions:
    """The model called `name`, whose version folders lie in `folder`.

    Args:
        name, folder: As above.
        threads: Calls of the model that will run at once.
        labels: Names by which requests may ask for the version that is served.
        pinned: Names that stay with one version, which is served beside the newest.

    Raises:
        UserError: there is no version, or none can be loaded; a pinned one is not there.
    """

    def __init__(
        self,
        name: str,
        folder: pathlib.Path,
        threads: int = 1,
        labels: Iterable[str] = (),
        pinned: Mapping[str, int] | None = None,
    ):
        self.name = name
        self._folder = folder
        self._threads = threads
        self._labels = frozenset(labels)
        self._states: dict[int, _State] = {}
        self._failures: dict[int, _Failure] = {}
        self.swaps = 0
        self._number_of = dict(pinned or {})
        self._pinned = self._load_pinned()
        self.current = self._load_first()
        _collect_garbage()

    @property
    def loading(self) -> bool:
        """Whether a version is being loaded."""
        return any(state.name == "LOADING" for state in self._states.values())

    def find(self, name: str, number: int | None = None, label: str | None = None) -> LoadedVersion:
        """The loaded version that a request means.

        Raises:
            StatusError: it is not loaded.
        """
        self._check_label(label)
        number = self._number_of.get(label or "", number)
        if name == self.name and number in self._pinned:
            return self._pinned[number]
        if name != self.name or number not in (None, self.current.number):
            wanted = f"Latest({name})" if number is None else f"Specific({name}, {number})"
            raise StatusError(f"Servable not found for request: {wanted}", "NOT_FOUND")
        return self.current

    def status(self, name: str, number: int | None = None, label: str | None = None) -> dict:
        """The status reply: every version that was seen, or the one asked for.

        Raises:
            StatusError: there is none.
        """
        self._check_label(label)
        if label is not None:
            number = self._number_of.get(label, self.current.number)
        states = self._states if name == self.name else {}
        if number is not None:
            if number not in states:
                message = f"Could not find version {number} of model {name}"
                raise StatusError(message, "NOT_FOUND")
            states = {number: states[number]}
        if not states:
            raise StatusError(f"Could not find any versions of model {name}", "NOT_FOUND")
        return {
            "model_version_status": [
                {
                    "version": str(version),
                    "state": state.name,
                    "status": {
                        "error_code": "UNKNOWN" if state.error else "OK",
                        "error_message": state.error,
                    },
                }
                for version, state in sorted(states.items(), reverse=True)
            ]
        }

    async def watch(self, seconds: float, drain: Callable) -> None:
        """Looks for another newest version every so many seconds, until cancelled.

        One that cannot be loaded is reported, and what was served stays. It is tried again once
        its folder has other content than at the last try, and the same at two looks.

        Args:
            seconds: Between two looks.
            drain: Awaited with a version that was replaced; returns when no call of it runs.
        """
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._refresh(drain)
            except OSError as error:
                _log.warning("%s: cannot be read: %s", self._folder, error.strerror)

    async def _refresh(self, drain: Callable) -> None:
        folders = await asyncio.to_thread(version_folders, self._folder)
        for number in sorted(folders, reverse=True):
            if number == self.current.number:
                return
            content = await asyncio.to_thread(_content, folders[number])
            if not self._worth_a_try(number, content):
                continue
            if await self._replace(number, folders[number], content, drain):
                return

    def _worth_a_try(self, number: int, content: Content) -> bool:
        failure = self._failures.get(number)
        if failure is None:
            return True
        settled, failure.seen = content == failure.seen, content
        return settled and content != failure.tried

    async def _replace(
        self, number: int, folder: pathlib.Path, content: Content, drain: Callable
    ) -> bool:
        """Loads a version, warms it up, and switches to it; whether that went well."""
        before = self.current
        self._states[number] = _State("LOADING")
        try:
            if number in self._pinned:
                loaded = self._pinned[number]
            else:
                loaded = await asyncio.to_thread(_load_politely, number, folder, self._threads)
        except Exception as error:  # whatever is in that folder, the server goes on
            self._failed(number, content, error)
            return False
        self.current = loaded
        self.swaps += 1
        self._failures.pop(number, None)
        self._states[number] = _State("AVAILABLE")
        if before.number not in self._pinned:
            self._states[before.number] = _State("UNLOADING")
            await drain(before)
            await asyncio.to_thread(before.close)
            self._states[before.number] = _State("END")
        _log.info("version %d is served in place of %d", number, before.number)
        return True

    def _load_first(self) -> LoadedVersion:
        """The newest version that can be loaded."""
        folders = _folders_or_error(self._folder)
        first_error = None
        for number, folder in reversed(folders.items()):
            content = _content(folder)
            try:
                loaded = self._pinned.get(number) or LoadedVersion(number, folder, self._threads)
            except DAMAGED as error:
                self._failed(number, content, error)
                first_error = first_error or f"{folder}: cannot be loaded: {reason_of(error)}"
                continue
            self._states[number] = _State("AVAILABLE")
            return loaded
        raise UserError(
            f"{first_error}; export the run again"
            if first_error
            else f"{self._folder}: holds no version; run `{command_for('export')}` again"
        )

    def _load_pinned(self) -> dict[int, LoadedVersion]:
        """The versions that labels stay with, by number."""
        folders = _folders_or_error(self._folder)
        found: dict[int, LoadedVersion] = {}
        for label, number in self._number_of.items():
            if number not in folders:
                raise UserError(
                    f"--label: {label}={number} names no version in {self._folder}, which holds "
                    f"{', '.join(map(str, folders)) or 'none'}"
                )
            try:
                if number not in found:
                    found[number] = LoadedVersion(number, folders[number], self._threads)
            except DAMAGED as error:
                raise UserError(
                    f"--label: {label}={number}: {folders[number]} cannot be loaded: "
                    f"{reason_of(error)}; export the run again"
                ) from None
            self._states[number] = _State("AVAILABLE")
        return found

    def _failed(self, number: int, content: Content, error: Exception) -> None:
        self._failures[number] = _Failure(content, content)
        self._states[number] = _State("END", reason_of(error))
        _log.warning("version %d cannot be loaded: %s", number, type(error).__name__)

    def _check_label(self, label: str | None) -> None:
        if label is not None and label not in self._labels | self._number_of.keys():
            raise StatusError(f"Unrecognized servable version label: {label}")


def _folders_or_error(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    try:
        return version_folders(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be read: {error.strerror}") from None


def _load_politely(number: int, folder: pathlib.Path, threads: int) -> LoadedVersion:
    """Loads a version while others are answered: with short turns of the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return LoadedVersion(number, folder, threads)
    finally:
        sys.setswitchinterval(before)


def _content(folder: pathlib.Path) -> Content:
    """Names, sizes and times of all files below a folder; of a file that just went, nothing."""
    return tuple(sorted(_files(folder)))


def _files(folder: pathlib.Path) -> Iterator[tuple[str, int, int, int, int]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                status = os.stat(path)
            except OSError:
                continue
            times = status.st_mtime_ns, status.st_ctime_ns
            yield path, status.st_size, status.st_ino, *times


def _collect_garbage() -> None:
    """Collects once, and sets apart what is left.

    TensorFlow's many objects would make every later collection a pause of a quarter of a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
