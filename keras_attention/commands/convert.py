"""Turns a dictionary or corpus as it is downloaded into pairs: CMUdict, WikiPron, IPA, CSV.

Recognises the form from all lines, and says in one line what was done with how many of them. Two
files are parallel text: line N of the second is the translation of line N of the first.
"""

from __future__ import annotations

import argparse
import os
import pathlib

from keras_attention.commands import verb_parser, writing_out
from keras_attention.errors import UserError
from keras_attention.pairs.conversion import ConversionOptions, convert
from keras_attention.pairs.forms import DESCRIPTIONS
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.parallel import ParallelText, read_parallel


def run(arguments: list[str]) -> None:
    parser = verb_parser("convert", __doc__)
    parser.add_argument("file", metavar="FILE", help="the file as it is; may be gzip (.gz)")
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="the translation of FILE, line by line"
    )
    parser.add_argument("--out", required=True, metavar="FILE.tsv", help="the pairs")
    parser.add_argument(
        "--form",
        choices=tuple(DESCRIPTIONS),
        help="; ".join(f"{name}: {words}" for name, words in DESCRIPTIONS.items())
        + " (default: what nine of ten lines are)",
    )
    parser.add_argument("--columns", metavar="S,T", help="of source and target (default: 1,2)")
    parser.add_argument(
        "--source-case", choices=("keep", "lower", "upper"), default="keep", help="default: keep"
    )
    parser.add_argument(
        "--variants",
        choices=("all", "first"),
        help="of a source's several targets (default: all)",
    )
    parser.add_argument(
        "--stress",
        choices=("keep", "drop"),
        help="digits and marks of stress in phones (default: keep)",
    )
    parser.add_argument(
        "--skip-bad-lines",
        action="store_true",
        help="leave out lines that are not in the form, in place of an error",
    )
    parser.add_argument("--encoding", default="utf-8", help="of FILE (default: utf-8)")
    options = parser.parse_args(arguments)
    wanted = ConversionOptions(
        form=options.form,
        columns=_columns(options.columns or "1,2"),
        source_case=options.source_case,
        first_variant_only=options.variants == "first",
        drop_stress=options.stress == "drop",
        skip_bad_lines=options.skip_bad_lines,
        encoding=options.encoding,
    )
    out = pathlib.Path(options.out)
    for file in (options.file, options.target):
        if file and out.exists() and os.path.exists(file) and os.path.samefile(out, file):
            raise UserError(f"--out: {out} is the file that is read; name another")
    converted = _parallel(options) if options.target else convert(options.file, wanted)
    with writing_out(options.out):
        write_pairs(out, converted.pairs)
    print(f"{out}: {converted.to_text()}")


def _parallel(options: argparse.Namespace) -> ParallelText:
    for name in ("form", "columns", "variants", "stress"):
        if getattr(options, name) is not None:
            raise UserError(f"--{name}: is of one FILE with columns; leave it out, or TARGET")
    return read_parallel(
        options.file,
        options.target,
        options.source_case,
        options.skip_bad_lines,
        options.encoding,
    )


def _columns(text: str) -> tuple[int, int]:
    numbers = text.split(",")
    if len(numbers) != 2 or not all(n.isascii() and n.isdigit() and int(n) for n in numbers):
        raise UserError(f"--columns: must be two numbers from 1, such as 1,2. Received: {text}")
    source, target = map(int, numbers)
    if source == target:
        raise UserError(f"--columns: must be two different columns. Received: {text}")
    return source, target
