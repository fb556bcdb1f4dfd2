"""The client and the curl lines of deploy/examples, as users would run them."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest

from keras_attention.readers.saved_model_reader import SavedModelReader
from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.servers import shared_server

EXAMPLES = ROOT / "deploy" / "examples"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("client", EXAMPLES / "client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server():
    return shared_server()


@pytest.fixture
def client(example, server):
    return example.Client(server.url, server.name)


@pytest.fixture(scope="module")
def reader():
    return SavedModelReader(random_export()[1])


def test_translations_are_those_of_the_model(client, reader):
    texts = ["가나 b", "", "0123" * 8]
    expected = reader.translate_batch(texts)
    for row, translation in zip(client.translate(texts), expected, strict=True):
        assert row["text"] == translation.text
        assert row["confidence"] == pytest.approx(translation.confidence, abs=1e-6)
    assert client.translate([]) == []


def test_attention_comes_without_padding(client, reader):
    texts = ["가나 b", "0123" * 8]
    for row, translation in zip(
        client.attention(texts), reader.translate_batch(texts), strict=True
    ):
        assert row["source_tokens"] == list(translation.source_tokens)
        assert row["target_tokens"] == list(translation.target_tokens)
        for ours, theirs in zip(
            row["attention_weights"], translation.attention_weights, strict=True
        ):
            assert ours == pytest.approx(theirs.tolist(), abs=1e-5)


def test_bytes_are_sent_as_they_are(client, reader):
    (row,) = client.translate([b"\xff a"])
    assert row["text"] == reader.translate_batch(["\ufffd a"])[0].text


def test_status_and_signatures(client):
    assert client.status() == {1: "AVAILABLE"}
    assert {"serving_default", "attention", "beam"} <= set(client.signatures())


def test_refusals_are_errors_with_the_servers_words(example, server):
    with pytest.raises(example.ServingError) as caught:
        example.Client(server.url, "half").translate(["a"])
    assert caught.value.status == 404
    assert caught.value.message == "Servable not found for request: Latest(half)"
    with pytest.raises(example.ServingError) as caught:
        example.Client(server.url, server.name, version=7).translate(["a"])
    assert "Specific" in caught.value.message
    with pytest.raises(example.ServingError, match="did not answer"):
        example.Client("http://127.0.0.1:9", "x").translate(["a"])


def test_a_busy_server_is_asked_again(example, monkeypatch):
    """Twice 429, then an answer."""
    import http.server
    import threading

    asked = []

    class Busy(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            body = {"predictions": [{"text": "x"}]} if len(asked) > 2 else {"error": "busy"}
            self.send_response(200 if len(asked) > 2 else 429)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    monkeypatch.setattr(example.time, "sleep", lambda _: None)
    with http.server.HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert example.Client(url, "a b/c").translate(["a"]) == [{"text": "x"}]
        asked.clear()
        with pytest.raises(example.ServingError, match="429: busy"):
            example.Client(url, "x", retries=1).translate(["a"])
        server.shutdown()
    assert asked == ["/v1/models/x:predict"] * 2


def test_as_a_command(server):
    command = [sys.executable, str(EXAMPLES / "client.py"), server.url, server.name]
    finished = subprocess.run([*command, "가나", "b"], capture_output=True, text=True)
    assert finished.returncode == 0 and finished.stdout.count("\n") == 2
    command[-1] = "half"
    finished = subprocess.run([*command, "b"], capture_output=True, text=True)
    assert finished.returncode == 1
    assert finished.stderr == "error: 404: Servable not found for request: Latest(half)\n"


def test_the_curl_lines(server):
    if not shutil.which("curl"):
        pytest.skip("no curl on PATH")
    command = ["sh", str(EXAMPLES / "requests.sh"), server.name, server.url.rstrip("/")]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    decoder, rest, kinds = json.JSONDecoder(), finished.stdout.strip(), []
    while rest:
        answer, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        kinds.append(next(iter(answer)))
    asked = (EXAMPLES / "requests.sh").read_text().count("curl --fail")
    assert len(kinds) == asked >= 5
    assert set(kinds) == {"model_version_status", "predictions", "outputs", "model_spec"}


def test_the_script_for_one_text(server):
    command = [sys.executable, str(EXAMPLES / "translate.py"), "--name", server.name]
    command += ["--server", server.url.rstrip("/"), "--attention", "가나 b"]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "looked at" in finished.stdout
