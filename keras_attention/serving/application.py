"""The ASGI application: the REST API, the metrics, the page, and what guards them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import logging
import time
import traceback
from collections.abc import Awaitable, Callable

from keras_attention.serving import metrics as prometheus
from keras_attention.serving.access_log import Described, request_id_of, write_access_line
from keras_attention.serving.batching import Batcher
from keras_attention.serving.body import ClientGone, read_body
from keras_attention.serving.metrics import Metrics
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.serving.rest_api import Limits, RestApi
from keras_attention.serving.statuses import StatusError

JSON = "application/json"

# The page runs its own files and nothing else, asks its own server, and cannot be framed.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# As TensorFlow Serving sends them with --rest_api_enable_cors_support, with every answer of the
# API: without them a browser hides an error from the page that asked.
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
# What was not read of a body is not waited for, and a client that repeats must not come at once.
ERROR_HEADERS = {
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    415: {"Connection": "close"},
    429: {"Retry-After": "1"},
}

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How the application guards itself.

    Attributes:
        limits: Of one request's texts.
        largest_body: Bytes of a request's body.
        body_seconds: In which the body must have arrived.
        poll_seconds: Between two looks for a newer version.
        cors: Whether pages of other origins may use the API.
        monitoring: Whether `/monitoring/prometheus/metrics` is answered.
        local_only: Whether requests must name this machine as their host, so that no page of
            another site can reach the server by pointing its own name here.
    """

    limits: Limits = Limits()
    largest_body: int = 2**20
    body_seconds: float = 10.0
    poll_seconds: float = 1.0
    cors: bool = False
    monitoring: bool = True
    local_only: bool = True


@dataclasses.dataclass
class Response:
    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


class Application:
    """The ASGI callable.

    Args:
        versions: The model.
        batcher: Runs its signatures.
        files: The page's files by path, "" being the page itself, as (media type, content).
        settings: See `Settings`.
        metrics: Counts what is asked and answered.
    """

    def __init__(
        self,
        versions: ModelVersions,
        batcher: Batcher,
        files: dict[str, tuple[str, bytes]],
        settings: Settings,
        metrics: Metrics,
    ):
        self._versions = versions
        self._batcher = batcher
        self._files = files
        self._settings = settings
        self._metrics = metrics
        self._api = RestApi(versions, batcher, settings.limits, metrics)

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Callable, send: Callable) -> None:
        await receive()
        watching = asyncio.create_task(
            self._versions.watch(
                self._settings.poll_seconds,
                lambda version: self._batcher.drain(version.signatures.values()),
            )
        )
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        self._batcher.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: dict, receive: Callable, send: Callable) -> None:
        start = time.perf_counter()
        headers = dict(scope["headers"])
        described = Described(scope["method"], request_id_of(headers))
        status = "OK"
        try:
            response = await self._respond(scope, headers, receive, described)
        except StatusError as error:
            status = error.code
            response = Response(error.http_status, error.body)
            response.headers |= ERROR_HEADERS.get(error.http_status, {})
        except ClientGone:
            self._ended(described, 499, "CANCELLED", start)
            return
        except Exception as error:
            # The message could hold what the user sent; where it happened cannot.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("%s while answering:\n%s", type(error).__name__, where)
            status = "INTERNAL"
            response = Response(500, StatusError("Internal error", "INTERNAL").body)
        response.headers["X-Request-Id"] = described.request_id
        if self._settings.cors and _is_api(scope["raw_path"]):
            response.headers |= CORS_HEADERS
        self._ended(described, response.status, status, start)
        await self._send(response, send)

    def _ended(self, described: Described, code: int, status: str, start: float) -> None:
        seconds = time.perf_counter() - start
        write_access_line(described, code, seconds)
        self._metrics.answered(described.what, described.signature, code, status, seconds)

    async def _respond(
        self, scope: dict, headers: dict[bytes, bytes], receive: Callable, described: Described
    ) -> Response:
        method = scope["method"]
        path = scope["raw_path"].decode("latin-1")
        if self._settings.local_only and not _names_this_machine(headers.get(b"host", b"")):
            raise StatusError("This server answers this machine only", "PERMISSION_DENIED")
        if path == prometheus.PATH and self._settings.monitoring:
            return self._monitoring(method, described)
        if not _is_api(scope["raw_path"]):
            return self._file(method, path, described)
        if method == "OPTIONS" and self._settings.cors:
            described.what = "preflight"
            if b"origin" not in headers:
                raise StatusError("Malformed request: OPTIONS " + path)
            return Response(200, b"")
        if method == "GET":
            return Response(200, await self._api.answer(method, path, b"", described))
        with self._batcher.admission():
            self._api.describe(method, path, described)
            largest, seconds = self._settings.largest_body, self._settings.body_seconds
            body = await read_body(headers, receive, largest, seconds)
            answering = self._api.answer(method, path, body, described)
            return Response(200, await _unless_client_leaves(answering, receive))

    def _monitoring(self, method: str, described: Described) -> Response:
        described.what = "metrics"
        if method not in ("GET", "HEAD"):
            return _not_allowed()
        return Response(200, self._metrics.page(), prometheus.CONTENT_TYPE)

    def _file(self, method: str, path: str, described: Described) -> Response:
        if path.lstrip("/") not in self._files:
            described.what = "other"
            raise StatusError("Not found", "NOT_FOUND")
        described.what = "page"
        if method not in ("GET", "HEAD"):
            return _not_allowed()
        media_type, content = self._files[path.lstrip("/")]
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": PAGE_POLICY}
        return Response(200, content, media_type, headers)

    async def _send(self, response: Response, send: Callable) -> None:
        headers = SAFE_HEADERS | response.headers
        headers |= {
            "Content-Type": response.content_type,
            "Content-Length": str(len(response.body)),
        }
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            }
        )
        await send({"type": "http.response.body", "body": response.body})


def _is_api(raw_path: bytes) -> bool:
    return raw_path.lower().startswith(b"/v1/")


def _not_allowed() -> Response:
    return Response(405, StatusError("Use GET here").body, headers={"Allow": "GET, HEAD"})


async def _unless_client_leaves(answering: Awaitable[bytes], receive: Callable) -> bytes:
    """Awaits the answer, and drops it when the client closes the connection first."""
    task = asyncio.ensure_future(answering)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        task.cancel()
        leaving.cancel()


def _names_this_machine(host: bytes) -> bool:
    name = host.decode("latin-1").strip().lower()
    name = name[1 : name.find("]")] if name.startswith("[") else name.rpartition(":")[0] or name
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
