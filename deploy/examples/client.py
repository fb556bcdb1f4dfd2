"""A client for a served model, with nothing but Python's standard library.

    python deploy/examples/client.py http://127.0.0.1:8501 NAME "september 27, 1994"

Works unchanged against `python -m keras_attention serve` and against TensorFlow Serving: both
answer the same requests. Copy this file into your own program, or read how little there is to it.
"""

from __future__ import annotations

import base64
import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any

RETRIED = (429, 503)  # the server has too much to do, or is not ready yet


class ServingError(Exception):
    """The server refused a request.

    Attributes:
        status: HTTP status; 0 where there was no answer.
        message: The server's words.
    """

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status
        self.message = message


class Client:
    """Asks one model of one server.

    Args:
        url: The server, like "http://127.0.0.1:8501".
        name: The model.
        version: A version's number, or None for the newest.
        timeout: Seconds for an answer.
        retries: How often to ask again where the server is busy, at growing intervals.
    """

    def __init__(
        self,
        url: str,
        name: str,
        version: int | None = None,
        timeout: float = 30.0,
        retries: int = 5,
    ):
        self._base = f"{url.rstrip('/')}/v1/models/{urllib.parse.quote(name, safe='')}"
        self._model = self._base if version is None else f"{self._base}/versions/{version}"
        self._timeout = timeout
        self._retries = retries

    def translate(self, texts: Sequence[str | bytes]) -> list[dict[str, Any]]:
        """A dict with `text`, `log_probability` and `confidence` for each text."""
        return self.predict(texts)

    def attention(self, texts: Sequence[str | bytes]) -> list[dict[str, Any]]:
        """As `translate`, with the tokens of both sides and `attention_weights`, T rows of S.

        Padding is cut off: weights have a row for each token of the answer and a column for each of
        the source.
        """
        rows = self.predict(texts, "attention")
        for row in rows:
            target, source = row.pop("target_length"), row.pop("source_length")
            row["target_tokens"] = row["target_tokens"][:target]
            row["source_tokens"] = row["source_tokens"][:source]
            weights = row["attention_weights"][:target]
            row["attention_weights"] = [cells[:source] for cells in weights]
        return rows

    def predict(
        self, texts: Sequence[str | bytes], signature: str = "serving_default"
    ) -> list[dict[str, Any]]:
        """What a signature gives for each text, a dict each.

        Bytes, which need not be valid UTF-8, travel as base64.

        Raises:
            ServingError: the server refused, or did not answer.
        """
        if not texts:
            return []
        instances = [
            {"b64": base64.b64encode(text).decode()} if isinstance(text, bytes) else text
            for text in texts
        ]
        body = {"signature_name": signature, "instances": instances}
        return self._ask(f"{self._model}:predict", body)["predictions"]

    def status(self) -> dict[int, str]:
        """The state of each version the server knows of, "AVAILABLE" where it answers."""
        states = self._ask(self._model)["model_version_status"]
        return {int(state["version"]): state["state"] for state in states}

    def signatures(self) -> dict[str, Any]:
        """The signature definitions of the newest version by name."""
        return self._ask(f"{self._model}/metadata")["metadata"]["signature_def"]["signature_def"]

    def _ask(self, url: str, body: dict | None = None) -> dict:
        data = None if body is None else json.dumps(body).encode("utf-8")
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        for tried in range(self._retries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                with error:
                    failure = ServingError(error.code, _message(error.read()))
                if error.code not in RETRIED:
                    raise failure from None
            except (OSError, http.client.HTTPException) as error:
                raise ServingError(0, f"{url} did not answer: {error}") from None
            if tried < self._retries:
                time.sleep(0.1 * 2**tried)
        raise failure


def _message(body: bytes) -> str:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace")


def main(arguments: list[str]) -> None:
    if len(arguments) < 3:
        sys.exit("usage: client.py URL NAME TEXT ...")
    url, name, *texts = arguments
    try:
        for row in Client(url, name).translate(texts):
            print(f"{row['text']}\t{row['confidence']:.4f}")
    except ServingError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
