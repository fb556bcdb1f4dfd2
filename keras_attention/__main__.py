"""`python -m keras_attention VERB`: finds the verb's module and runs it."""

from __future__ import annotations

import importlib
import sys

from keras_attention._runtime.command_line import exit_with_user_errors
from keras_attention.commands import VERBS
from keras_attention.errors import UserError


def main(arguments: list[str]) -> None:
    """Calls the verb that the first argument names."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m keras_attention VERB ...\n")
        for verb, usage in VERBS.items():
            print(f"  {verb} {usage}\n      {_summary(verb)}")
        print("\nEach verb has a --help of its own.")
        return
    verb, *rest = arguments
    if verb not in VERBS:
        raise UserError(f"{verb}: is not a verb; use one of {', '.join(VERBS)}")
    _module(verb).run(rest)


def _module(verb: str):
    return importlib.import_module(f"keras_attention.commands.{verb}")


def _summary(verb: str) -> str:
    return _module(verb).__doc__.splitlines()[0]


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
