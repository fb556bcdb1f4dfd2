"""The verbs of the command line, a module each, thin over the rest of the package.

A module has `run(arguments)`; its first docstring line is what `--help` says of the verb.
"""

from __future__ import annotations

import os
import pathlib
import sys

from keras_attention._runtime.command_line import Parser, exit_with_user_errors
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores
from keras_attention.errors import UserError

# For programs beside the package, such as the examples, that are commands as well.
__all__ = [
    "MODEL_HELP",
    "VERBS",
    "Parser",
    "divide_cores",
    "exit_with_user_errors",
    "import_tensorflow_quietly",
    "load_attention_translator",
    "load_translator",
    "program",
    "verb_parser",
]

# In the order in which someone meets them; each with what stands behind it on the command line.
VERBS = {
    "train": "[--data PATH] [--out RUN]",
    "translate": "MODEL [TEXT ...]",
    "evaluate": "MODEL DATA.tsv",
    "check": "DATA",
    "plot": "MODEL TEXT [--out FILE]",
    "view": "MODEL [DATA.tsv] [--out FILE.html]",
    "compare": "[--data PATH] [--out DIR]",
    "explain": "RUN [DATA.tsv] [--out DIR] [--only PART] [--train-baselines]",
    "export": "RUN [--out EXPORT]",
    "serve": "EXPORT [--port 8501]",
}

MODEL_HELP = "a run folder (several, joined by commas, as an ensemble), an export, a .tflite file"


def verb_parser(name: str, description: str) -> Parser:
    """A parser of one verb's options; `description` is its module's docstring."""
    door = name if pathlib.Path(sys.argv[0]).name == f"{name}.py" else None
    return Parser(
        prog=f"python {door}.py" if door else f"{program()} {name}", description=description
    )


def program() -> str:
    """How the user calls the verbs: the console script, or the package."""
    script = pathlib.Path(sys.argv[0]).stem == "keras-attention"
    return "keras-attention" if script else "python -m keras_attention"


def load_translator(path: str):
    """`Translator.load`, with TensorFlow kept quiet, or not imported where it isn't needed."""
    if not path.endswith(".tflite") or os.path.isdir(path):
        divide_cores()
        import_tensorflow_quietly()
    from keras_attention.readers.translator import Translator

    joined = "," in path and not os.path.exists(path)
    return Translator.load(path.split(",") if joined else path)


def load_attention_translator(path: str, verb: str):
    """`load_translator`, for verbs that need attention weights.

    Raises:
        UserError: the model has none.
    """
    translator = load_translator(path)
    if not translator.has_attention:
        raise UserError(
            f"{path}: is a model without attention, so there is nothing to {verb}; train one with "
            "--attention dot"
        )
    return translator
