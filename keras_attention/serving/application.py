"""The ASGI application: the REST API under /v1/, the page at /, and what guards both."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import logging
import time
import traceback
from collections.abc import Awaitable, Callable

from keras_attention.serving.batching import Batcher
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.serving.rest_api import Described, Limits, RestApi
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
# As TensorFlow Serving sends them with --rest_api_enable_cors_support.
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
    "Cross-Origin-Resource-Policy": "cross-origin",
}

_access = logging.getLogger("keras_attention.serving.access")
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
        local_only: Whether requests must name this machine as their host, so that no page of
            another site can reach the server by pointing its own name here.
    """

    limits: Limits = Limits()
    largest_body: int = 2**20
    body_seconds: float = 10.0
    poll_seconds: float = 1.0
    cors: bool = False
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
    """

    def __init__(
        self,
        versions: ModelVersions,
        batcher: Batcher,
        files: dict[str, tuple[str, bytes]],
        settings: Settings,
    ):
        self._versions = versions
        self._batcher = batcher
        self._files = files
        self._settings = settings
        self._api = RestApi(versions, batcher, settings.limits)

    async def __call__(self, scope: dict, receive: Callable, send: Callable) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Callable, send: Callable) -> None:
        await receive()
        watching = asyncio.create_task(self._versions.watch(self._settings.poll_seconds))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        self._batcher.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: dict, receive: Callable, send: Callable) -> None:
        start = time.perf_counter()
        described = Described()
        try:
            response = await self._respond(scope, receive, described)
        except StatusError as error:
            response = Response(error.http_status, error.body)
            if error.http_status == 429:
                response.headers["Retry-After"] = "1"
            if error.http_status in (408, 413):  # what is left of the body is not read
                response.headers["Connection"] = "close"
        except _ClientGone:
            _write_access_line(scope["method"], described, 499, start)
            return
        except Exception as error:
            # The message could hold what the user sent; where it happened cannot.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("%s while answering:\n%s", type(error).__name__, where)
            response = Response(500, StatusError("Internal error", "INTERNAL").body)
        _write_access_line(scope["method"], described, response.status, start)
        await self._send(response, send)

    async def _respond(self, scope: dict, receive: Callable, described: Described) -> Response:
        method = scope["method"]
        path = scope["raw_path"].decode("latin-1")
        headers = dict(scope["headers"])
        if self._settings.local_only and not _names_this_machine(headers.get(b"host", b"")):
            raise StatusError("This server answers this machine only", "PERMISSION_DENIED")
        if not path.lower().startswith("/v1/"):
            return self._file(method, path, described)
        if method == "OPTIONS" and self._settings.cors:
            described.what = "preflight"
            if b"origin" not in headers:
                raise StatusError("Malformed request: OPTIONS " + path)
            return Response(200, b"", headers=dict(CORS_HEADERS))
        if method == "GET":
            answer = await self._api.answer(method, path, b"", described)
        else:
            with self._batcher.admission():
                body = await self._body(headers, receive)
                answering = self._api.answer(method, path, body, described)
                answer = await _unless_client_leaves(answering, receive)
        return Response(200, answer, headers=dict(CORS_HEADERS) if self._settings.cors else {})

    def _file(self, method: str, path: str, described: Described) -> Response:
        if path.lstrip("/") not in self._files:
            described.what = "other"
            raise StatusError("Not found", "NOT_FOUND")
        described.what = "page"
        if method not in ("GET", "HEAD"):
            response = Response(405, StatusError("Use GET here").body)
            response.headers["Allow"] = "GET, HEAD"
            return response
        media_type, content = self._files[path.lstrip("/")]
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": PAGE_POLICY}
        return Response(200, content, media_type, headers)

    async def _body(self, headers: dict[bytes, bytes], receive: Callable) -> bytes:
        """The request's body.

        Raises:
            StatusError: it is too large, or does not arrive in time.
        """
        largest = self._settings.largest_body
        declared = headers.get(b"content-length", b"0")
        too_large = StatusError(f"The body is larger than {largest} bytes", "PAYLOAD_TOO_LARGE")
        if declared.isdigit() and int(declared[:20]) > largest:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientGone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > largest:
                        raise too_large
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            seconds = f"{self._settings.body_seconds:g} seconds"
            message = f"The body did not arrive within {seconds}"
            raise StatusError(message, "REQUEST_TIMEOUT") from None

    async def _send(self, response: Response, send: Callable) -> None:
        headers = SAFE_HEADERS | response.headers
        headers |= {"Content-Type": response.content_type, "Content-Length": len(response.body)}
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [(k.lower().encode(), str(v).encode()) for k, v in headers.items()],
            }
        )
        await send({"type": "http.response.body", "body": response.body})


class _ClientGone(Exception):
    """The client closed its connection before it had its answer."""


async def _unless_client_leaves(answering: Awaitable[bytes], receive: Callable) -> bytes:
    """Awaits the answer, and drops it when the client closes the connection first."""
    task = asyncio.ensure_future(answering)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise _ClientGone
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


def _write_access_line(method: str, described: Described, status: int, start: float) -> None:
    """One line without anything that the user wrote: paths and texts stay out."""
    if _access.isEnabledFor(logging.INFO):
        details = f" {described.signature}" if described.signature else ""
        details += "" if described.texts is None else f" texts={described.texts}"
        milliseconds = 1000 * (time.perf_counter() - start)
        _access.info("%s %s%s %d %.1f ms", method, described.what, details, status, milliseconds)
