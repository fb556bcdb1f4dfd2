"""Serves an export: TF Serving's REST API, and a page where anyone can watch the attention."""

from __future__ import annotations

import argparse
import importlib.util
import math
import pathlib
import socket

from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import verb_parser
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import LARGEST_VERSION, read_manifest
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.serving.listening import is_loopback, listen

EXAMPLES_SHOWN = 12

_NUMBERS = (
    ("--threads", int, 1, "calls of the model that run at once"),
    ("--most-in-flight", int, 64, "requests; what comes beyond is answered with 429"),
    ("--largest-batch", int, 64, "texts of waiting requests joined into one call"),
    ("--longest-text", int, 512, "characters of one text"),
    ("--largest-request", int, 32768, "characters, with every text padded to the longest"),
    ("--largest-body", int, 2**20, "bytes of a request, as sent and unpacked"),
    ("--timeout", float, 30.0, "seconds for an answer"),
    ("--poll-seconds", float, 1.0, "between two looks for a newer version"),
)


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    for package in ("uvicorn", "httptools"):
        if importlib.util.find_spec(package) is None:
            raise UserError(
                "serve: needs the packages of requirements-serve.txt; "
                "`pip install -r requirements-serve.txt`"
            )
    manifest = read_manifest(pathlib.Path(options.export))
    examples = None
    if options.examples:
        pairs = read_pairs(options.examples, manifest["source_tokens"], manifest["target_tokens"])
        examples = {"": [pair.source for pair in pairs[:EXAMPLES_SHOWN]]}
    # Before TensorFlow is imported, so that a port that is taken is told at once.
    with listen(options.host, options.port) as listening:
        _serve(options, examples, listening)


def _serve(options: argparse.Namespace, examples: dict | None, listening: socket.socket) -> None:
    import_tensorflow_quietly()
    from keras_attention.serving.application import Settings
    from keras_attention.serving.rest_api import Limits
    from keras_attention.serving.server import ServerOptions, serve

    settings = Settings(
        limits=Limits(options.longest_text, options.largest_request),
        largest_body=options.largest_body,
        poll_seconds=options.poll_seconds,
        cors=options.cors,
        monitoring=not options.no_monitoring,
        local_only=is_loopback(options.host) and not options.any_host,
    )
    server_options = ServerOptions(
        host=options.host,
        port=options.port,
        threads=options.threads,
        most_in_flight=options.most_in_flight,
        largest_batch=options.largest_batch,
        timeout=options.timeout,
        access_log=not options.no_access_log,
        json_log=options.json_log,
        labels=tuple(label for label in options.label if "=" not in label),
        pinned=_pinned(options.label),
        abstain_below=options.min_confidence,
        settings=settings,
    )
    serve(options.export, server_options, examples, listening)


def _parse(arguments: list[str]) -> argparse.Namespace:
    """The options.

    Raises:
        UserError: a number makes no sense.
    """
    parser = verb_parser("serve", __doc__)
    parser.add_argument("export", metavar="EXPORT", help="an export folder; its newest version")
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine only")
    parser.add_argument("--port", type=int, default=8501, metavar="N", help="default: 8501; 0: any")
    parser.add_argument(
        "--examples", metavar="DATA.tsv", help=f"its first {EXAMPLES_SHOWN} sources are offered"
    )
    for flag, kind, default, help in _NUMBERS:
        metavar = "N" if kind is int else "X"
        parser.add_argument(
            flag, type=kind, default=default, metavar=metavar, help=f"{help} (default: {default})"
        )
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=0.5,
        metavar="P",
        help="answers below it count as abstained in the metrics (default: 0.5)",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME[=VERSION]",
        help="lets requests ask for the served version as /labels/NAME, or for VERSION, which is "
        "then served beside the newest; may be repeated",
    )
    parser.add_argument("--cors", action="store_true", help="let pages of other origins ask")
    parser.add_argument(
        "--any-host",
        action="store_true",
        help="answer requests for any host name, as a reverse proxy on this machine passes on",
    )
    parser.add_argument("--no-monitoring", action="store_true", help="no metrics for Prometheus")
    parser.add_argument("--json-log", action="store_true", help="log lines as JSON")
    parser.add_argument("--no-access-log", action="store_true", help="no line for each request")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        raise UserError(f"--port: must be between 0 and 65535. Received: {options.port}")
    _pinned(options.label)
    if not 0 <= options.min_confidence <= 1:
        raise UserError(
            f"--min-confidence: must be between 0 and 1. Received: {options.min_confidence:g}"
        )
    for flag, *_ in _NUMBERS:
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if not 0 < value < math.inf:
            raise UserError(f"{flag}: must be a finite number greater than 0. Received: {value:g}")
    return options


def _pinned(labels: list[str]) -> dict[str, int]:
    """The labels that name a version.

    Raises:
        UserError: what stands behind the equals sign is no version, or a label is given twice.
    """
    found: dict[str, int] = {}
    names = [label.partition("=")[0] for label in labels]
    for label, name in zip(labels, names, strict=True):
        number = label.partition("=")[2]
        if names.count(name) > 1 or not name:
            raise UserError(f"--label: must be names that differ. Received: {' '.join(labels)}")
        if "=" in label:
            is_number = number.isascii() and number.isdecimal()
            if not is_number or len(number) > len(str(LARGEST_VERSION)):
                raise UserError(f"--label: must be NAME or NAME=VERSION. Received: {label}")
            found[name] = int(number)
    return found
