"""Translates the sources of a data file and compares: exact match, errors, slices by length."""

from __future__ import annotations

import dataclasses
import json
import sys

from keras_attention._runtime.files import check_place
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
    parser.add_argument(
        "--by",
        metavar="COLUMN|REGEX|length",
        help="slices, the worst first: by a column of the file (its number, from 1), by what a "
        "regular expression finds in the sources (its first group), or by length; and the errors, "
        "sorted",
    )
    parser.add_argument(
        "--report",
        metavar="FILE.html",
        help="write a page: slices, confidence, errors grouped, wrong answers",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        metavar="P",
        help="how often sets of answers that promise this hold the right one, and how large they "
        "are, in all, by length and by confidence",
    )
    parser.add_argument(
        "--max-wrong",
        type=float,
        metavar="P",
        help="how many answers are given, and how many of these are wrong, if at most this share "
        "is promised to be",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_length_penalty_option(parser)
    add_engine_option(parser)
    options = parser.parse_args(arguments)
    if options.report is not None:
        check_place("--report", options.report)
    check_beam_width(options.beam_width)
    check_length_penalty(options.length_penalty, options.beam_width)
    translator = load_translator(options.model, options.engine)
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.evaluation.reports.report import Report, write_page
    from keras_attention.evaluation.reports.slices import (
        BY_LENGTH,
        Errors,
        read_pairs_with_columns,
        slices_by,
    )
    from keras_attention.evaluation.translation_report import TranslationReport
    from keras_attention.evaluation.trust.figures import confidence_figures
    from keras_attention.evaluation.trust.measured import abstention, measure_sets

    promised = options.max_wrong and translator.confidence_for(options.max_wrong)
    other = options.against and load_translator(options.against, options.engine)
    by_column = options.by is not None and options.by.isascii() and options.by.isdecimal()
    kinds = translator.source_kind, translator.target_kind
    pairs = read_pairs_with_columns(options.data) if by_column else read_pairs(options.data, *kinds)
    how = options.beam_width, options.length_penalty
    models = 2 if other else 1
    lines = ProgressLines(models * len(pairs), _tell, unit="sentence")
    result = evaluate(translator, pairs, *how, lambda done, _: lines.tell(done))
    against = None
    if other:
        against = evaluate(other, pairs, *how, lambda done, total: lines.tell(total + done))
    report = TranslationReport.of(result, against)
    sorted_out = None
    if options.by is not None or options.report is not None:
        slices = slices_by(options.by or BY_LENGTH, options.data, pairs, result)
        errors = Errors.of(pairs, result, translator.target_kind)
        sorted_out = Report(
            options.model, options.data, result, errors, options.by or BY_LENGTH, slices
        )
        if options.report is not None:
            write_page(options.report, sorted_out, confidence_figures(result))
    sets = options.coverage and measure_sets(translator, pairs, options.coverage)
    given = options.max_wrong and abstention(result, promised, options.max_wrong)
    if options.json:
        found = result.to_dict() | report.to_dict()
        if sorted_out is not None:
            found["report"] = sorted_out.to_dict()
        if sets:
            found["sets"] = dataclasses.asdict(sets)
        if given:
            found["abstention"] = given
        print(json.dumps(found, indent=2))
    else:
        print(result.to_text())
        print(report.to_text())
        if options.by is not None and sorted_out is not None:
            print(sorted_out.to_text())
        if sets:
            print(sets.to_text())
        if given:
            print(
                f"at most {options.max_wrong:g} wrong: {given['answered']:.4f} are answered, "
                f"{given['wrong']:.4f} of these wrong, with confidence of at least {promised:.4f}"
            )


def _tell(line: str) -> None:
    print(line.strip(), file=sys.stderr, flush=True)
