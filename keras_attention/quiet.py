"""TensorFlow imported without the lines that it writes to standard error whatever is asked."""

from __future__ import annotations

import os
import sys
import tempfile


def import_tensorflow_quietly() -> None:
    """Imports TensorFlow; shows what it writes to standard error only if the import fails.

    Its libraries write through file descriptor 2 before any log level counts, so that a script
    could never print the one line of an error alone. What it logs later, at levels below fatal,
    is kept back too: failures reach Python as exceptions.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    with tempfile.TemporaryFile() as silenced:
        kept = os.dup(2)
        os.dup2(silenced.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
        except BaseException:
            silenced.seek(0)
            os.write(kept, silenced.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
