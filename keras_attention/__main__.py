"""`keras-attention VERB`, or `python -m keras_attention VERB`: runs the module of the verb."""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    """Calls the verb that the first argument names."""
    from keras_attention.commands import VERBS, program
    from keras_attention.errors import UserError

    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"usage: {program()} VERB ...\n")
        for verb, usage in VERBS.items():
            print(f"  {verb} {usage}\n      {_summary(verb)}")
        print("\nEach verb has a --help of its own.")
        return
    verb, *rest = arguments
    if verb == "--version":
        from keras_attention.version import __version__

        print(__version__)
        return
    if verb not in VERBS:
        raise UserError(f"{verb}: is not a verb; use one of {', '.join(VERBS)}")
    _module(verb).run(rest)


def run_verb(verb: str, arguments: list[str]) -> None:
    """One verb as a command of its own, as `train.py` and `export.py` are."""
    _as_command([verb, *arguments])


def console_script() -> None:
    """What the console script `keras-attention` calls."""
    _as_command(sys.argv[1:])


def _as_command(arguments: list[str]) -> None:
    # Little is imported outside of it, so that Ctrl-C is one line from the start.
    try:
        from keras_attention._runtime.command_line import exit_with_user_errors
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    exit_with_user_errors(main, arguments)


def _module(verb: str):
    import importlib

    return importlib.import_module(f"keras_attention.commands.{verb}")


def _summary(verb: str) -> str:
    return _module(verb).__doc__.splitlines()[0]


if __name__ == "__main__":
    console_script()
