"""Runs the application: socket, signals, log, and an end that keeps its promises."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import logging
import pathlib
import signal
import socket
import sys
from collections.abc import Iterator

import tensorflow as tf

from keras_attention.errors import UserError
from keras_attention.readers.export_layout import SERVING, read_manifest

try:
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    raise UserError(
        "serve: needs the packages of requirements-serve.txt; "
        "`pip install -r requirements-serve.txt`"
    ) from None

from keras_attention.serving.application import Application, Settings
from keras_attention.serving.batching import Batcher
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.web import live_page


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """How to serve.

    Attributes:
        host, port: Where to listen; port 0 takes any free one.
        threads: Calls of the model that run at once.
        most_in_flight: Requests; what comes beyond is answered with 429.
        largest_batch: Texts of waiting requests joined into one call.
        timeout: Seconds for an answer, and for those in flight when the server is to end.
        idle_seconds: After which a connection without a request, or in the middle of a request's
            headers, is closed.
        access_log: Whether to write a line for each request.
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
    settings: Settings = Settings()


def serve(export: str | pathlib.Path, options: ServerOptions, examples: dict | None = None) -> None:
    """Serves an export until SIGINT or SIGTERM; what is in flight then is answered first.

    Args:
        export: An export folder.
        examples: Texts by language for the page; by default those of `known.SAMPLE_SOURCES` that
            the model is sure of.

    Raises:
        UserError: the folder holds no whole export, or the address cannot be used.
    """
    export = pathlib.Path(export)
    manifest = read_manifest(export)
    listening = _bind(options.host, options.port)
    with contextlib.closing(listening):
        _write_log(options.access_log)
        _use_threads(options.threads)
        versions = ModelVersions(manifest["name"], export / SERVING / manifest["name"])
        batcher = Batcher(
            options.threads, options.most_in_flight, options.largest_batch, options.timeout
        )
        page = live_page.for_server(
            manifest,
            examples or _sure_examples(versions),
            options.settings.limits.longest_text,
        )
        application = Application(versions, batcher, page, options.settings)
        server = _Server(_uvicorn_config(application, options))
        server.ready = f"serving {versions.name}, version {versions.current.number}, at " + _url(
            listening, options.host
        )
        asyncio.run(server.serve(sockets=[listening]))


def _use_threads(threads: int) -> None:
    """One thread for each call that runs: more would only wait for each other in so small a model.

    Saves a fifth of the time of a call.
    """
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens at `host`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """Says when it is ready, and takes SIGTERM and SIGINT as a wish to end well."""

    ready = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.ready, flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield


class _Protocol(HttpToolsProtocol):
    """Closes connections that never finish the headers of a request."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self._wait_for_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _uvicorn_config(application: Application, options: ServerOptions) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=_Protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        backlog=2048,
        timeout_keep_alive=options.idle_seconds,
        timeout_graceful_shutdown=options.timeout,
        access_log=False,  # ours leaves out what the user wrote
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
    )


def _write_log(access_log: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    log = logging.getLogger("keras_attention.serving")
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(logging.INFO)
    logging.getLogger("keras_attention.serving.access").disabled = not access_log


def _sure_examples(versions: ModelVersions) -> dict[str, list[str]]:
    signature = versions.current.signature("")

    def confidences(texts: list[str]) -> list[float]:
        return signature([text.encode() for text in texts])["confidence"].tolist()

    return live_page.sure_examples(confidences)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError):
        raise UserError(f"--host: {host} is no address of this machine; use 127.0.0.1") from None
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise UserError(
            f"--port: cannot listen at {host} port {port}: {error.strerror}; choose another with "
            "--port"
        ) from None
    return listening


def _url(listening: socket.socket, host: str) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
