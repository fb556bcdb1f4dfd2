"""Errors by TensorFlow's status codes, and what they are over HTTP."""

from __future__ import annotations

import json

HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "REQUEST_TIMEOUT": 408,  # of HTTP, not of TensorFlow: the body did not arrive
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "PAYLOAD_TOO_LARGE": 413,  # of HTTP as well
    "UNSUPPORTED_MEDIA_TYPE": 415,  # of HTTP as well
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class StatusError(Exception):
    """A request that ends with `{"error": message}`.

    Args:
        message: What the client is told.
        code: A key of `HTTP_STATUS`.
    """

    def __init__(self, message: str, code: str = "INVALID_ARGUMENT"):
        super().__init__(message)
        self.message = message
        self.code = code

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.code]

    @property
    def body(self) -> bytes:
        """The JSON that TensorFlow Serving would answer."""
        text = json.dumps({"error": self.message}, ensure_ascii=False, indent=4)
        return text.encode("utf-8", "replace")
