"""Translates the sources of a data file and compares: exact match, errors, slices by length."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from keras_attention._runtime.files import check_place
from keras_attention._runtime.progress import ProgressLines
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    add_length_penalty_option,
    check_beam_width,
    check_length_penalty,
    check_max_wrong,
    load_translator,
    verb_parser,
)
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.text.tokens import VocabularyKind

if TYPE_CHECKING:  # what an evaluation needs is imported once the options are known to be right
    from keras_attention.evaluation.evaluation import Evaluation
    from keras_attention.evaluation.reports.report import Report
    from keras_attention.readers.translator import Translator


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    translator = load_translator(options.model, options.engine)
    other = load_translator(options.against, options.engine) if options.against else None
    from keras_attention.evaluation.translation_report import TranslationReport
    from keras_attention.evaluation.trust.measured import abstention, measure_sets

    least = given = sets = None
    if options.max_wrong is not None:  # before the work, since the promise may not be possible
        least = translator.confidence_for(options.max_wrong)
    pairs = _read_pairs(options, translator)
    result, against = _evaluated(options, pairs, translator, other)
    comparison = TranslationReport.of(result, against)
    report = _report(options, pairs, result, translator.target_kind)
    if options.coverage is not None:
        sets = measure_sets(translator, pairs, options.coverage)
    if least is not None:
        given = abstention(result, least, options.max_wrong)
    if options.json:
        found = result.to_dict() | comparison.to_dict()
        if report is not None:
            found["report"] = report.to_dict()
        if sets is not None:
            found["sets"] = dataclasses.asdict(sets)
        if given is not None:
            found["abstention"] = given
        print(json.dumps(found, indent=2))
        return
    print(result.to_text())
    print(comparison.to_text())
    if report is not None and options.by is not None:
        print(report.to_text())
    if sets is not None:
        print(sets.to_text())
    if given is not None:
        print(
            f"at most {options.max_wrong:g} wrong: {given['answered']:.4f} are answered, "
            f"{given['wrong']:.4f} of these wrong, with confidence of at least {least:.4f}"
        )


def _read_pairs(options: argparse.Namespace, translator: Translator) -> list[Pair]:
    """The pairs; without reading an alignment where slices go by a column."""
    if options.by is not None and options.by.isascii() and options.by.isdecimal():
        from keras_attention.evaluation.reports.slices import read_pairs_with_columns

        return read_pairs_with_columns(options.data)
    return read_pairs(options.data, translator.source_kind, translator.target_kind)


def _evaluated(
    options: argparse.Namespace, pairs: list[Pair], translator: Translator, other: Translator | None
) -> tuple[Evaluation, Evaluation | None]:
    """Of the model, and of the one that it is compared with."""
    from keras_attention.evaluation.evaluation import evaluate

    how = options.beam_width, options.length_penalty
    lines = ProgressLines((1 if other is None else 2) * len(pairs), _tell, unit="sentence")
    result = evaluate(translator, pairs, *how, lambda done, _: lines.tell(done))
    if other is None:
        return result, None
    return result, evaluate(other, pairs, *how, lambda done, total: lines.tell(total + done))


def _report(
    options: argparse.Namespace, pairs: list[Pair], result: Evaluation, kind: VocabularyKind
) -> Report | None:
    """Slices and errors, where they are asked for; written as a page with --report."""
    if options.by is None and options.report is None:
        return None
    from keras_attention.evaluation.reports.report import Report, write_page
    from keras_attention.evaluation.reports.slices import BY_LENGTH, Errors, slices_by
    from keras_attention.evaluation.trust.figures import confidence_figures

    by = BY_LENGTH if options.by is None else options.by
    slices = slices_by(by, options.data, pairs, result)
    errors = Errors.of(pairs, result, kind)
    report = Report(options.model, options.data, result, errors, by, slices)
    if options.report is not None:
        write_page(options.report, report, confidence_figures(result))
    return report


def _parse(arguments: list[str]) -> argparse.Namespace:
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
    check_max_wrong(options.max_wrong, options.beam_width)
    return options


def _tell(line: str) -> None:
    print(line.strip(), file=sys.stderr, flush=True)
