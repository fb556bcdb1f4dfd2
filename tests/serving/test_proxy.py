"""deploy/proxy/nginx.conf, run by nginx in front of a server."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.servers import server_of

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="needs Debian's nginx"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl"),
]
KEY = "a-long-random-string"
ASKED = {"instances": ["가나 b"]}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    with server_of(random_export()[1], "--any-host", "--json-log") as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server, tmp_path_factory):
    """A function that asks the server through nginx."""
    folder = tmp_path_factory.mktemp("proxy")
    port = free_port()
    config = (ROOT / "deploy" / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    for ours, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server 127.0.0.1:8501", f"server 127.0.0.1:{server.port}"),
        ("rate=50r/s", "rate=1r/s"),  # so that a slow machine is fast enough to be too fast
    ):
        assert config.count(ours) == 1
        config = config.replace(ours, here)
    if os.geteuid() == 0:
        config = "user root;\n" + config  # its folder is one that only we may read
    (folder / "nginx.conf").write_text(config, encoding="utf-8")
    (folder / "temp").mkdir()
    (folder / "keys.conf").write_text(f'"{KEY}" client-1;\n', encoding="utf-8")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", folder / "key.pem", "-out", folder / "certificate.pem"),
        ],
        check=True,
        capture_output=True,
    )
    command = [NGINX, "-p", folder, "-c", "nginx.conf", "-e", folder / "error.log"]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    def ask(method, path, body=None, **headers):
        connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
        with contextlib.closing(connection):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            data = json.dumps(body) if isinstance(body, dict) else body
            connection.request(method, path, data, named)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()

    with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
        try:
            end = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    log = pathlib.Path(folder / "error.log").read_text(encoding="utf-8")
                    assert time.monotonic() < end, log
                    time.sleep(0.1)
            yield ask
        finally:
            process.terminate()


def test_a_known_key_is_answered(proxy, server):
    status, headers, body = proxy("POST", f"/v1/models/{server.name}:predict", ASKED, X_Api_Key=KEY)
    assert status == 200
    assert json.loads(body) == server.predict(ASKED).body
    assert headers["Strict-Transport-Security"]
    request_id = headers["x-request-id"]
    assert len(request_id) == 32, "nginx's own, handed on"
    assert request_id in server.log() and KEY not in server.log()


@pytest.mark.parametrize("headers", [{}, {"X_Api_Key": "wrong"}, {"X_Api_Key": ""}])
def test_others_are_not(proxy, server, headers):
    before = server.log()
    status, _, _ = proxy("POST", f"/v1/models/{server.name}:predict", ASKED, **headers)
    assert status == 401 and server.log() == before


def test_metrics_and_page_stay_inside(proxy):
    for path in ("/monitoring/prometheus/metrics", "/", "/assets/words.js"):
        assert proxy("GET", path, X_Api_Key=KEY)[0] == 404


def test_a_body_may_not_be_larger(proxy, server):
    path = f"/v1/models/{server.name}:predict"
    assert proxy("POST", path, b" " * (2**20 + 1), X_Api_Key=KEY)[0] == 413


def test_a_client_that_asks_too_fast_is_slowed(proxy, server):
    """20 at once and then, here, one a second are allowed."""
    path = f"/v1/models/{server.name}"
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: proxy("GET", path, X_Api_Key=KEY)[0], range(100)))
    assert set(statuses) <= {200, 429} and 200 in statuses
    assert 429 in statuses
