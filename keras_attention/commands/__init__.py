"""The verbs of `python -m keras_attention`, a module each, thin over the rest of the package.

A module has `run(arguments)`; its first docstring line is what `--help` says of the verb.
"""

from __future__ import annotations

import os

from keras_attention._runtime.command_line import Parser
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores
from keras_attention.errors import UserError

# In the order in which someone meets them; each with what stands behind it on the command line.
VERBS = {
    "translate": "MODEL [TEXT ...]",
    "evaluate": "MODEL DATA.tsv",
    "check": "DATA",
    "plot": "MODEL TEXT [--out FILE]",
    "view": "MODEL [DATA.tsv] [--out FILE.html]",
    "compare": "[--data PATH] [--out DIR]",
    "explain": "RUN [DATA.tsv] [--out DIR] [--only PART] [--train-baselines]",
    "serve": "EXPORT [--port 8501]",
}

MODEL_HELP = "a run folder (several, joined by commas, as an ensemble), an export, a .tflite file"


def verb_parser(name: str, description: str) -> Parser:
    """A parser of one verb's options; `description` is its module's docstring."""
    return Parser(prog=f"python -m keras_attention {name}", description=description)


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
