"""uvicorn's HTTP protocol with limits that it lacks: on headers, and on connections that stall.

The one place where methods of uvicorn's own are overridden; `check_uvicorn` says so where a
version of uvicorn no longer has them.
"""

from __future__ import annotations

import asyncio

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keras_attention.serving.statuses import StatusError

LARGEST_HEADERS = 32 * 1024
_PER_HEADER = 32  # what one costs in memory besides its text

_OVERRIDDEN = {
    HttpToolsProtocol: (
        *("connection_made", "connection_lost", "data_received", "on_message_begin", "on_url"),
        *("on_header", "on_headers_complete", "on_message_complete", "on_response_complete"),
        *("send_400_response",),
    ),
    uvicorn.Server: ("startup", "capture_signals", "handle_exit"),  # in server.py
}


def check_uvicorn() -> None:
    """Raises RuntimeError where uvicorn lacks a method that is overridden or called."""
    for of, names in _OVERRIDDEN.items():
        missing = [name for name in names if not hasattr(of, name)]
        if missing:
            raise RuntimeError(
                f"uvicorn {uvicorn.__version__} has no {of.__name__}.{missing[0]}; "
                "`pip install -r requirements-serve.txt` installs a version that has"
            )


class Protocol(HttpToolsProtocol):
    """Closes connections that never finish the headers of a request, or the body of one answered.

    Both have `timeout_keep_alive` seconds. Headers that are larger than `LARGEST_HEADERS` get 431,
    and what is no HTTP gets 400.
    """

    _waiting: asyncio.TimerHandle | None = None
    _in_headers = False
    _in_body = False
    _header_bytes = 0
    _unparsed = 0

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self._close_later()

    def connection_lost(self, exc) -> None:
        self._keep()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # One header that does not end is kept by the parser, which calls nobody meanwhile.
        self._unparsed += len(data)
        super().data_received(data)
        if not self._in_body and self._unparsed > LARGEST_HEADERS + 2**18:
            self._refuse_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._in_body = True, False
        self._header_bytes = 0
        self._close_later()

    def on_url(self, url: bytes) -> None:
        self._count_headers(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._unparsed = 0
        self._count_headers(len(name) + len(value) + _PER_HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._keep()
        self._unparsed = 0
        self._in_headers, self._in_body = False, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._keep()
        self._unparsed = 0
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete and not self.transport.is_closing():
            self._close_later()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._refuse(400, "Malformed HTTP request")

    def _count_headers(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > LARGEST_HEADERS and not self.transport.is_closing():
            self._refuse_headers()
            raise ValueError("headers too large")  # ends the parser's work on this connection

    def _refuse_headers(self) -> None:
        if not self.transport.is_closing():
            self._refuse(431, f"The headers are larger than {LARGEST_HEADERS} bytes")

    def _refuse(self, code: int, message: str) -> None:
        """Answers by hand, since no request has begun, and closes."""
        body = StatusError(message).body
        reason = {400: "Bad Request", 431: "Request Header Fields Too Large"}[code]
        lines = (
            f"HTTP/1.1 {code} {reason}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "connection: close",
        )
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        self.transport.close()

    def _close_later(self) -> None:
        self._keep()
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _keep(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
