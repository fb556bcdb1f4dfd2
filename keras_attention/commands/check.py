"""Says what is wrong or odd in a data file, or in a folder of train.tsv, valid.tsv, test.tsv."""

from __future__ import annotations

import sys

from keras_attention.checks.check import check_data
from keras_attention.commands import verb_parser
from keras_attention.text.tokens import KINDS


def run(arguments: list[str]) -> None:
    parser = verb_parser("check", __doc__ + "\nExit status 1 where training would refuse it.")
    parser.add_argument("data", metavar="DATA", help="the file or folder")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-tokens",
            choices=KINDS,
            default="char",
            help=f"what a {side} is to be cut into (default: char)",
        )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    report = check_data(options.data, options.source_tokens, options.target_tokens)
    print(report.to_json() if options.json else report.to_text())
    if not report.ok:
        sys.exit(1)
