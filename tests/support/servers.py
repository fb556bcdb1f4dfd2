"""A server process for tests, on a free port of this machine, and a way to ask it."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.support import ROOT
from tests.support.session import AT_END


class Answer(NamedTuple):
    """What came back; `body` is read as JSON where it is JSON."""

    status: int
    headers: dict[str, str]
    body: Any


class Server:
    """A running `python -m keras_attention serve`.

    Attributes:
        port: Where it listens.
        process: The process.
        name: Of the model.
    """

    def __init__(self, export: pathlib.Path, *options: str):
        self.name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "keras_attention", "serve", export, "--port", "0", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.greeting = self.process.stdout.readline()
        if not self.greeting.startswith("serving"):
            log = self.log()
            self.stop()
            raise RuntimeError(f"the server did not start: {log}")
        self.port = int(self.greeting.rstrip("/\n").rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a body that is neither bytes nor text nor None is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            body = body.encode() if isinstance(body, str) else body
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            reply = connection.getresponse()
            content = reply.read()
            fields = {name.lower(): value for name, value in reply.getheaders()}
            if fields.get("content-type") == "application/json" and content:
                content = json.loads(content)
            return Answer(reply.status, fields, content)

    def predict(self, body: Any, where: str = "", **headers: str) -> Answer:
        return self.ask("POST", f"/v1/models/{self.name}{where}:predict", body, **headers)

    def log(self) -> str:
        """What it wrote to standard error so far."""
        self._log.seek(0)
        return self._log.read()

    def stop(self) -> int:
        """Ends it; its exit status."""
        self.process.terminate()
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self._log.close()
        return status


@contextlib.contextmanager
def server_of(export: pathlib.Path, *options: str) -> Iterator[Server]:
    """A server of its own, where one test must not disturb others."""
    server = _start(export, options)
    try:
        yield server
    finally:
        server.stop()


@functools.cache
def shared_server() -> Server:
    """The server that most tests ask, of a model of random weights."""
    from tests.support.exports import random_export

    server = _start(random_export()[1], ())
    AT_END.callback(server.stop)
    return server


def _start(export: pathlib.Path, options: tuple[str, ...]) -> Server:
    for package in ("uvicorn", "httptools"):
        pytest.importorskip(package, reason="needs `pip install -r requirements-serve.txt`")
    return Server(export, *options)
