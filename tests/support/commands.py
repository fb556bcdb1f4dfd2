"""Commands called in this process, as their scripts do."""

import contextlib
import io
import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple


class Finished(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


def call(main, arguments: Sequence) -> Finished:
    """Calls a command's `main` as its script does, in this process."""
    from keras_attention._runtime.command_line import exit_with_user_errors

    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
        for _ in range(2)
    )
    formatter, status = warnings.formatwarning, 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exit_with_user_errors(main, [str(argument) for argument in arguments])
        except SystemExit as exit:
            status = exit.code or 0
        finally:
            warnings.formatwarning = formatter
    for stream in (out, err):
        stream.flush()
    return Finished(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def call_train(*arguments) -> Finished:
    """`python train.py ARGUMENTS` in this process."""
    from keras_attention.commands import train

    return call(train.run, arguments)


def call_verb(*arguments, stdin: bytes = b"") -> Finished:
    """`python -m keras_attention ARGUMENTS` in this process."""
    from keras_attention import __main__

    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        return call(__main__.main, arguments)
    finally:
        sys.stdin = before
