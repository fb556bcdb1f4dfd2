"""Runs the application: socket, signals, log, and an end that keeps its promises."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import signal
import socket
import threading
from collections.abc import Iterator, Mapping

import uvicorn

from keras_attention.folders.export_layout import SERVING, read_manifest
from keras_attention.serving.access_log import start_log
from keras_attention.serving.application import Application, Settings
from keras_attention.serving.batching import Batcher
from keras_attention.serving.http_protocol import Protocol, check_uvicorn
from keras_attention.serving.listening import BACKLOG, listen, url_of
from keras_attention.serving.metrics import Metrics
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.web import live_page


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """How to serve.

    Attributes:
        host, port: Where to listen; port 0 takes any free one.
        threads: Calls of the model that run at once.
        most_in_flight: Requests; what comes beyond is answered with 429. While a version is
            loaded, more may wait, see `Batcher`.
        largest_batch: Texts of waiting requests joined into one call.
        timeout: Seconds for an answer, and for those in flight when the server is to end.
        idle_seconds: After which a connection without a request, or in the middle of a request's
            headers, is closed.
        access_log: Whether to write a line for each request.
        json_log: Whether the log's lines are JSON.
        labels: Names by which requests may ask for the version that is served.
        pinned: Names that stay with one version, which is served beside the newest.
        abstain_below: Answers of a smaller confidence count as abstained in the metrics.
        settings: See `Settings`.
    """

    host: str = "127.0.0.1"
    port: int = 8501
    threads: int = 1
    most_in_flight: int = 64
    largest_batch: int = 64
    timeout: float = 30.0
    idle_seconds: float = 30.0
    access_log: bool = True
    json_log: bool = False
    labels: tuple[str, ...] = ()
    pinned: Mapping[str, int] = dataclasses.field(default_factory=dict)
    abstain_below: float = 0.5
    settings: Settings = Settings()


def serve(
    export: str | pathlib.Path,
    options: ServerOptions,
    examples: dict | None = None,
    listening: socket.socket | None = None,
) -> None:
    """Serves an export until SIGINT or SIGTERM; what is in flight then is answered first.

    Args:
        export: An export folder.
        examples: Texts by language for the page; by default those of `known.SAMPLE_SOURCES` that
            the model is sure of.
        listening: A socket that listens already, in place of the host and port of `options`; it is
            closed at the end.

    Raises:
        UserError: the folder holds no whole export, or the address cannot be used.
        RuntimeError: this version of uvicorn is not supported.
    """
    check_uvicorn()
    export = pathlib.Path(export)
    manifest = read_manifest(export)
    listening = listening or listen(options.host, options.port)
    with contextlib.closing(listening):
        start_log(options.access_log, options.json_log)
        versions = ModelVersions(
            manifest["name"],
            export / SERVING / manifest["name"],
            options.threads,
            options.labels,
            options.pinned,
        )
        application = _application(versions, manifest, options, examples)
        server = _Server(_uvicorn_config(application, options))
        server.ready = (
            f"serving {versions.name}, version {versions.current.number}, at "
            f"{url_of(listening, options.host)}"
        )
        asyncio.run(server.serve(sockets=[listening]))


def _application(
    versions: ModelVersions, manifest: dict, options: ServerOptions, examples: dict | None
) -> Application:
    batcher: Batcher  # it needs the metrics, which read it
    gauges = (
        (
            "keras_attention_in_flight",
            "Requests that run, wait or arrive.",
            lambda: batcher.in_flight,
        ),
        (
            "keras_attention_waiting",
            "Requests whose call has not begun.",
            lambda: batcher.waiting,
        ),
        ("keras_attention_version", "Version that is served.", lambda: versions.current.number),
        ("keras_attention_swaps", "Versions replaced by others.", lambda: versions.swaps),
    )
    metrics = Metrics(versions.name, options.abstain_below, gauges)
    batcher = Batcher(
        options.threads,
        options.most_in_flight,
        options.largest_batch,
        options.timeout,
        metrics,
        lambda: versions.loading,
    )
    page = live_page.for_server(
        manifest, examples or _sure_examples(versions), options.settings.limits.longest_text
    )
    return Application(versions, batcher, page, options.settings, metrics)


class _Server(uvicorn.Server):
    """Says when it is ready, and takes SIGTERM and SIGINT as a wish to end well."""

    ready = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.ready, flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own would raise the signal again at the end, for a status other than 0.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self.handle_exit)
        yield


def _uvicorn_config(application: Application, options: ServerOptions) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        backlog=BACKLOG,
        timeout_keep_alive=options.idle_seconds,
        timeout_graceful_shutdown=options.timeout,
        access_log=False,  # ours leaves out what the user wrote
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
    )


def _sure_examples(versions: ModelVersions) -> dict[str, list[str]]:
    signature = versions.current.signature("")

    def confidences(texts: list[str]) -> list[float]:
        return signature([text.encode() for text in texts])["confidence"].tolist()

    return live_page.sure_examples(confidences)
