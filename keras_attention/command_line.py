"""Options into a config, and a user's mistake into one line and exit status 2."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import warnings
from collections.abc import Callable

from keras_attention.config import Config, flag_of, merge, read_config_file, type_of
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


def parse_training_config(arguments: list[str], description: str) -> Config:
    """The config that a command line of `train.py` asks for.

    Raises:
        UserError: an unknown option, a bad value, or a bad config file.
    """
    parser = Parser(description=description)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in dataclasses.fields(Config):
        title = field.metadata["group"]
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
            if len(groups) == 1:
                groups[title].add_argument(
                    "--config", metavar="FILE.json", help="other defaults, as JSON; a flag beats it"
                )
        _add_option(groups[title], field)
    flags = vars(parser.parse_args(arguments))
    path = flags.pop("config", None)
    try:
        fields = read_config_file(path) if path else {}
        return merge(fields, flags)
    except UserError as error:
        if path and not flags and str(error).startswith("--"):
            raise UserError(f"{path}: {error}") from None
        raise


def _add_option(group, field: dataclasses.Field) -> None:
    kind, _ = type_of(field)
    default = "" if field.default is None else f" (default: {_shown(field.default)})"
    options = {
        "dest": field.name,
        "default": argparse.SUPPRESS,  # so that only given flags are there, to beat the file
        "help": (field.metadata["help"] + default).replace("%", "%%"),
    }
    if kind is bool:
        action = argparse.BooleanOptionalAction if field.name in _SWITCHES else "store_true"
        group.add_argument(flag_of(field), action=action, **options)
    else:
        metavar = "|".join(field.metadata["choices"]) or {str: "PATH", int: "N", float: "X"}[kind]
        group.add_argument(flag_of(field), type=kind, metavar=metavar, **options)


# Booleans that can also be switched off, by --no-NAME; resume and overwrite are off already.
_SWITCHES = frozenset({"attentional_layer", "bidirectional", "reverse_source"})


def _shown(value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
