"""Libraries that write to standard error whatever is asked, kept from doing so in a command."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator

from keras_attention._runtime.process import is_a_commands


@contextlib.contextmanager
def silent_standard_error() -> Iterator[None]:
    """Keeps back what is written through file descriptor 2, by native code too.

    It is shown after all if the block raises. Without this a command could never print the one line
    of an error alone. The descriptor is the whole process's: where no command runs, or in a thread
    beside the main one, nothing is kept back.
    """
    if not is_a_commands() or threading.current_thread() is not threading.main_thread():
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as silenced:
        kept = os.dup(2)
        os.dup2(silenced.fileno(), 2)
        try:
            yield
        except BaseException:
            silenced.seek(0)
            with contextlib.suppress(OSError):  # nobody may be there to read it
                os.write(kept, silenced.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def import_tensorflow_quietly() -> None:
    """Imports TensorFlow, in a command without its start-up lines and half a second faster.

    What it logs later, at levels below fatal, is kept back too: failures reach Python as
    exceptions. Where no command runs, it is an import like any other.
    """
    if not is_a_commands():
        import tensorflow  # noqa: F401

        return
    with _without_garbage_collection(), silent_standard_error():
        import tensorflow  # noqa: F401
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # advice to programmers


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """For what makes many objects that all stay: half a second of TensorFlow's import of 2.4."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collected:
            gc.enable()
