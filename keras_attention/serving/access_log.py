"""The log: a line for each request without anything that the user wrote, as text or as JSON."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
import secrets
import sys
import time

_access = logging.getLogger("keras_attention.serving.access")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_TIME = "%Y-%m-%dT%H:%M:%S%z"


@dataclasses.dataclass
class Described:
    """What the log says of a request, none of it the user's words.

    Attributes:
        method: GET, POST and so on.
        request_id: Of the client's `X-Request-Id` where it looks like one, else made here.
        what: Which part of the API was asked.
        signature: That was asked for, of a model that has it.
        texts: How many.
    """

    method: str = ""
    request_id: str = ""
    what: str = "malformed"
    signature: str = ""
    texts: int | None = None


def request_id_of(headers: dict[bytes, bytes]) -> str:
    """The id that a proxy gave the request, or a new one."""
    given = headers.get(b"x-request-id", b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def write_access_line(described: Described, status: int, seconds: float) -> None:
    """Logs a request that has ended."""
    if _access.isEnabledFor(logging.INFO):
        details = f" {described.signature}" if described.signature else ""
        details += "" if described.texts is None else f" texts={described.texts}"
        _access.info(
            *("%s %s%s %d %.1f ms", described.method, described.what, details, status),
            1000 * seconds,
            extra={
                "fields": {
                    "request_id": described.request_id,
                    "method": described.method,
                    "what": described.what,
                    "signature": described.signature or None,
                    "texts": described.texts,
                    "status": status,
                    "milliseconds": round(1000 * seconds, 3),
                }
            },
        )


def start_log(access_log: bool, as_json: bool) -> None:
    """Sends the server's log to standard error, a line for each event.

    Args:
        access_log: Whether requests are events.
        as_json: Each line an object with `time`, `level`, and either the fields of a request or
            `message`; else text.
    """
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(message)s", _TIME)
    handler.setFormatter(_JsonLines() if as_json else text)
    log = logging.getLogger("keras_attention.serving")
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(logging.INFO)
    _access.disabled = not access_log


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime(_TIME, time.localtime(record.created)),
            "level": record.levelname.lower(),
        }
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        return json.dumps(line | fields, ensure_ascii=True)
