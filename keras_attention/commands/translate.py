"""Translates each TEXT, or each line of standard input: one output line per input.

Only --n-best and --coverage print several lines for an input.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator

from keras_attention._runtime.standard_streams import lines_as_they_come, write_line
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    add_length_penalty_option,
    check_beam_width,
    check_length_penalty,
    check_max_wrong,
    load_translator,
    texts_of_arguments,
    verb_parser,
)
from keras_attention.errors import UserError
from keras_attention.pairs.lines import strip_line
from keras_attention.readers.printed import as_dict, columns_of, n_best_lines, set_lines
from keras_attention.text.repair import repaired
from keras_attention.text.strangeness import telling_of_strange
from keras_attention.text.vocabulary import Vocabulary

LINES_AT_ONCE = 4096


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    translator = load_translator(options.model, options.engine)
    if options.alignment and not translator.has_attention:
        raise UserError(
            f"--alignment: {options.model} is a model without attention; train one with "
            "--attention dot"
        )
    least = options.min_confidence
    if options.max_wrong is not None:
        least = max(least, translator.confidence_for(options.max_wrong))
    known = translator.source_vocabulary
    given = texts_of_arguments(options.texts)
    if given:
        chunks = _in_chunks(list(_told_of(given, known, lambda index: f"TEXT {index + 1}")))
    else:
        chunks = _from_standard_input(known)
    number = 0
    for texts in chunks:
        found = translator.translate(
            texts,
            options.beam_width,
            options.length_penalty,
            n_best=options.n_best,
            coverage=options.coverage,
        )
        lines: list[str] = []
        for source, result in zip(texts, found, strict=True):
            number += 1
            lines += _lines(number, source, result, options, least)
        write_line("\n".join(lines))  # one by one, a write to the pipe would be made for each
        sys.stdout.flush()


def _parse(arguments: list[str]) -> argparse.Namespace:
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
    parser.add_argument(
        "--max-wrong",
        type=float,
        metavar="P",
        help="abstain so often that at most this share of the answers is wrong, promised from "
        "validation pairs",
    )
    parser.add_argument(
        "--n-best",
        type=int,
        metavar="N",
        help="print N hypotheses of each input, a line each: number of the input<TAB>text<TAB>"
        "confidence",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        metavar="P",
        help="print a set of answers that holds the right one with this probability, a line each: "
        "number of the input<TAB>text<TAB>coverage that is promised",
    )
    parser.add_argument(
        "--alignment",
        action="store_true",
        help="add a column of links between source and target tokens in Pharaoh form, i-j",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object an input: all that is known of it"
    )
    add_length_penalty_option(parser)
    add_engine_option(parser)
    options = parser.parse_intermixed_args(arguments)  # else no TEXT could stand behind an option
    check_beam_width(options.beam_width)
    check_length_penalty(options.length_penalty, max(options.beam_width, options.n_best or 1))
    _check(options)
    return options


def _check(options: argparse.Namespace) -> None:
    """Raises UserError for options that are out of range or contradict each other."""
    if not 0.0 <= options.min_confidence <= 1.0:
        raise UserError(
            f"--min-confidence: must be from 0 to 1. Received: {options.min_confidence:g}"
        )
    if options.n_best is not None:
        check_beam_width(options.n_best, "--n-best")
    several = [
        name
        for name, value in (("--n-best", options.n_best), ("--coverage", options.coverage))
        if value is not None
    ]
    if several and (options.min_confidence or options.max_wrong is not None):
        raise UserError(
            f"{several[0]}: prints alternatives, where nothing is left out; leave out "
            "--min-confidence and --max-wrong"
        )
    check_max_wrong(options.max_wrong, options.beam_width)
    if several and options.origin:
        raise UserError(f"--origin: is a column of single answers; leave out {several[0]}")
    if options.coverage is not None and options.alignment and not options.json:
        raise UserError("--alignment: a set has texts alone; use --n-best, or --json")


def _lines(number: int, source: str, result, options, least: float) -> Iterator[str]:
    """What is printed of one input."""
    answered = result.confidence >= least
    if options.json:
        yield json.dumps(as_dict(result, source, answered), ensure_ascii=False)
    elif result.answer_set is not None:
        yield from set_lines(number, result.answer_set)
    elif options.n_best is not None:
        yield from n_best_lines(number, result, source, options.scores, options.alignment)
    else:
        line = columns_of(result, source, options.scores, options.alignment, answered)
        if options.origin:
            line += "\texceptions" if result.from_exceptions else "\tmodel"
        yield line


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
