"""Translates each TEXT, or each line of standard input: one output line per input."""

from __future__ import annotations

import collections
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator

from keras_attention._runtime.standard_streams import lines_as_they_come, write_line
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    add_length_penalty_option,
    check_beam_width,
    check_length_penalty,
    load_translator,
    texts_of_arguments,
    verb_parser,
)
from keras_attention.errors import UserError
from keras_attention.pairs.lines import strip_line
from keras_attention.text.repair import repaired
from keras_attention.text.strangeness import telling_of_strange
from keras_attention.text.vocabulary import Vocabulary

LINES_AT_ONCE = 4096


def run(arguments: list[str]) -> None:
    parser = verb_parser("translate", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="without: lines of standard input")
    parser.add_argument(
        "--scores", action="store_true", help="add <TAB>log_probability<TAB>confidence"
    )
    parser.add_argument(
        "--origin",
        action="store_true",
        help="add <TAB>exceptions where the dictionary beside the model answered, else <TAB>model",
    )
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="P",
        help="abstain below this confidence: print an empty line (with --scores still its scores)",
    )
    add_length_penalty_option(parser)
    add_engine_option(parser)
    options = parser.parse_intermixed_args(arguments)  # else no TEXT could stand behind an option
    check_beam_width(options.beam_width)
    check_length_penalty(options.length_penalty, options.beam_width)
    if not 0.0 <= options.min_confidence <= 1.0:
        raise UserError(
            f"--min-confidence: must be from 0 to 1. Received: {options.min_confidence:g}"
        )
    translator = load_translator(options.model, options.engine)
    known = translator.source_vocabulary
    given = texts_of_arguments(options.texts)
    if given:
        chunks = _in_chunks(list(_told_of(given, known, lambda index: f"TEXT {index + 1}")))
    else:
        chunks = _from_standard_input(known)
    for texts in chunks:
        lines = []
        for result in translator.translate(texts, options.beam_width, options.length_penalty):
            line = result.text if result.confidence >= options.min_confidence else ""
            if options.scores:
                line += f"\t{result.log_probability:.6f}\t{result.confidence:.6f}"
            if options.origin:
                line += "\texceptions" if result.from_exceptions else "\tmodel"
            lines.append(line)
        write_line("\n".join(lines))  # one by one, a write to the pipe would be made for each
        sys.stdout.flush()


def _in_chunks(texts: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(texts), LINES_AT_ONCE):
        yield texts[first : first + LINES_AT_ONCE]


def _told_of(
    texts: Iterable[str], known: Vocabulary | None, name: Callable[[int], str]
) -> Iterable[str]:
    """The texts; of those that are unlike the training's a warning tells, where that is known."""
    return texts if known is None else telling_of_strange(texts, known, name, _warn)


def _warn(line: str) -> None:
    print(f"warning: {line}", file=sys.stderr)


def _from_standard_input(known: Vocabulary | None) -> Iterator[list[str]]:
    """Repaired lines, together as they came."""
    sizes: collections.deque[int] = collections.deque()

    def lines() -> Iterator[bytes]:
        numbers = itertools.count(1)
        for chunk in lines_as_they_come(LINES_AT_ONCE):
            sizes.append(len(chunk))
            for line in chunk:
                yield strip_line(next(numbers), line)

    def name(index: int) -> str:
        return f"line {index + 1} of standard input"

    texts = iter(_told_of(repaired(lines(), name), known, name))
    for text in texts:
        yield [text, *itertools.islice(texts, sizes.popleft() - 1)]
