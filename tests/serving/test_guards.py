"""What the server keeps out, and how it ends, over real connections of this machine."""

import http.client
import json
import random
import re
import signal
import socket
import string
import subprocess
import sys
import threading
import time

import pytest

from tests.support import ROOT
from tests.support.commands import call_verb
from tests.support.exports import random_export
from tests.support.servers import server_of, shared_server


@pytest.fixture(scope="module")
def server():
    return shared_server()


@pytest.fixture(scope="module")
def strict():
    """A server with limits that a test can reach."""
    options = ("--most-in-flight", "4", "--longest-text", "20", "--largest-request", "100")
    with server_of(random_export()[1], *options, "--largest-body", "2000", "--cors") as server:
        yield server


# --- headers


def test_every_answer_has_safe_headers(server):
    for method, path in (("GET", "/"), ("GET", "/v1/models/x"), ("GET", "/x"), ("PUT", "/")):
        headers = server.ask(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers


def test_the_page_may_run_its_own_files_and_nothing_else(server):
    policy = server.ask("GET", "/").headers["content-security-policy"]
    assert "script-src 'self';" in policy and "connect-src 'self';" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy


def test_the_page_and_its_files(server):
    page = server.ask("GET", "/")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    names = re.findall(r'(?:src|href)="(assets/[^"]+)"', page.body.decode())
    assert len(names) >= 5
    for name in [*names, "assets/words.js", "assets/server-model.js"]:
        assert server.ask("GET", "/" + name).status == 200
    assert server.ask("HEAD", "/").body == b""
    assert server.ask("POST", "/", b"x").status == 405
    for path in ("/assets/", "/assets/../page.html", "/assets/%2e%2e/x", "/x", "//"):
        answer = server.ask("GET", path)
        assert (answer.status, answer.body) in [(404, {"error": "Not found"}), (200, page.body)]


def test_cross_origin_use_only_if_asked(server, strict):
    preflight = strict.ask("OPTIONS", f"/v1/models/{strict.name}:predict", Origin="http://a.test")
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert preflight.headers["access-control-allow-methods"] == "POST, GET"
    assert preflight.headers["access-control-allow-headers"] == "Content-Type"
    assert strict.ask("OPTIONS", f"/v1/models/{strict.name}:predict").status == 400
    answer = strict.predict({"instances": ["a"]}, Origin="http://a.test")
    assert answer.headers["access-control-allow-origin"] == "*"
    refused = server.ask("OPTIONS", f"/v1/models/{server.name}:predict", Origin="http://a.test")
    assert refused.status == 400


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8501", "a.localhost", ""])
def test_names_of_this_machine_are_served(server, host):
    assert server.ask("GET", "/", Host=host).status == 200


@pytest.mark.parametrize("host", ["evil.test", "evil.test:8501", "10.0.0.1", "localhost.evil.test"])
def test_a_name_that_points_here_from_elsewhere_is_not(server, host):
    answer = server.predict({"instances": ["a"]}, Host=host)
    assert (answer.status, answer.body) == (403, {"error": "This server answers this machine only"})


# --- limits


def test_a_text_may_have_a_certain_length_in_characters(strict):
    assert strict.predict({"instances": ["가" * 20]}).status == 200
    answer = strict.predict({"instances": ["a", "가" * 21]})
    message = "A text of 21 characters is too long: at most 20 are accepted"
    assert (answer.status, answer.body) == (400, {"error": message})


def test_many_texts_may_not_be_padded_to_too_much(strict):
    assert strict.predict({"instances": ["a" * 20] * 5}).status == 200
    assert strict.predict({"instances": [""] * 100}).status == 200
    for texts in (["a" * 20] * 6, ["a"] * 99 + ["aa"], [""] * 101):
        answer = strict.predict({"instances": texts})
        assert answer.status == 400 and "too many for one request" in answer.body["error"]


def test_a_body_may_have_a_certain_size(strict):
    body = json.dumps({"instances": ["a"]}).encode()
    assert strict.predict(body + b" " * (2000 - len(body))).status == 200
    answer = strict.predict(body + b" " * (2001 - len(body)))
    message = "The body is larger than 2000 bytes"
    assert (answer.status, answer.body) == (413, {"error": message})
    assert answer.headers["connection"] == "close"


def test_a_body_in_chunks_may_not_be_larger_either(strict):
    connection = http.client.HTTPConnection("127.0.0.1", strict.port, timeout=30)
    connection.putrequest("POST", f"/v1/models/{strict.name}:predict")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    for _ in range(3):
        connection.send(b"3e8\r\n" + b" " * 1000 + b"\r\n")
    assert connection.getresponse().status == 413
    connection.close()


def raw(server, text: bytes) -> bytes:
    """What the server says to bytes that are no whole request, until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(text)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_what_is_no_http_is_refused_and_closed(server):
    for text in (b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 100):
        assert raw(server, text).startswith(b"HTTP/1.1 400")
    assert server.ask("GET", "/").status == 200


@pytest.mark.slow
def test_slow_senders_are_given_up():
    from keras_attention.serving.server import ServerOptions

    assert ServerOptions().idle_seconds <= 60 and ServerOptions().settings.body_seconds <= 60
    code = """
import dataclasses, sys
from keras_attention.serving.application import Settings
from keras_attention.serving.server import ServerOptions, serve
serve(sys.argv[1], ServerOptions(port=0, idle_seconds=1, settings=Settings(body_seconds=1)))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, random_export()[1]], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        try:
            port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
            for begun in (b"", b"POST /v1/models/x:predict HTTP/1.1\r\nHost: loc"):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                    connection.sendall(begun)
                    assert connection.recv(100) == b""
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                head = b"POST /v1/models/x:predict HTTP/1.1\r\nHost: localhost\r\n"
                connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
                answer = b""
                while part := connection.recv(2000):
                    answer += part
                assert answer.startswith(b"HTTP/1.1 408")
                assert b"did not arrive within 1 seconds" in answer
        finally:
            process.terminate()


