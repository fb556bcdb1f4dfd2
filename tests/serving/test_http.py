"""The ways in which HTTP lets a client ask, over real connections."""

import gzip
import json
import re
import socket
import subprocess
import sys
import time
import zlib

import pytest

from tests.support import ROOT
from tests.support.commands import call_verb
from tests.support.exports import random_export
from tests.support.servers import server_of, shared_server

ASKED = {"instances": ["가나 b"]}
BODY = json.dumps(ASKED).encode()


@pytest.fixture(scope="module")
def server():
    return shared_server()


@pytest.fixture(scope="module")
def strict():
    options = ("--largest-body", "2000", "--cors", "--label", "stable", "--label", "canary")
    with server_of(random_export()[1], *options, "--most-in-flight", "4") as server:
        yield server


@pytest.fixture(scope="module")
def expected(server):
    return server.predict(ASKED).body


def head(server, *lines: str, path: str = ":predict") -> bytes:
    first = f"POST /v1/models/{server.name}{path} HTTP/1.1"
    return "\r\n".join([first, "Host: localhost", *lines, "", ""]).encode()


class Connection:
    """A socket whose answers are read one by one."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        status = int(self.file.readline().split()[1])
        headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, self.file.read(int(headers.get("content-length", 0)))


# --- gzip


def test_a_body_in_gzip(server, expected):
    answer = server.predict(gzip.compress(BODY), Content_Encoding="gzip")
    assert (answer.status, answer.body) == (200, expected)


@pytest.mark.parametrize("size", [2**20, 2**26])
def test_a_bomb_is_unpacked_no_further_than_allowed(strict, size):
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(b" " * size) + packer.flush()
    if len(bomb) > 2000:  # what is too large packed is not unpacked at all
        bomb = bomb[:1900]
    answer = strict.predict(bomb, Content_Encoding="gzip")
    assert answer.status == 413
    assert answer.body == {"error": "The body is larger than 2000 bytes"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        BODY,
        gzip.compress(BODY)[:-1],
        gzip.compress(BODY) + b"x",
        gzip.compress(b"") * 50,
        b"\x1f\x8b" + b"\0" * 20,
    ],
    ids=("empty", "plain", "cut", "trailing", "many", "damaged"),
)
def test_what_is_no_gzip_is_refused(server, body):
    answer = server.predict(body, Content_Encoding="gzip")
    assert (answer.status, answer.body) == (400, {"error": "The body is not valid gzip"})


def test_other_encodings_are_refused(server):
    answer = server.predict(zlib.compress(BODY), Content_Encoding="deflate")
    assert answer.status == 415 and answer.body["error"].startswith("The body's encoding")
    assert server.predict(BODY, Content_Encoding="identity").status == 200


# --- how a request arrives


def test_a_client_that_waits_to_be_told_to_go_on(server, expected):
    with Connection(server) as connection:
        connection.send(head(server, "Expect: 100-continue", f"Content-Length: {len(BODY)}"))
        assert connection.answer()[0] == 100
        connection.send(BODY)
        status, _, body = connection.answer()
        assert (status, json.loads(body)) == (200, expected)


def test_such_a_client_is_told_at_once_that_its_body_is_too_large(strict):
    with Connection(strict) as connection:
        connection.send(head(strict, "Expect: 100-continue", "Content-Length: 2001"))
        assert connection.answer()[0] == 413


def test_chunks(server, expected):
    with Connection(server) as connection:
        connection.send(head(server, "Transfer-Encoding: chunked"))
        for byte in range(0, len(BODY), 7):
            part = BODY[byte : byte + 7]
            connection.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        connection.send(b"0\r\n\r\n")
        assert json.loads(connection.answer()[2]) == expected


def test_many_requests_before_the_first_answer(server):
    texts = ["가나 b", "0123", "ж", ""] * 5
    with Connection(server) as connection:
        for text in texts:
            body = json.dumps({"instances": [text]}).encode()
            connection.send(head(server, f"Content-Length: {len(body)}") + body)
        answers = [json.loads(connection.answer()[2])["predictions"][0] for _ in texts]
    alone = [server.predict({"instances": [text]}).body["predictions"][0] for text in texts[:4]]
    assert [a["text"] for a in answers] == [a["text"] for a in alone] * 5


def test_a_query_behind_the_verb(server, expected):
    assert server.predict(ASKED, "").body == expected
    path = f"/v1/models/{server.name}:predict?key=1&x=:predict"
    answer = server.ask("POST", path, ASKED)
    assert (answer.status, answer.body) == (200, expected)
    assert server.ask("GET", f"/v1/models/{server.name}?x").status == 200
    assert server.ask("GET", "/?text=a").status == 200


def test_a_whole_address_in_the_request_line(server):
    with Connection(server) as connection:
        line = f"GET http://localhost/v1/models/{server.name} HTTP/1.1"
        connection.send(f"{line}\r\nHost: localhost\r\n\r\n".encode())
        assert connection.answer()[0] == 200


# --- labels


def test_labels_name_the_version_that_is_served(strict, server, expected):
    for label in ("stable", "canary"):
        answer = strict.predict(ASKED, f"/labels/{label}")
        assert (answer.status, answer.body) == (200, expected)
    path = f"/v1/models/{strict.name}/labels/stable"
    (state,) = strict.ask("GET", path).body["model_version_status"]
    assert (state["version"], state["state"]) == ("1", "AVAILABLE")
    assert strict.ask("GET", path + "/metadata").body["model_spec"]["version"] == "1"
    for where, on in (("/labels/other", strict), ("/labels/stable", server)):
        answer = on.predict(ASKED, where)
        message = f"Unrecognized servable version label: {where.rpartition('/')[2]}"
        assert (answer.status, answer.body) == (400, {"error": message})


# --- other origins


def test_every_answer_of_the_api_may_be_read_by_other_origins(strict):
    paths = f"/v1/models/{strict.name}"
    answers = [
        strict.predict(ASKED, Origin="http://a.test"),
        strict.predict(b"{", Origin="http://a.test"),
        strict.ask("GET", "/v1/models/none", Origin="http://a.test"),
        strict.ask("GET", "/v1/none", Origin="http://a.test"),
        strict.predict(b"x" * 2001, Origin="http://a.test"),
        strict.predict(BODY, Content_Encoding="br"),
        strict.predict(ASKED, Host="evil.test"),
        strict.ask("GET", paths + "/metadata"),
        strict.ask("OPTIONS", paths + ":predict"),
    ]
    assert [a.status for a in answers] == [200, 400, 404, 400, 413, 415, 403, 200, 400]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "access-control-allow-origin" not in strict.ask("GET", "/").headers


def test_a_refusal_for_overload_may_be_read_too(strict):
    waiting = [Connection(strict) for _ in range(4)]
    for connection in waiting:
        connection.send(head(strict, "Content-Length: 20"))
    for _ in range(100):
        answer = strict.predict(ASKED)
        if answer.status == 429:
            break
        time.sleep(0.05)
    assert answer.status == 429 and answer.headers["access-control-allow-origin"] == "*"
    for connection in waiting:
        connection.__exit__()


# --- ids


def test_an_id_is_handed_on_or_made(server):
    assert server.predict(ASKED, X_Request_Id="abc-1.2_3").headers["x-request-id"] == "abc-1.2_3"
    made = [server.predict(ASKED).headers["x-request-id"] for _ in range(2)]
    made += [server.predict(ASKED, X_Request_Id="a b <x>").headers["x-request-id"]]
    made += [server.predict(ASKED, X_Request_Id="a" * 65).headers["x-request-id"]]
    assert len(set(made)) == 4 and all(len(id) == 16 for id in made)


def test_the_log_as_json():
    with server_of(random_export()[1], "--json-log") as server:
        server.predict({"instances": ["s3cr3t", "b"]}, X_Request_Id="id-1")
        server.ask("GET", "/s3cr3t")
        # TensorFlow's native code may write lines of its own before its log is set up.
        log = [line for line in server.log().splitlines() if line.startswith("{")]
        lines = [json.loads(line) for line in log]
    assert "s3cr3t" not in json.dumps(lines)
    first, second = lines[-2:]
    assert {key: first[key] for key in first if key not in ("time", "milliseconds")} == {
        "level": "info",
        "request_id": "id-1",
        "method": "POST",
        "what": "predict",
        "signature": "serving_default",
        "texts": 2,
        "status": 200,
    }
    assert first["milliseconds"] > 0 and second["status"] == 404 and second["request_id"]


# --- versions that are no numbers


@pytest.mark.parametrize("digits", ["0" * 5000, "0" * 5000 + "1", "9" * 5000, "0" * 30 + "1"])
def test_a_version_of_many_digits(server, digits):
    answer = server.predict(ASKED, f"/versions/{digits}")
    value = digits.lstrip("0") or "0"
    assert answer.status == {"1": 200, "0": 404}.get(value, 400)
    assert len(json.dumps(answer.body)) < 1000


# --- headers


def test_headers_may_not_be_endless(server):
    for lines in ([f"X-{i}: {'x' * 900}" for i in range(100)], ["X: " + "x" * 40_000]):
        with Connection(server) as connection:
            connection.send(head(server, *lines, "Content-Length: 0"))
            status, _, body = connection.answer()
            assert status == 431 and b"larger than 32768 bytes" in body
            assert connection.file.read() == b""
    with Connection(server) as connection:
        connection.send(head(server, *["a:"] * 2000))  # small ones cost memory as well
        assert connection.answer()[0] == 431
    with Connection(server) as connection:
        connection.send(b"GET / HTTP/1.1\r\nX: ")
        try:
            for _ in range(100):
                connection.send(b"x" * 65536)
        except ConnectionError:
            return
        assert connection.answer()[0] == 431


def test_as_many_headers_as_a_browser_sends_are_taken(server):
    lines = [f"X-{i}: {'x' * 100}" for i in range(100)]
    with Connection(server) as connection:
        connection.send(head(server, *lines, f"Content-Length: {len(BODY)}") + BODY)
        assert connection.answer()[0] == 200
        connection.send(head(server, f"Content-Length: {len(BODY)}") + BODY)
        assert connection.answer()[0] == 200, "and the count begins anew"


def test_a_body_larger_than_headers_may_be_is_taken(server):
    body = BODY + b" " * 500_000
    with Connection(server) as connection:
        for _ in range(3):
            connection.send(head(server, f"Content-Length: {len(body)}") + body)
            assert connection.answer()[0] == 200


# --- connections that stall

QUICK = """
import sys
from keras_attention.serving.server import ServerOptions, serve
serve(sys.argv[1], ServerOptions(port=0, idle_seconds=1))
"""


@pytest.fixture(scope="module")
def impatient():
    """The port of a server whose connections may stall for a second."""
    with subprocess.Popen(
        [sys.executable, "-c", QUICK, random_export()[1]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        finally:
            process.terminate()


@pytest.mark.parametrize("trickle", [0, 20], ids=["silence", "a byte now and then"])
@pytest.mark.parametrize(
    "request_line",
    ["POST /x HTTP/1.1", "GET / HTTP/1.1", "POST /v1/models/none HTTP/1.1", "GET /v1/x HTTP/1.1"],
)
def test_a_body_that_stays_unfinished_after_the_answer_ends_the_connection(
    impatient, request_line, trickle
):
    head = f"{request_line}\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", impatient), timeout=20) as connection:
        connection.sendall(head)
        if "models" in request_line:
            return  # waits for its body, which test_guards is about
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 ")
        try:
            for _ in range(trickle):
                connection.sendall(b"x")
                time.sleep(0.1)
            while connection.recv(65536):
                pass
        except ConnectionError:
            pass


def test_a_body_finished_after_the_answer_leaves_the_connection_open(impatient):
    head = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    with socket.create_connection(("127.0.0.1", impatient), timeout=20) as connection:
        for _ in range(2):
            connection.sendall(head + b"123")
            assert _whole_answer(connection).startswith(b"HTTP/1.1 404")
            connection.sendall(b"456789")


def _whole_answer(connection: socket.socket) -> bytes:
    """Headers and body, which may arrive in several pieces."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    headers, _, body = answer.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: *(\d+)", headers, re.IGNORECASE)[1])
    while len(body) < length:
        body += connection.recv(65536)
    return headers + b"\r\n\r\n" + body


