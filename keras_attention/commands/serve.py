"""Serves an export: TF Serving's REST API, and a page where anyone can watch the attention."""

from __future__ import annotations

import pathlib

from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import verb_parser
from keras_attention.errors import UserError
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.readers.export_layout import read_manifest

EXAMPLES_SHOWN = 12


def run(arguments: list[str]) -> None:
    parser = verb_parser("serve", __doc__)
    parser.add_argument("export", metavar="EXPORT", help="an export folder; its newest version")
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine only")
    parser.add_argument("--port", type=int, default=8501, metavar="N", help="default: 8501; 0: any")
    parser.add_argument(
        "--examples", metavar="DATA.tsv", help=f"its first {EXAMPLES_SHOWN} sources are offered"
    )
    for flag, kind, default, help in (
        ("--threads", int, 1, "calls of the model that run at once"),
        ("--most-in-flight", int, 64, "requests; what comes beyond is answered with 429"),
        ("--largest-batch", int, 64, "texts of waiting requests joined into one call"),
        ("--longest-text", int, 512, "characters of one text"),
        ("--largest-request", int, 32768, "characters, with every text padded to the longest"),
        ("--largest-body", int, 2**20, "bytes of a request"),
        ("--timeout", float, 30.0, "seconds for an answer"),
        ("--poll-seconds", float, 1.0, "between two looks for a newer version"),
    ):
        metavar = "N" if kind is int else "X"
        parser.add_argument(
            flag, type=kind, default=default, metavar=metavar, help=f"{help} (default: {default})"
        )
    parser.add_argument("--cors", action="store_true", help="let pages of other origins ask")
    parser.add_argument("--no-access-log", action="store_true", help="no line for each request")
    options = parser.parse_args(arguments)
    _check(options)
    manifest = read_manifest(pathlib.Path(options.export))
    examples = None
    if options.examples:
        pairs = read_pairs(options.examples, manifest["source_tokens"], manifest["target_tokens"])
        examples = {"": [pair.source for pair in pairs[:EXAMPLES_SHOWN]]}

    import_tensorflow_quietly()
    from keras_attention.serving.application import Settings
    from keras_attention.serving.rest_api import Limits
    from keras_attention.serving.server import ServerOptions, is_loopback, serve

    settings = Settings(
        limits=Limits(options.longest_text, options.largest_request),
        largest_body=options.largest_body,
        poll_seconds=options.poll_seconds,
        cors=options.cors,
        local_only=is_loopback(options.host),
    )
    serve(
        options.export,
        ServerOptions(
            host=options.host,
            port=options.port,
            threads=options.threads,
            most_in_flight=options.most_in_flight,
            largest_batch=options.largest_batch,
            timeout=options.timeout,
            access_log=not options.no_access_log,
            settings=settings,
        ),
        examples,
    )


def _check(options) -> None:
    """Raises UserError where a number makes no sense."""
    if not 0 <= options.port <= 65535:
        raise UserError(f"--port: must be between 0 and 65535. Received: {options.port}")
    for name in (
        *("threads", "most_in_flight", "largest_batch", "longest_text", "largest_request"),
        *("largest_body", "timeout", "poll_seconds"),
    ):
        value = getattr(options, name)
        if not value > 0 or value == float("inf"):
            flag = "--" + name.replace("_", "-")
            raise UserError(f"{flag}: must be a finite number greater than 0. Received: {value:g}")
