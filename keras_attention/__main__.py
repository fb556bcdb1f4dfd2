"""`python -m keras_attention VERB`: the verbs of the package, thin over its modules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from keras_attention.command_line import Parser, exit_with_user_errors
from keras_attention.errors import UserError
from keras_attention.quiet import import_tensorflow_quietly

LINES_AT_ONCE = 1024


def translate(arguments: list[str]) -> None:
    """translate MODEL [TEXT ...]: one output line per input"""
    parser = _parser(VERBS["translate"])
    parser.add_argument("model", metavar="MODEL", help="a run, an export or a .tflite file")
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="without: lines of standard input")
    parser.add_argument(
        "--scores", action="store_true", help="add <TAB>log_probability<TAB>confidence"
    )
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    options = parser.parse_intermixed_args(arguments)  # else no TEXT could stand behind an option
    if options.beam_width < 1:
        raise UserError(f"--beam-width: must be at least 1. Received: {options.beam_width}")
    translator = _load(options.model)
    # What is no UTF-8 on the command line arrives as surrogates: back to the bytes that it was.
    given = [text.encode("utf-8", "surrogateescape") for text in options.texts]
    for texts in _chunks(given or _lines_of_standard_input()):
        for result in translator.translate(texts, options.beam_width):
            line = result.text
            if options.scores:
                line += f"\t{result.log_probability:.6f}\t{result.confidence:.6f}"
            sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()


def evaluate(arguments: list[str]) -> None:
    """evaluate MODEL DATA.tsv: exact match, token error rate, slices by length"""
    parser = _parser(VERBS["evaluate"])
    parser.add_argument("model", metavar="MODEL", help="a run, an export or a .tflite file")
    parser.add_argument("data", metavar="DATA.tsv", help="pairs to translate and compare")
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    from keras_attention.data import read_pairs

    translator = _load(options.model)
    from keras_attention.evaluation import evaluate

    pairs = read_pairs(options.data, translator.source_kind, translator.target_kind)
    result = evaluate(translator, pairs, options.beam_width)
    if options.json:
        print(json.dumps(result.to_dict(), indent=2))
    else:
        print(result.to_text())


VERBS = {verb.__name__: verb for verb in (translate, evaluate)}


def _parser(verb) -> Parser:
    return Parser(prog=f"python -m keras_attention {verb.__name__}", description=verb.__doc__)


def _load(path: str):
    if not path.endswith(".tflite"):  # a LiteRT file is read without TensorFlow, in no time
        import_tensorflow_quietly()
    from keras_attention.translator import Translator

    return Translator.load(path)


def _lines_of_standard_input() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _chunks(texts: Sequence | Iterator) -> Iterator[list]:
    chunk: list = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == LINES_AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def main(arguments: list[str]) -> None:
    """Calls the verb that the first argument names."""
    lines = [f"  {verb.__doc__}" for verb in VERBS.values()]
    usage = "usage: python -m keras_attention VERB ...\n\n" + "\n".join(lines)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage)
        return
    verb, *rest = arguments
    if verb not in VERBS:
        raise UserError(f"{verb}: is not a verb; use one of {', '.join(VERBS)}")
    VERBS[verb](rest)


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
