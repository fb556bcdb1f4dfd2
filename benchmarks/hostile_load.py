"""What a server answers to requests that nobody should send: status, seconds, memory.

    python -m benchmarks.hostile_load EXPORT [--out FILE]

A megabyte as one text, 10,000 sentences, a gzip bomb, JSON nested 100,000 deep, endless headers,
1,000 connections at once: each to a server of its own limits as `serve` has them by default, and
the texts also straight to the SavedModel, which has only its own. Linux, since it reads /proc.
"""

import argparse
import contextlib
import gzip
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.result_files import ROOT, add_out_option, write_results

MEGABYTE = 2**20

# What asks the SavedModel by itself, in a process of its own so that its memory is seen.
DIRECT = """
import json, sys, time
import tensorflow as tf
from keras_attention.folders.saved_model_files import load_saved_model
model = load_saved_model(sys.argv[1])
sentences = [b"september 27, 1994"] * 10_000
texts = {"a megabyte": [b"a" * 2**20], "10,000 sentences": sentences}[sys.argv[2]]
call = model.signatures[sys.argv[3]]
call(text=tf.constant([b"a"]))
def kilobytes(key):
    return int(open("/proc/self/status").read().partition(key)[2].split()[0])
before, start = kilobytes("VmRSS:"), time.perf_counter()
try:
    confidence = call(text=tf.constant(texts))["confidence"].numpy()
    answer = "confidence 0" if not confidence.any() else "answered"
except tf.errors.InvalidArgumentError as error:
    answer = "INVALID_ARGUMENT"
seconds = time.perf_counter() - start
megabytes = (kilobytes("VmHWM:") - before) / 1024
print(json.dumps({"answer": answer, "seconds": seconds, "megabytes": megabytes}))
"""


class Server:
    """`python -m keras_attention serve` with its memory."""

    def __init__(self, export: pathlib.Path):
        self.name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
        command = [sys.executable, "-m", "keras_attention", "serve", str(export), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--no-access-log"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("serving"):
            raise RuntimeError(f"the server did not start: {line}")
        self.port = int(line.rstrip("/\n").rpartition(":")[2])

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)

    def megabytes(self) -> float:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def predict(self, body: bytes, **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            try:
                connection.request("POST", f"/v1/models/{self.name}:predict", body, named)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before the body was sent; the answer is there
            return connection.getresponse().status

    def raw(self, data: bytes) -> int:
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            return int(connection.recv(100).split()[1])


def connections(server: Server, count: int) -> int:
    """Opens many connections, asks on the last while the others are silent; its status."""
    with contextlib.ExitStack() as stack:
        for _ in range(count - 1):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=120)
            stack.enter_context(connection)
        return server.predict(b'{"instances": ["a"]}')


def cases(server: Server) -> dict[str, Callable[[], int]]:
    sentences = json.dumps({"instances": ["september 27, 1994"] * 10_000}).encode()
    bomb = gzip.compress(b" " * 500 * MEGABYTE, compresslevel=9)
    nested = b'{"instances": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    headers = b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000
    megabyte = json.dumps({"instances": ["a" * (MEGABYTE - 100)]}).encode()
    return {
        "a megabyte as one text": lambda: server.predict(megabyte),
        "a body of ten megabytes": lambda: server.predict(b" " * 10 * MEGABYTE),
        "10,000 sentences": lambda: server.predict(sentences),
        f"{len(bomb) / 1000:.0f} kB of gzip for 500 MB": lambda: server.predict(
            bomb, Content_Encoding="gzip"
        ),
        "JSON nested 100,000 deep": lambda: server.predict(nested),
        "100,000 headers": lambda: server.raw(headers),
        "1,000 connections": lambda: connections(server, 1000),
        "a good one afterwards": lambda: server.predict(b'{"instances": ["a"]}'),
    }


def measure(export: pathlib.Path) -> dict:
    from keras_attention.folders.export_layout import described_version, read_manifest

    server = Server(export)
    report: dict = {"server": {}, "saved_model": {}}
    try:
        server.predict(b'{"instances": ["a"]}')
        for name, ask in cases(server).items():
            before, start = server.megabytes(), time.perf_counter()
            status = ask()
            report["server"][name] = {
                "status": status,
                "seconds": round(time.perf_counter() - start, 3),
                "megabytes": round(server.megabytes() - before, 1),
            }
            print(name, report["server"][name], flush=True)
    finally:
        server.stop()
    folder = described_version(export, read_manifest(export))
    for what in ("a megabyte", "10,000 sentences"):
        for signature in ("serving_default", "attention", "beam"):
            finished = subprocess.run(
                [sys.executable, "-c", DIRECT, folder, what, signature],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            row = json.loads(finished.stdout)
            row = {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
            report["saved_model"][f"{what}, {signature}"] = row
            print(what, signature, row, flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=pathlib.Path)
    add_out_option(parser, "hostile_load")
    options = parser.parse_args()
    report = measure(options.export)
    write_results(options.out, report)


if __name__ == "__main__":
    main()
