"""Command lines whose mistakes are one line, and an exit status."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from keras_attention._runtime.installation import error_of_missing_module
from keras_attention._runtime.process import Terminated, owned_by_command
from keras_attention._runtime.standard_streams import OutputLost
from keras_attention.errors import UserError

# What the machine refuses, whatever the program does: one line says it.
_OF_THE_MACHINE = frozenset(
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EACCES", "EPERM"),
        *("EMFILE", "ENFILE", "ENAMETOOLONG", "ELOOP", "ESTALE"),
    )
    if hasattr(errno, name)
)

# No argument of a process can hold it; it marks what stands behind `--`.
_VERBATIM = "\0"


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, without the usage.

    What stands behind `--` is taken as it is, a second `--` included.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **kwargs
        )
        self._looks_like_option: str | None = None
        self._marked = False

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._look_for_options(self._with_marks(args))
        return super().parse_args(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._marked:  # by `parse_intermixed_args`, which comes here twice
            return super().parse_known_args(args, namespace)
        return _without_marks(super().parse_known_args(self._with_marks(args), namespace))

    def parse_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        given = self._with_marks(args)
        self._look_for_options(given)
        self._marked = True
        try:
            options = super().parse_intermixed_args(given, namespace)
        finally:
            self._marked = False
        return _without_marks((options, []))[0]

    def _with_marks(self, args: Sequence[str] | None) -> list[str]:
        given = list(sys.argv[1:] if args is None else args)
        if "--" in given:
            end = given.index("--")
            given[end:] = [_VERBATIM + argument for argument in given[end + 1 :]]
        return given

    def _look_for_options(self, given: Sequence[str]) -> None:
        self._looks_like_option = next(filter(self._is_unknown_option, given), None)

    def _is_unknown_option(self, argument: str) -> bool:
        return (
            len(argument) > 1
            and argument.startswith("-")
            and " " not in argument  # argparse takes it for a value
            and argument.partition("=")[0] not in self._option_string_actions
            and not self._negative_number_matcher.match(argument)
        )

    def error(self, message: str) -> NoReturn:
        # argparse says "argument --units: invalid int value: 'x'"; the flag alone comes first here.
        message = message.removeprefix("argument ").replace(_VERBATIM, "").replace(r"\x00", "")
        if message.startswith("unrecognized arguments: "):
            message = self._not_an_option(
                message.removeprefix("unrecognized arguments: ").split()[0]
            )
        elif self._looks_like_option and "arguments are required" in message:
            message = self._not_an_option(self._looks_like_option)
        elif self._looks_like_option and "expected one argument" in message:
            flag = message.partition(":")[0].rpartition("/")[2]
            value = self._looks_like_option
            message += f"; where {value} is its value, write {flag}={value}"
        raise UserError(message)

    def _not_an_option(self, argument: str) -> str:
        message = f"{argument}: is not an option of this command; --help lists them"
        if argument.startswith("-") and any(not action.option_strings for action in self._actions):
            message += "; if it is a text or a file, put -- before it"
        return message


def _without_marks(parsed: tuple[argparse.Namespace, list[str]]) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value.removeprefix(_VERBATIM) if isinstance(value, str) else value

    options, unknown = parsed
    for name, value in vars(options).items():
        setattr(options, name, plain(value))
    return options, plain(unknown)


def exit_with_user_errors(main: Callable[[list[str]], None], arguments: Sequence[str]) -> None:
    """Runs `main` as a command of this process, and ends the process unless all went well.

    The status is 2 after a mistake of the user's or a refusal of the machine's, 130 after Ctrl-C,
    143 after SIGTERM, and 141 where the reader of standard output has ended, as `head` does. See
    `process.owned_by_command` for what a command changes of its process.
    """
    with owned_by_command():
        status = _status_of(main, list(arguments))
    if status:
        sys.exit(status)


def _status_of(main: Callable[[list[str]], None], arguments: list[str]) -> Any:
    try:
        try:
            main(arguments)
        finally:
            sys.stdout.flush()
    except UserError as error:
        return _complain(str(error))
    except SystemExit as exit:
        return exit.code
    except KeyboardInterrupt as stop:
        notes = getattr(stop, "__notes__", ())
        print("; ".join(("stopped", *notes)), file=sys.stderr)
        return 143 if isinstance(stop, Terminated) else 130
    except OutputLost as lost:
        if lost.nobody_reads:
            return 141
        reason = lost.reason.strerror or lost.reason
        return _complain(f"standard output: cannot be written: {reason}")
    except ModuleNotFoundError as error:
        missing = error_of_missing_module(error)
        if missing is None:
            raise
        return _complain(str(missing))
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            raise
        place = f"{error.filename}: " if error.filename else ""
        return _complain(f"{place}{error.strerror}")
    return 0


def _complain(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2