def test_beyond_the_bound_the_answer_is_429(strict):
    """Four requests whose bodies do not end take the four places there are."""
    head = f"POST /v1/models/{strict.name}:predict HTTP/1.1\r\nHost: localhost\r\n"
    waiting = []
    for _ in range(4):
        connection = socket.create_connection(("127.0.0.1", strict.port), timeout=30)
        connection.sendall(head.encode() + b"Content-Length: 20\r\n\r\n")
        waiting.append(connection)
    for _ in range(100):
        answer = strict.predict({"instances": ["a"]})
        if answer.status == 429:
            break
        time.sleep(0.05)
    message = "Too many requests: at most 4 in flight"
    assert (answer.status, answer.body) == (429, {"error": message})
    assert answer.headers["retry-after"] == "1"
    assert strict.ask("GET", f"/v1/models/{strict.name}").status == 200, (
        "asking how it is costs none"
    )
    for connection in waiting[:2]:
        connection.sendall(b'{"instances": ["a"]}')
        assert connection.recv(20).startswith(b"HTTP/1.1 200")
        connection.close()
    for connection in waiting[2:]:
        connection.close()  # and who goes away gives the place back
    for _ in range(100):
        if all(strict.predict({"instances": ["a"]}).status == 200 for _ in range(4)):
            break
        time.sleep(0.05)
    else:
        pytest.fail("places were not given back")


# --- the log


def test_the_log_tells_nothing_that_users_wrote(server):
    secrets = ["s3cr3t-text", "geheim", "비밀"]
    server.predict({"instances": secrets})
    server.predict({"instances": [{"nested": {"s3cr3t-text": 1}}]})
    server.predict({"signature_name": "s3cr3t-text", "instances": ["a"]})
    server.ask("GET", "/?text=s3cr3t-text")
    server.ask("GET", "/v1/models/s3cr3t-text")
    server.ask("GET", "/v1/models/%EB%B9%84%EB%B0%80/labels/geheim/metadata")
    server.ask("POST", "/s3cr3t-text", b"s3cr3t-text")
    server.predict(b'{"s3cr3t-text": ')
    log = server.log()
    assert re.search(r"^\S+T\S+ POST predict serving_default texts=3 200 \d+\.\d ms$", log, re.M)
    assert re.search(r"^\S+ GET status 404 ", log, re.M)
    assert re.search(r"^\S+ POST other 404 ", log, re.M)
    for secret in [*secrets, "%EB%B9%84"]:
        assert secret not in log


# --- starting and ending


def test_ending_waits_for_what_is_in_flight():
    with server_of(random_export()[1]) as server:
        head = f"POST /v1/models/{server.name}:predict HTTP/1.1\r\nHost: localhost\r\n"
        body = json.dumps({"signature_name": "beam", "instances": ["가나 b"] * 20}).encode()
        waiting = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        waiting.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.7)
        with pytest.raises(ConnectionError):
            socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
        assert server.process.poll() is None
        waiting.sendall(body[-1:])
        answer = b""
        while part := waiting.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer
        assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["predictions"]) == 20
        assert server.process.wait(timeout=30) == 0
        waiting.close()
        idle.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-folder"], "no-such-folder: holds no finished export"),
        (["EXPORT", "--port", "70000"], "--port: must be between 0 and 65535. Received: 70000"),
        (["EXPORT", "--port", "x"], "--port: invalid int value: 'x'"),
        (["EXPORT", "--most-in-flight", "0"], "--most-in-flight: must be a finite number"),
        (["EXPORT", "--timeout", "nan"], "--timeout: must be a finite number"),
        (["EXPORT", "--host", "no.such.host.invalid"], "--host: no.such.host.invalid is no addr"),
        (["EXPORT", "--examples", "none.tsv"], "none.tsv: no such file"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, words):
    arguments = [random_export()[1] if a == "EXPORT" else a for a in arguments]
    finished = call_verb("serve", *arguments)
    assert finished.status == 2
    assert finished.err.startswith(f"error: {words}") and finished.err.count("\n") == 1


