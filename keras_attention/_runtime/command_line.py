"""Command lines whose mistakes are one line, and an exit status."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

from keras_attention.errors import UserError


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, without the usage."""

    def __init__(self, **kwargs):
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **kwargs
        )

    def error(self, message: str):
        # argparse says "argument --units: invalid int value: 'x'"; the flag alone comes first here.
        message = message.removeprefix("argument ")
        if message.startswith("unrecognized arguments: "):
            flag = message.removeprefix("unrecognized arguments: ").split()[0]
            message = f"{flag}: is not an option of this command; --help lists them"
        raise UserError(message)


def exit_with_user_errors(main: Callable[[list[str]], None], arguments: list[str]) -> None:
    """Runs `main` and ends the process: 2 after a user's mistake, 130 after Ctrl-C.

    A pipe that is closed early, as `head` does, ends the process quietly. A character that standard
    output cannot show is escaped: a training must not end for the name of its console's encoding.
    A warning is one line as well.
    """
    sys.stdout.reconfigure(errors="backslashreplace")
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        main(arguments)
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
