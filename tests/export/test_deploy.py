"""The files of deploy/: the client against a server, and what can be checked of the others."""

import http.server
import importlib.util
import json
import re
import subprocess
import sys
import threading

import pytest
import tensorflow as tf

from tests.support import ROOT
from tests.support.exports import random_export, random_texts, version_folder

DEPLOY = ROOT / "deploy"
CLIENT = DEPLOY / "examples" / "translate.py"


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture(scope="module")
def server(exported):
    """Answers predict requests in row format by the rules of TF Serving's sources."""
    signatures = tf.saved_model.load(str(version_folder(exported[1]))).signatures

    def plain(value):
        return value.decode() if isinstance(value, bytes) else value

    def nested(value):
        return [nested(part) for part in value] if isinstance(value, list) else plain(value)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/models/NA%2FME:predict":
                return self.answer(404, {"error": "Servable not found for request: Latest(x)"})
            function = signatures[body["signature_name"]]
            outputs = function(text=tf.constant(body["instances"]))
            columns = {name: nested(value.numpy().tolist()) for name, value in outputs.items()}
            rows = zip(*columns.values(), strict=True)
            self.answer(200, {"predictions": [dict(zip(columns, r, strict=True)) for r in rows]})

        def answer(self, status, content):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def client():
    spec = importlib.util.spec_from_file_location("deploy_client", CLIENT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_client_reads_text_and_attention_of_rows_of_unequal_lengths(exported, server):
    texts = [*random_texts(exported[0].source, 5), ""]
    rows = client().predict(f"{server}/v1/models/NA%2FME", texts, "attention")
    assert len(rows) == len(texts)
    for text, row in zip(texts, rows, strict=True):
        attention = client().attention_of(row)
        assert "".join(target for target, _ in attention) == row["text"]
        for _, weights in attention:
            assert "".join(source for source, _ in weights) == text
            assert not weights or sum(weight for _, weight in weights) == pytest.approx(1, abs=1e-5)


def test_the_client_is_a_program_of_the_standard_library(server):
    command = [sys.executable, "-I", "-S", CLIENT, "--server", server]
    finished = subprocess.run(
        [*command, "--name", "NA/ME", "--attention", "abc", ""], capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    scored = [line.split("\t") for line in finished.stdout.splitlines() if "\t" in line]
    assert [len(columns) for columns in scored] == [3, 3]
    assert "looked at" in finished.stdout


@pytest.mark.parametrize(
    "arguments, what",
    [
        (["--name", "other"], "404: Servable not found"),
        (["--name", "x", "--server", "http://127.0.0.1:9"], "refused"),
    ],
)
def test_the_client_tells_a_failure_in_one_line(server, arguments, what):
    finished = subprocess.run(
        [sys.executable, "-I", "-S", CLIENT, "--server", server, *arguments, "abc"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: ") and finished.stderr.count("\n") == 1
    assert what in finished.stderr


def test_every_request_of_the_curl_lines_is_json_for_a_signature_that_exists(exported):
    text = (DEPLOY / "examples" / "requests.sh").read_text()
    bodies = [json.loads(body) for body in re.findall(r"--data '(.*?)'", text)]
    assert len(bodies) == 4
    signatures = tf.saved_model.load(str(version_folder(exported[1]))).signatures
    for body in bodies:
        assert body.get("signature_name", "serving_default") in signatures
        assert len({"instances", "inputs"} & set(body)) == 1


def test_the_batching_parameters_are_fields_of_tf_serving():
    """`BatchingParameters` in session_bundle_config.proto."""
    known = {
        *("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads"),
        *("allowed_batch_sizes", "pad_variable_length_inputs", "thread_pool_name"),
    }
    lines = (DEPLOY / "batching.pbtxt").read_text().splitlines()
    assert all(re.fullmatch(r"\w+ \{ value: \d+ \}", line) for line in lines)
    assert {line.split()[0] for line in lines} <= known


def test_each_file_says_that_it_was_not_run_against_the_binary():
    for name in ("compose.yaml", "README.md", "examples/translate.py", "examples/requests.sh"):
        text = " ".join(re.sub(r"[#*]", "", (DEPLOY / name).read_text()).split())
        assert "ot run against the TF Serving binary" in text, name


class TestSbom:
    """What deploy/sbom.py says of this environment."""

    @pytest.fixture
    def components(self):
        finished = subprocess.run(
            [sys.executable, DEPLOY / "sbom.py"], capture_output=True, text=True, check=True
        )
        bill = json.loads(finished.stdout)
        assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
        return {component["name"]: component for component in bill["components"]}

    def test_every_pinned_package_is_in_it_with_its_version(self, components):
        for name in ("requirements.txt", "requirements-serve.txt"):
            for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
                if "==" not in line or ";" in line or line.startswith("#"):
                    continue  # a marker may leave it out here
                package, _, version = line.partition("==")
                package = re.sub(r"[-_.]+", "-", package).lower()
                if package in components:
                    assert components[package]["version"] == version.strip()
        assert {"keras", "numpy", "uvicorn"} <= set(components)

    def test_so_is_what_those_need(self, components):
        assert {"protobuf", "h5py"} <= set(components)

    def test_each_has_a_licence_and_an_address(self, components):
        unstated = set()
        for name, component in components.items():
            assert component["purl"] == f"pkg:pypi/{name}@{component['version']}"
            if component["licenses"][0]["license"]["name"] == "not stated":
                unstated.add(name)
        assert unstated <= {"namex"}  # whose metadata say nothing


def test_the_image_is_of_the_tensorflow_that_is_pinned():
    """A tag that moves would change what serves without anybody's doing."""
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pinned = re.search(r"^tensorflow==(\S+);", requirements, re.M)[1]
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert f"tensorflow/serving:${{TF_SERVING_TAG:-{pinned}}}" in compose
    for page in ("docs/shipping.md", "README.md", "README.ko.md"):
        for tag in re.findall(r"tensorflow/serving(:[\w.]+)?$", (ROOT / page).read_text(), re.M):
            assert tag == f":{pinned}", page


def test_ports_are_published_on_this_machine_alone():
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    published = re.findall(r'^ +- "(.*?):\d+" #', compose, re.M)
    assert published == ["127.0.0.1:8500", "127.0.0.1:8501"]
    for page in ("docs/shipping.md",):
        for port in re.findall(r"docker run .*?-p (\S+)", (ROOT / page).read_text()):
            assert port.startswith("127.0.0.1:")
