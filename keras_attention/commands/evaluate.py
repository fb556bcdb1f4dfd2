"""Translates the sources of a data file and compares: exact match, errors, slices by length."""

from __future__ import annotations

import json
import sys

from keras_attention._runtime.progress import ProgressLines
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    add_length_penalty_option,
    check_beam_width,
    check_length_penalty,
    load_translator,
    verb_parser,
)
from keras_attention.pairs.pair_files import read_pairs


def run(arguments: list[str]) -> None:
    parser = verb_parser("evaluate", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("data", metavar="DATA.tsv", help="pairs to translate and compare")
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    parser.add_argument(
        "--against",
        metavar="MODEL",
        help="another model, compared on the same pairs: differences and how likely chance alone "
        "gives them (paired bootstrap)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_length_penalty_option(parser)
    add_engine_option(parser)
    options = parser.parse_args(arguments)
    check_beam_width(options.beam_width)
    check_length_penalty(options.length_penalty, options.beam_width)
    translator = load_translator(options.model, options.engine)
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.evaluation.translation_report import TranslationReport

    other = options.against and load_translator(options.against, options.engine)
    pairs = read_pairs(options.data, translator.source_kind, translator.target_kind)
    how = options.beam_width, options.length_penalty
    models = 2 if other else 1
    lines = ProgressLines(models * len(pairs), _tell, unit="sentence")
    result = evaluate(translator, pairs, *how, lambda done, _: lines.tell(done))
    against = None
    if other:
        against = evaluate(other, pairs, *how, lambda done, total: lines.tell(total + done))
    report = TranslationReport.of(result, against)
    if options.json:
        print(json.dumps(result.to_dict() | report.to_dict(), indent=2))
    else:
        print(result.to_text())
        print(report.to_text())


def _tell(line: str) -> None:
    print(line.strip(), file=sys.stderr, flush=True)
