"""What belongs to the process as a whole; only a command, which owns its process, changes it.

A call of the library finds the environment, the descriptors, the signals and the warnings of its
caller and leaves them so.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import threading
import warnings
from collections.abc import Iterator

from keras_attention._runtime import standard_streams

_commands_running = 0

# For every library that reads them when it is first imported, whatever the user set for other work.
_ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "KERAS_HOME": str(pathlib.Path(__file__).with_name("keras_home")),  # not ~/.keras/keras.json
    "MPLBACKEND": "agg",  # figures are drawn into files
}
_DEFAULTS = {"TF_CPP_MIN_LOG_LEVEL": "3"}


class Terminated(KeyboardInterrupt):
    """SIGTERM came: whatever is half-written is tidied away as after Ctrl-C."""


def is_a_commands() -> bool:
    """Whether a command runs, so that what is the process's may be changed."""
    return _commands_running > 0


@contextlib.contextmanager
def owned_by_command() -> Iterator[None]:
    """Prepares the process for a command, and puts everything back when it has ended."""
    global _commands_running
    with standard_streams.guarded(), _environment(), _one_line_warnings(), _sigterm_as_exception():
        _commands_running += 1
        try:
            yield
        finally:
            _commands_running -= 1


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*_ENVIRONMENT, *_DEFAULTS)}
    os.environ.update(_ENVIRONMENT)
    for name, default in _DEFAULTS.items():
        os.environ.setdefault(name, default)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


@contextlib.contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    # One of several workers may wait for another in native code, where no exception reaches it.
    untouched = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and "TF_CONFIG" not in os.environ
    if not untouched or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise_terminated(number: int, frame: object) -> None:
    raise Terminated
