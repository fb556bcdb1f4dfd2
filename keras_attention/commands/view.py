"""Makes an interactive page of a model's attention: one HTML file that needs no network."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib

from keras_attention._runtime.files import write_text
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    load_attention_translator,
    tell_of_exceptions,
    texts_of_arguments,
    verb_parser,
    view_live,
    writing_out,
)
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link, carry_links
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs

EXAMPLES = 200
LIVE = "With --live EXPORT --out FOLDER: a static site that answers as one types, model included."
# What the page with the model inside is called, and how many examples it judges when it opens.
WHAT_IF = "what-if.html"
WHAT_IF_EXAMPLES = 60


def run(arguments: list[str]) -> None:
    if any(argument.split("=")[0] == "--live" for argument in arguments):
        return view_live.run(arguments)
    options = _parse(arguments)
    if options.what_if:
        return _write_what_if(options)
    translator = load_attention_translator(options.model, "view", options.engine)
    from keras_attention.web.viewer import render

    texts = texts_of_arguments(options.text)
    pairs: list[Pair] = []
    answers = Answers(())
    if options.data:
        read = read_pairs(options.data, translator.source_kind, translator.target_kind)
        answers = Answers(read)
        pairs = read[: options.examples or EXAMPLES]
    sources = [*texts, *(pair.source for pair in pairs)]
    translations = translator.translate(sources)
    tell_of_exceptions(sources, translations)
    # An answer is right if any line of the file asks for it, and has that line's alignment.
    references: list[Pair | None] = [None] * len(texts)
    references += [
        answers.judged_by(pair, translation.text)
        for pair, translation in zip(pairs, translations[len(texts) :], strict=True)
    ]
    examples = [
        {
            "source": source,
            "expected": pair and pair.target,
            "links": _links(pair, translation),
            **{f.name: getattr(translation, f.name) for f in dataclasses.fields(translation)},
        }
        for source, pair, translation in zip(sources, references, translations, strict=True)
    ]
    page = render(examples, title=f"Attention of {pathlib.Path(options.model).name}")
    _write_page(options.out or "attention.html", page)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = verb_parser("view", f"{__doc__}\n{LIVE}")
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("data", metavar="DATA.tsv", nargs="?", help="pairs to show, right or wrong")
    parser.add_argument(
        "--text", action="append", default=[], metavar="TEXT", help="a source to show; repeatable"
    )
    parser.add_argument(
        "--examples",
        type=int,
        metavar="N",
        help=f"pairs of DATA.tsv, from its start (default: {EXAMPLES}; with --what-if "
        f"{WHAT_IF_EXAMPLES})",
    )
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        help=f"default: attention.html; with --what-if {WHAT_IF}",
    )
    parser.add_argument(
        "--what-if",
        action="store_true",
        help="a page with the model of the export MODEL inside: move weights, hide tokens, force "
        "the beginning of the answer, and see the answer change",
    )
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="EXPORT",
        help="with --what-if: another model, which answers beside the first; repeatable",
    )
    add_engine_option(parser)
    options = parser.parse_args(arguments)
    if options.examples is not None and options.examples < 1:
        raise UserError(f"--examples: must be at least 1. Received: {options.examples}")
    if options.beside and not options.what_if:
        raise UserError("--beside: shows a second model with --what-if alone; add --what-if")
    if not (options.data or options.text or options.what_if):
        raise UserError("--text: give at least one text, or a DATA.tsv, to show")
    return options


def _write_page(path: str, page: str) -> None:
    with writing_out(path) as out:
        write_text(out, page)
    print(out)


def _write_what_if(options: argparse.Namespace) -> None:
    """Sources to open on: those named, else the project's own that the model is sure of."""
    from keras_attention.readers.engine_reader import EngineReader
    from keras_attention.web import what_if
    from keras_attention.web.live_page import sure_examples

    exports = [pathlib.Path(path) for path in (options.model, *options.beside)]
    models = [what_if.read_model(export) for export in exports]
    reader = EngineReader.load_export(exports[0])
    sources = texts_of_arguments(options.text)
    if options.data:
        read = read_pairs(options.data, reader.source_kind, reader.target_kind)
        sources += [pair.source for pair in read[: options.examples or WHAT_IF_EXAMPLES]]
    if not sources:
        sure = sure_examples(lambda texts: [t.confidence for t in reader.translate_batch(texts)])
        sources = [text for texts in sure.values() for text in texts]
    order = "suspicious" if options.data else "given"
    _write_page(options.out or WHAT_IF, what_if.render(models, sources, order))


def _links(pair: Pair | None, translation) -> tuple[Link, ...] | None:
    """The gold alignment in the model's own tokens; only a right answer has one."""
    if pair is None or pair.alignment is None or translation.text != pair.target:
        return None
    return carry_links(
        pair.alignment,
        pair.source,
        translation.source_tokens,
        pair.target,
        translation.target_tokens,
    )
