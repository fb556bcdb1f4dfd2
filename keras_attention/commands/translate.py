"""Translates each TEXT, or each line of standard input: one output line per input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from keras_attention.commands import MODEL_HELP, add_engine_option, load_translator, verb_parser
from keras_attention.errors import UserError

LINES_AT_ONCE = 1024


def run(arguments: list[str]) -> None:
    parser = verb_parser("translate", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="without: lines of standard input")
    parser.add_argument(
        "--scores", action="store_true", help="add <TAB>log_probability<TAB>confidence"
    )
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="P",
        help="abstain below this confidence: print an empty line (with --scores still its scores)",
    )
    add_engine_option(parser)
    options = parser.parse_intermixed_args(arguments)  # else no TEXT could stand behind an option
    if options.beam_width < 1:
        raise UserError(f"--beam-width: must be at least 1. Received: {options.beam_width}")
    if not 0.0 <= options.min_confidence <= 1.0:
        raise UserError(
            f"--min-confidence: must be from 0 to 1. Received: {options.min_confidence:g}"
        )
    translator = load_translator(options.model, options.engine)
    # What is no UTF-8 on the command line arrives as surrogates: back to the bytes that it was.
    given = [text.encode("utf-8", "surrogateescape") for text in options.texts]
    for texts in _chunks(given or _lines_of_standard_input()):
        for result in translator.translate(texts, options.beam_width):
            line = result.text if result.confidence >= options.min_confidence else ""
            if options.scores:
                line += f"\t{result.log_probability:.6f}\t{result.confidence:.6f}"
            sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()


def _lines_of_standard_input() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _chunks(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == LINES_AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