# --- the port


def test_a_port_that_is_taken_is_told_before_tensorflow_is_imported(server):
    code = """
import sys
from keras_attention import __main__
from keras_attention._runtime.command_line import exit_with_user_errors
try:
    exit_with_user_errors(__main__.main, sys.argv[1:])
finally:
    print("tensorflow" in sys.modules)
"""
    finished = subprocess.run(
        [sys.executable, "-c", code, "serve", random_export()[1], "--port", str(server.port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (finished.returncode, finished.stdout) == (2, "False\n")
    assert finished.stderr.count("\n") == 1 and "Address already in use" in finished.stderr


def test_two_servers_on_one_port_at_the_same_time():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "keras_attention", "serve", random_export()[1]]
    servers = [
        subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        end = time.monotonic() + 60
        while all(server.poll() is None for server in servers):
            assert time.monotonic() < end, "both run"
            time.sleep(0.05)
        loser, winner = sorted(servers, key=lambda server: server.poll() is None)
        assert loser.returncode == 2
        error = loser.communicate()[1]
        assert error.startswith("error: --port: cannot listen") and error.count("\n") == 1
        assert winner.stdout.readline().startswith("serving")
    finally:
        for server in servers:
            if server.poll() is None:
                server.terminate()
            server.communicate()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timeout", "inf"], "--timeout: must be a finite number greater than 0. Received: inf"),
        (["--timeout=-inf"], "--timeout: must be a finite number greater than 0. Received: -inf"),
        (["--min-confidence", "2"], "--min-confidence: must be between 0 and 1. Received: 2"),
    ],
)
def test_numbers_that_make_no_sense(arguments, words):
    finished = call_verb("serve", random_export()[1], *arguments)
    assert (finished.status, finished.err) == (2, f"error: {words}\n")
