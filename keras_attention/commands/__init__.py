"""The verbs of the command line, a module each, thin over the rest of the package.

A module has `run(arguments)`; its first docstring line is what `--help` says of the verb.
"""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence

from keras_attention._runtime.command_line import Parser, exit_with_user_errors
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores
from keras_attention.errors import UserError
from keras_attention.text.repair import argument_bytes, repaired

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
    "convert": "FILE [TARGET] --out FILE.tsv",
    "label": "MODEL WORDS --min-confidence P [--out FILE.tsv]",
    "plot": "MODEL TEXT [--out FILE]",
    "view": "MODEL [DATA.tsv] [--out FILE.html]",
    "compare": "[--data PATH] [--out DIR]",
    "explain": "RUN [DATA.tsv] [--out DIR] [--only PART] [--train-baselines]",
    "export": "RUN [--out EXPORT] [--exceptions FILE] [--against EXPORT --data FILE]",
    "rollback": "EXPORT",
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


def add_engine_option(parser: Parser) -> None:
    """Adds `--engine`, for verbs that read a model."""
    from keras_attention.readers.translator import ENGINES

    parser.add_argument(
        "--engine",
        choices=ENGINES,
        help="what computes: numpy (default), or tensorflow, the Keras model of a run or the "
        "SavedModel of an export",
    )


def load_translator(path: str, engine: str | None = None):
    """`Translator.load`, with TensorFlow kept quiet where it is needed at all."""
    from keras_attention.readers.translator import Translator, needs_tensorflow

    if needs_tensorflow(path, engine):
        divide_cores()
        import_tensorflow_quietly()
    paths = members_of(path)
    return Translator.load(path if paths is None else paths, engine)


def members_of(path: str) -> list[str] | None:
    """The runs of an ensemble, which commas join; None where the path is one model's."""
    return path.split(",") if "," in path and not os.path.exists(path) else None


def load_attention_translator(path: str, verb: str, engine: str | None = None):
    """`load_translator`, for verbs that need attention weights.

    Raises:
        UserError: the model has none.
    """
    translator = load_translator(path, engine)
    if not translator.has_attention:
        raise UserError(
            f"{path}: is a model without attention, so there is nothing to {verb}; train one with "
            "--attention dot"
        )
    return translator


@contextlib.contextmanager
def writing_out(path: str) -> Iterator[pathlib.Path]:
    """The file that `--out` names, in a folder that exists; what the system refuses is told."""
    out = pathlib.Path(path)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        yield out
    except OSError as error:
        raise UserError(f"--out: {out} cannot be written: {error.strerror}") from None


def tell_of_exceptions(texts: Sequence[str], translations: Sequence) -> None:
    """Says on standard error which maps are empty, since a dictionary answered and no model."""
    for text, translation in zip(texts, translations, strict=True):
        if translation.from_exceptions:
            print(
                f"warning: {text!r}: is answered by the dictionary beside the model, which looks "
                "at nothing, so its map is empty",
                file=sys.stderr,
            )


def texts_of_arguments(arguments: Sequence[str]) -> list[str]:
    """Texts from the command line as every model reads them, with a warning where one is broken."""
    return list(repaired(map(argument_bytes, arguments), lambda i: f"TEXT {i + 1}", stacklevel=3))


def check_beam_width(width: int, option: str = "--beam-width") -> None:
    """Raises UserError for a number of hypotheses that `Translator.translate` does not take."""
    from keras_attention.readers.translator import WHY_NOT_WIDER, WIDEST_BEAM

    if width < 1:
        raise UserError(f"{option}: must be at least 1. Received: {width}")
    if width > WIDEST_BEAM:
        raise UserError(
            f"{option}: must be at most {WIDEST_BEAM}: {WHY_NOT_WIDER}. Received: {width}"
        )


def check_max_wrong(most: float | None, beam_width: int) -> None:
    """Raises UserError where answers are to be few enough wrong that were not found greedily."""
    if most is not None and beam_width != 1:
        raise UserError("--max-wrong: is promised for greedy decoding; leave out --beam-width")


def add_length_penalty_option(parser: Parser) -> None:
    """Adds `--length-penalty`, for verbs that may search with a beam."""
    parser.add_argument(
        "--length-penalty",
        type=float,
        metavar="A",
        help="rank a beam's hypotheses by log_probability / length ** A; above 0 favours longer "
        "ones (default: what training chose or the export has, else 0)",
    )


def check_length_penalty(penalty: float | None, beam_width: int) -> None:
    """Raises UserError for a `--length-penalty` that is no number, or that nothing would use."""
    if penalty is None:
        return
    if not math.isfinite(penalty):
        raise UserError(f"--length-penalty: must be finite. Received: {penalty}")
    if beam_width == 1:
        raise UserError(
            "--length-penalty: needs --beam-width of at least 2; greedy decoding ranks nothing"
        )
