"""Libraries that write to standard error whatever is asked, kept from doing so."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def silent_standard_error() -> Iterator[None]:
    """Keeps back what is written through file descriptor 2, by native code too.

    It is shown after all if the block raises. Without this a script could never print the one line
    of an error alone.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as silenced:
        kept = os.dup(2)
        os.dup2(silenced.fileno(), 2)
        try:
            yield
        except BaseException:
            silenced.seek(0)
            os.write(kept, silenced.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def import_tensorflow_quietly() -> None:
    """Imports TensorFlow without its start-up lines.

    What it logs later, at levels below fatal, is kept back too: failures reach Python as
    exceptions.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["KERAS_BACKEND"] = "tensorflow"  # whatever the user's keras.json says for other work
    with silent_standard_error(), _without_garbage_collection():
        import tensorflow  # noqa: F401


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
