"""A request's body: read in time, unpacked, and never larger than allowed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable

from keras_attention.serving.statuses import StatusError

_GZIP = 16 + zlib.MAX_WBITS


class ClientGone(Exception):
    """The client closed its connection before it had its answer."""


async def read_body(
    headers: dict[bytes, bytes], receive: Callable, largest: int, seconds: float
) -> bytes:
    """The body of a request, unpacked where it came as gzip.

    Args:
        headers: Of the request.
        receive: As ASGI gives it.
        largest: Bytes, as they come and unpacked.
        seconds: In which it must have arrived.

    Raises:
        StatusError: it is too large, does not arrive in time, or cannot be unpacked.
        ClientGone: the connection ended first.
    """
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"identity", b"gzip", b"x-gzip", b""):
        raise StatusError("The body's encoding must be gzip or none", "UNSUPPORTED_MEDIA_TYPE")
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:20]) > largest:
        raise _too_large(largest)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > largest:
                    raise _too_large(largest)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise StatusError(
            f"The body did not arrive within {seconds:g} seconds", "REQUEST_TIMEOUT"
        ) from None
    body = b"".join(parts)
    return _unpacked(body, largest) if encoding in (b"gzip", b"x-gzip") else body


def _unpacked(body: bytes, largest: int) -> bytes:
    """The content of one gzip member; unpacked no further than allowed."""
    member = zlib.decompressobj(_GZIP)
    try:
        content = member.decompress(body, largest + 1)
    except zlib.error:
        raise StatusError("The body is not valid gzip") from None
    if len(content) > largest:
        raise _too_large(largest)
    if not member.eof or member.unused_data:
        raise StatusError("The body is not valid gzip")
    return content


def _too_large(largest: int) -> StatusError:
    return StatusError(f"The body is larger than {largest} bytes", "PAYLOAD_TOO_LARGE")
