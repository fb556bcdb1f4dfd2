"""Answers that a model is sure of, as pairs to train on: self-training, and distillation.

WORDS has a source on each line; behind a tab may stand anything. A line of the result is
source<TAB>answer<TAB>confidence=0.9731, and training reads it like any other pair. Sources of the
validation and test parts of the run's own data are left out, and so are those of --without.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterator

from keras_attention._runtime.standard_streams import write_line
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    check_beam_width,
    load_translator,
    members_of,
    verb_parser,
    writing_out,
)
from keras_attention.config import load_config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CONFIG, is_run
from keras_attention.pairs.lines import is_blank, iterate_raw_lines, strip_line
from keras_attention.pairs.pair import format_line
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import load_part, split_files
from keras_attention.text.repair import repaired


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    check_beam_width(options.beam_width)
    if not 0.0 <= options.min_confidence <= 1.0:
        raise UserError(
            f"--min-confidence: must be from 0 to 1. Received: {options.min_confidence:g}"
        )
    sources = _sources(options.words)
    if not sources:
        raise UserError(f"{options.words}: is empty, expected a source on each line")
    withheld = [source for path in options.without for source in _sources_of(path)]
    for model in members_of(options.model) or [options.model]:
        if is_run(model):
            withheld += _judges_of(model)
    translator = load_translator(options.model, options.engine)
    from keras_attention.evaluation.labelling import label

    made = label(translator, sources, options.min_confidence, withheld, options.beam_width)
    if options.out is None:
        for pair in made.pairs:
            write_line(format_line(pair).decode().removesuffix("\n"))
        print(made.to_text(), file=sys.stderr)
        return
    with writing_out(options.out) as out:
        write_pairs(out, made.pairs)
    print(f"{out}: {made.to_text()}")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = verb_parser("label", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("words", metavar="WORDS", help="the sources; may be gzip (.gz)")
    parser.add_argument(
        "--min-confidence",
        type=float,
        required=True,
        metavar="P",
        help="the least confidence of a pair, from 0 to 1; 0 keeps every answer",
    )
    parser.add_argument("--out", metavar="FILE.tsv", help="default: standard output")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PATH",
        help="sources that must not become pairs: a file of them or of pairs, or a data folder, of "
        "which all three parts count; may be given several times",
    )
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    add_engine_option(parser)
    return parser.parse_args(arguments)


def _sources(path: str | pathlib.Path) -> list[str]:
    """The first column of each line of a file that is not blank."""

    def first_columns() -> Iterator[bytes]:
        for number, raw in iterate_raw_lines(path):
            line = strip_line(number, raw)
            if b"\0" in line:
                raise UserError(f"{path}:{number}: holds a NUL character; remove it")
            if not is_blank(line):
                yield line.partition(b"\t")[0]

    sources = repaired(first_columns(), lambda index: f"{path}, source {index + 1}")
    return [source for source in sources if source.strip()]


def _sources_of(path: str) -> list[str]:
    """All sources of a file or of a data folder."""
    if not pathlib.Path(path).is_dir():
        return _sources(path)
    parts = [file for name in ("train", "valid", "test") for file in split_files(path, name)]
    return [source for file in parts for source in _sources(file)]


def _judges_of(path: str) -> list[str]:
    """The sources by which a run was validated and tested: an answer to them must not be learnt.

    Where its data are gone, a warning says so.
    """
    config = load_config(pathlib.Path(path) / CONFIG)
    kinds = config.source_tokens, config.target_tokens
    try:
        return [
            pair.source
            for part in ("valid", "test")
            for pair in load_part(config.data, part, config.seed, *kinds)
        ]
    except UserError as error:
        print(
            f"warning: {path}: its validation and test words are not left out ({error}); name "
            "them with --without",
            file=sys.stderr,
        )
        return []
