"""Makes an interactive page of a model's attention: one HTML file that needs no network."""

from __future__ import annotations

import dataclasses
import pathlib

from keras_attention._runtime.files import write_text
from keras_attention.commands import (
    MODEL_HELP,
    add_engine_option,
    load_attention_translator,
    texts_of_arguments,
    verb_parser,
    view_live,
)
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link, carry_links
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs

EXAMPLES = 200
LIVE = "With --live EXPORT --out FOLDER: a static site that answers as one types, model included."


def run(arguments: list[str]) -> None:
    if any(argument.split("=")[0] == "--live" for argument in arguments):
        return view_live.run(arguments)
    parser = verb_parser("view", f"{__doc__}\n{LIVE}")
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("data", metavar="DATA.tsv", nargs="?", help="pairs to show, right or wrong")
    parser.add_argument(
        "--text", action="append", default=[], metavar="TEXT", help="a source to show; repeatable"
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"pairs of DATA.tsv, from its start (default: {EXAMPLES})",
    )
    parser.add_argument(
        "--out", default="attention.html", metavar="FILE.html", help="default: attention.html"
    )
    add_engine_option(parser)
    options = parser.parse_args(arguments)
    if options.examples < 1:
        raise UserError(f"--examples: must be at least 1. Received: {options.examples}")
    if not (options.data or options.text):
        raise UserError("--text: give at least one text, or a DATA.tsv, to show")
    translator = load_attention_translator(options.model, "view", options.engine)
    from keras_attention.web.viewer import render

    texts = texts_of_arguments(options.text)
    pairs: list[Pair] = []
    answers = Answers(())
    if options.data:
        read = read_pairs(options.data, translator.source_kind, translator.target_kind)
        answers = Answers(read)
        pairs = read[: options.examples]
    sources = [*texts, *(pair.source for pair in pairs)]
    translations = translator.translate(sources)
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
    out = pathlib.Path(options.out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, render(examples, title=f"Attention of {pathlib.Path(options.model).name}"))
    except OSError as error:
        raise UserError(f"--out: {out} cannot be written: {error.strerror}") from None
    print(out)


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