def test_a_port_that_is_taken_is_told(server):
    finished = call_verb("serve", random_export()[1], "--port", server.port)
    assert finished.status == 2
    assert f"cannot listen at 127.0.0.1 port {server.port}: Address already in use" in finished.err


def test_it_listens_on_this_machine_only(server):
    listening = subprocess.run(["cat", "/proc/net/tcp"], capture_output=True, text=True).stdout
    if not listening:
        pytest.skip("no /proc/net/tcp")
    ours = [line.split()[1] for line in listening.splitlines()[1:] if line.split()[3] == "0A"]
    assert f"0100007F:{server.port:04X}" in ours
    assert f"00000000:{server.port:04X}" not in ours


# --- 10,000 bodies that nobody should send


def hostile_body(choose: random.Random) -> bytes:
    """Bytes that are not a good request."""
    good = json.dumps({"signature_name": "serving_default", "instances": ["a", "b"]}).encode()
    kind = choose.randrange(10)
    if kind == 0:
        return choose.randbytes(choose.randrange(200))
    if kind == 1:  # cut off
        return good[: choose.randrange(len(good) - 1)]
    if kind == 2:  # deep
        depth = choose.choice([5, 70, 1000, 20_000])
        return b'{"instances": ' + choose.choice([b"[", b'{"a":', b"[{"]) * depth
    if kind == 3:
        number = choose.choice(["1e308", "-1e999", "9" * 400, "1" * 5000, "0.1e-500", "-0", "NaN"])
        return f'{{"instances": [{number}]}}'.encode()
    if kind == 4:
        wrong = [None, True, 0, -1.5, {}, [], [[]], {"b64": 1}, {"text": []}, {"b64": "*"}, "a"]
        value = choose.choice(wrong[:-1])
        key = choose.choice(["instances", "inputs", "signature_name"])
        document = {key: choose.choice([value, [value], {"text": value}, ["a", value]])}
        if document in ({"inputs": []}, {"inputs": {"text": []}}):
            document = {"inputs": [[]]}
        return json.dumps(document).encode()
    if kind == 5:  # invalid UTF-8 in a text
        broken = choose.choice(
            [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2"]
        )
        return b'{"instances": ["a' + broken + b'b"]}'
    if kind == 6:
        escape = choose.choice(["\\x", "\\u12", "\\ud800", "\\udfff", "\\", "\x01", "\x00"])
        return f'{{"instances": ["{escape}"]}}'.encode()
    if kind == 7:  # one structural character exchanged
        place = choose.choice([i for i, c in enumerate(good) if c in b'{}[]:,"'])
        return good[:place] + choose.choice([b"%", b"\0", b"(", b"'"]) + good[place + 1 :]
    if kind == 8:  # too much
        many = choose.choice([["a" * 600], ["가" * 513], ["a" * 100] * 400, [""] * 40_000])
        return json.dumps({choose.choice(["instances", "inputs"]): many}).encode()
    letters = "".join(choose.choice(string.printable) for _ in range(choose.randrange(80)))
    return json.dumps({letters: letters, "instances": {letters: letters}}).encode()


def ask_all(server, seed: int, count: int, failures: list) -> None:
    choose = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for _ in range(count):
        body = hostile_body(choose)
        connection.request("POST", f"/v1/models/{server.name}:predict", body)
        reply = connection.getresponse()
        content = reply.read()
        try:
            told = json.loads(content)["error"]
        except (ValueError, KeyError):
            told = None
        if not 400 <= reply.status < 500 or not isinstance(told, str) or len(content) > 5000:
            failures.append((body[:200], reply.status, content[:200]))
    connection.close()


@pytest.mark.slow
def test_10000_hostile_bodies_get_an_error_each_and_change_nothing(server):
    before = server.predict({"instances": ["가나 b"]}).body
    failures: list = []
    threads = [
        threading.Thread(target=ask_all, args=(server, seed, 2500, failures)) for seed in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert not any(thread.is_alive() for thread in threads), "a request hangs"
    assert failures == []
    assert server.predict({"instances": ["가나 b"]}).body == before
    assert "Internal error" not in server.log()
