"""Translates the sources of a data file and compares: exact match, errors, slices by length."""

from __future__ import annotations

import json

from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    check_beam_width,
    load_translator,
    verb_parser,
)
from keras_attention.pairs.pair_files import read_pairs


def run(arguments: list[str]) -> None:
    parser = verb_parser("evaluate", __doc__)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("data", metavar="DATA.tsv", help="pairs to translate and compare")
    parser.add_argument("--beam-width", type=int, default=1, metavar="K", help="default: 1, greedy")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_engine_option(parser)
    options = parser.parse_args(arguments)
    check_beam_width(options.beam_width)
    translator = load_translator(options.model, options.engine)
    from keras_attention.evaluation.evaluation import evaluate

    pairs = read_pairs(options.data, translator.source_kind, translator.target_kind)
    result = evaluate(translator, pairs, options.beam_width)
    print(json.dumps(result.to_dict(), indent=2) if options.json else result.to_text())
