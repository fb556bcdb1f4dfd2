"""How a change of the data shows in the metrics: Korean dates sent to a model of English ones.

    python -m benchmarks.drift [--pairs 20000] [--seconds 60] [--epochs 4] [--out FILE]

Trains a model on those dates of `data/dates` that are written in ASCII, exports and serves it, and
lets Prometheus (Debian's package; it must be installed) read the server's metrics every second.
Then it sends ten English test dates a second, and after that ten Korean ones. The JSON has what
the queries of `deploy/monitoring/grafana-dashboard.json` answer at the end of either time.

Some three minutes on two cores.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator

from benchmarks.result_files import ROOT, add_out_option, write_results
from benchmarks.serving_load import running_server

MONITORING = ROOT / "deploy" / "monitoring"
# Panels of the dashboard whose queries answer with one number.
PANELS = ("Share of unknown characters or words", "Share of unsure answers", "Length of sources")


def dates(part: str, english: bool) -> list[str]:
    """Lines of a part of `data/dates` that are written in ASCII, or those that are not."""
    text = (ROOT / "data" / "dates" / f"{part}.tsv").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.partition("\t")[0].isascii() == english]


def english_model(folder: pathlib.Path, pairs: int, epochs: int) -> pathlib.Path:
    """The export of a model that has seen English dates only."""
    data = folder / "data"
    data.mkdir()
    for part, most in (("train", pairs), ("valid", 1000), ("test", 1000)):
        lines = dates(part, english=True)[:most]
        (data / f"{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run, export = folder / "run", folder / "export"
    training = ("--data", str(data), "--out", str(run), "--epochs", str(epochs))
    subprocess.run([sys.executable, "train.py", *training], cwd=ROOT, check=True)
    command = [sys.executable, "export.py", str(run), "--out", str(export)]
    subprocess.run(command, cwd=ROOT, check=True)
    return export


@contextlib.contextmanager
def running_prometheus(folder: pathlib.Path, server_port: int) -> Iterator[str]:
    """Prometheus over the server, with the configuration of `deploy/monitoring`; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = (MONITORING / "prometheus.yaml").read_text(encoding="utf-8")
    config = config.replace("127.0.0.1:8501", f"127.0.0.1:{server_port}")
    config = re.sub(r"scrape_interval: \S+", "scrape_interval: 1s", config)
    (folder / "prometheus.yaml").write_text(config, encoding="utf-8")
    (folder / "alerts.yaml").write_bytes((MONITORING / "alerts.yaml").read_bytes())
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yaml",
        f"--storage.tsdb.path={folder}/data-of-prometheus",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def send(port: int, name: str, lines: list[str], seconds: float) -> int:
    """Sends ten requests a second; how many were answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    answered, start = 0, time.perf_counter()
    with contextlib.closing(connection):
        for place in range(round(10 * seconds)):
            time.sleep(max(0.0, start + place / 10 - time.perf_counter()))
            text = lines[place % len(lines)].partition("\t")[0]
            body = json.dumps({"instances": [text]}).encode()
            connection.request("POST", f"/v1/models/{name}:predict", body)
            reply = connection.getresponse()
            reply.read()
            answered += reply.status == 200
    return answered


def shown(prometheus: str, seconds: int) -> dict[str, float]:
    """What the dashboard's panels show of the last seconds."""
    board = json.loads((MONITORING / "grafana-dashboard.json").read_text(encoding="utf-8"))
    found = {}
    for panel in board["panels"]:
        if panel["title"] in PANELS:
            query = panel["targets"][0]["expr"].replace("$__rate_interval", f"{seconds}s")
            url = f"{prometheus}/api/v1/query?query={urllib.parse.quote(query)}"
            with urllib.request.urlopen(url, timeout=30) as reply:
                (result,) = json.load(reply)["data"]["result"]
            found[panel["title"]] = round(float(result["value"][1]), 4)
    return found


def measure(folder: pathlib.Path, pairs: int, epochs: int, seconds: int) -> dict:
    export = english_model(folder, pairs, epochs)
    name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
    report: dict = {"pairs": pairs, "epochs": epochs, "seconds": seconds}
    with (
        running_server(export, "--no-access-log") as (_, port),
        running_prometheus(folder, port) as prometheus,
    ):
        for language, english in (("english", True), ("korean", False)):
            answered = send(port, name, dates("test", english), seconds)
            time.sleep(2)  # until they have been read
            report[language] = {"answered": answered, **shown(prometheus, seconds // 2)}
            print(language, report[language], flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=60)
    add_out_option(parser, "drift")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(pathlib.Path(folder), options.pairs, options.epochs, options.seconds)
    write_results(options.out, report)


if __name__ == "__main__":
    main()
