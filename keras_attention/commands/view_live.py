"""Builds a static site that answers while one types, with the model running in the browser."""

from __future__ import annotations

import pathlib

from keras_attention.commands import verb_parser
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import LITERT, read_manifest
from keras_attention.pairs.pair_files import read_pairs

EXAMPLES_SHOWN = 12


def run(arguments: list[str]) -> None:
    """`view --live EXPORT --out FOLDER`"""
    parser = verb_parser("view", __doc__)
    parser.add_argument("--live", required=True, metavar="EXPORT", help="an export folder")
    parser.add_argument("--out", default="live", metavar="FOLDER", help="default: live")
    parser.add_argument(
        "--litert-js",
        metavar="FOLDER",
        help="where the npm package @litertjs/core is, or its node_modules (default: here)",
    )
    parser.add_argument(
        "--examples", metavar="DATA.tsv", help=f"its first {EXAMPLES_SHOWN} sources are offered"
    )
    options = parser.parse_args(arguments)
    export = pathlib.Path(options.live)
    manifest = read_manifest(export)
    if not manifest["has_attention"]:
        raise UserError(
            f"{export}: is of a model without attention, so there is nothing to view; train one "
            "with --attention dot"
        )
    from keras_attention.readers.exceptions import exceptions_of_export
    from keras_attention.web import live_page

    litert_js = live_page.find_litert_js(options.litert_js)
    if options.examples:
        pairs = read_pairs(options.examples, manifest["source_tokens"], manifest["target_tokens"])
        examples = {"": [pair.source for pair in pairs[:EXAMPLES_SHOWN]]}
    else:
        examples = _sure_examples(export / LITERT / f"{manifest['name']}.tflite")
    out = pathlib.Path(options.out)
    exceptions = exceptions_of_export(export)
    sizes = live_page.write_static_site(export, manifest, examples, litert_js, out, exceptions)
    megabytes = {name: f"{size / 1e6:.1f} MB" for name, size in sizes.items()}
    print(out)
    print(
        f"{megabytes['site']} in all, of which a visitor loads {megabytes['visit']}; any static "
        f"host will do, or for a look `python -m http.server --directory {out}`"
    )


def _sure_examples(model: pathlib.Path) -> dict[str, list[str]]:
    from keras_attention.readers.litert_reader import LiteRTReader
    from keras_attention.web.live_page import sure_examples

    reader = LiteRTReader(model)
    return sure_examples(lambda texts: [t.confidence for t in reader.translate_batch(texts)])
