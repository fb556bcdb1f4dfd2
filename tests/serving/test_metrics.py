"""The metrics, read by Prometheus' own parser, and by Prometheus where it is installed."""

import json
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from keras_attention.serving.metrics import Counter, Gauge, Histogram
from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.servers import server_of

parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus_client")

PATH = "/monitoring/prometheus/metrics"
TF = ":tensorflow:serving:"
OURS = "keras_attention_"


@pytest.fixture(scope="module")
def server():
    with server_of(
        random_export()[1], "--most-in-flight", "8", "--min-confidence", "0.9"
    ) as server:
        yield server


def read(server) -> dict[str, dict[tuple, float]]:
    """Samples by name and labels."""
    answer = server.ask("GET", PATH)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return samples_of(answer.body.decode())


def samples_of(text: str) -> dict[str, dict[tuple, float]]:
    samples: dict[str, dict[tuple, float]] = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            # The parser calls every counter "_total", which those of TensorFlow Serving are not.
            name = sample.name if f"\n{sample.name}" in text else sample.name[: -len("_total")]
            assert labels not in samples.setdefault(name, {}), "a sample twice"
            samples[name][labels] = sample.value
    return samples


def total(samples: dict, name: str, **labels: str) -> float:
    """The sum of the samples of a name that have some labels."""
    return sum(
        value for named, value in samples.get(name, {}).items() if set(labels.items()) <= set(named)
    )


def growth(before: dict, after: dict, name: str, **labels: str) -> float:
    return total(after, name, **labels) - total(before, name, **labels)


def test_counts_add_up_to_what_was_asked(server):
    before = read(server)
    for texts in (["ab"], ["ab", "가나", ""], ["0"] * 4):
        server.predict({"instances": texts})
    server.predict({"signature_name": "beam", "instances": ["ab"]})
    server.predict({"signature_name": "attention", "inputs": ["ab", "e"]})
    server.predict(b"{")
    server.predict({"signature_name": "none", "instances": ["ab"]})
    server.ask("POST", "/v1/models/other:predict", {"instances": ["ab"]})
    server.ask("GET", f"/v1/models/{server.name}")
    server.ask("GET", "/")
    after = read(server)
    assert growth(before, after, f"{TF}request_count", status="OK") == 5
    assert growth(before, after, f"{TF}request_count", status="INVALID_ARGUMENT") == 2
    assert growth(before, after, f"{TF}request_count", status="NOT_FOUND") == 1
    assert growth(before, after, f"{TF}request_latency_count", API="Predict") == 8
    assert growth(before, after, f"{TF}runtime_latency_count") == 5
    for signature, requests, texts in (
        ("serving_default", 3, 8),
        ("beam", 1, 1),
        ("attention", 1, 2),
    ):
        of = {"signature": signature}
        assert growth(before, after, f"{OURS}requests_total", code="200", **of) == requests
        assert growth(before, after, f"{OURS}batch_texts_sum", **of) == texts
        assert growth(before, after, f"{OURS}confidence_count", **of) == texts
        assert growth(before, after, f"{OURS}source_tokens_count", **of) == texts
        assert growth(before, after, f"{OURS}queue_seconds_count", **of) == requests
    assert growth(before, after, f"{OURS}http_requests_total", what="page") == 1
    assert growth(before, after, f"{OURS}http_requests_total", what="status") == 1
    assert growth(before, after, f"{OURS}http_requests_total", what="metrics") == 1
    assert after[f"{OURS}in_flight"] == {(): 0.0} and after[f"{OURS}version"] == {(): 1.0}


def test_histograms_are_cumulative_and_end_with_all(server):
    server.predict({"instances": ["ab"] * 10})
    samples = read(server)
    names = [name.removesuffix("_bucket") for name in samples if name.endswith("_bucket")]
    assert len(names) >= 7
    for name in names:
        series: dict[tuple, list[tuple[float, float]]] = {}
        for labels, value in samples[f"{name}_bucket"].items():
            rest = tuple(label for label in labels if label[0] != "le")
            series.setdefault(rest, []).append((float(dict(labels)["le"]), value))
        for labels, buckets in series.items():
            counts = [count for _, count in sorted(buckets)]
            assert counts == sorted(counts)
            assert counts[-1] == samples[f"{name}_count"][labels]
            assert max(bound for bound, _ in buckets) == float("inf")


def test_the_buckets_are_those_of_tensorflow_serving(server):
    server.predict({"instances": ["ab"]})
    bounds = sorted(
        float(dict(labels)["le"]) for labels in read(server)[f"{TF}request_latency_bucket"]
    )
    assert len(bounds) == 34 and bounds[0] == 10
    assert bounds[1:-1] == pytest.approx([1.8 * bound for bound in bounds[:-2]])


def test_unknown_characters_and_abstentions_show_a_drift(server):
    """A model of Latin letters, digits and two syllables gets text in another script."""
    before = read(server)
    server.predict({"instances": ["ab 0123 가나"] * 5})
    between = read(server)
    server.predict({"instances": ["двадцать"] * 5})
    after = read(server)
    unknown, tokens = f"{OURS}unknown_tokens_total", f"{OURS}source_tokens_sum"
    assert growth(before, between, unknown) == 0 and growth(before, between, tokens) == 50
    assert growth(between, after, unknown) == growth(between, after, tokens) == 40
    confidences = [
        row["confidence"]
        for text in ("ab 0123 가나", "двадцать")
        for row in server.predict({"instances": [text] * 5}).body["predictions"]
    ]
    abstained = sum(confidence < 0.9 for confidence in confidences)
    assert growth(before, after, f"{OURS}abstained_total") == abstained
    assert growth(before, after, f"{OURS}confidence_sum") == pytest.approx(sum(confidences))


def test_it_tells_nothing_that_users_wrote(server):
    server.predict({"signature_name": "s3cr3t", "instances": ["s3cr3t"]})
    server.ask("POST", "/v1/models/s3cr3t:predict", {"instances": ["s3cr3t"]})
    server.ask("GET", "/s3cr3t")
    assert b"s3cr3t" not in server.ask("GET", PATH).body


def test_the_number_of_series_does_not_grow_with_what_is_asked(server):
    server.predict({"signature_name": "x", "instances": ["a"]})
    server.ask("GET", "/v1/models/y")
    before = len(server.ask("GET", PATH).body.splitlines())
    for i in range(20):
        server.predict({"signature_name": f"x{i}", "instances": ["a"]})
        server.ask("POST", f"/v1/models/x{i}:predict", {"instances": ["a"]})
        server.ask("GET", f"/v1/models/{i}")
        server.ask("PUT", f"/{i}")
    assert len(server.ask("GET", PATH).body.splitlines()) - before < 20


def test_only_get(server):
    assert server.ask("POST", PATH, b"x").status == 405
    assert server.ask("HEAD", PATH).status == 200
    assert server.ask("GET", PATH + "/").status == 404
    assert server.ask("GET", PATH, Host="evil.test").status == 403


def test_none_where_they_are_switched_off():
    with server_of(random_export()[1], "--no-monitoring") as server:
        assert server.ask("GET", PATH).status == 404


class TestFormat:
    def text_of(self, metric) -> str:
        lines = [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        return "\n".join([*lines, *metric.samples()]) + "\n"

    def test_label_values_are_escaped(self):
        counter = Counter("c_total", "help", ("a",))
        odd = 'quote " backslash \\ line\nend 가'
        counter.add(odd)
        counter.add(odd, by=2)
        assert samples_of(self.text_of(counter))["c_total"] == {(("a", odd),): 3.0}

    def test_a_value_on_a_bound_belongs_to_its_bucket(self):
        histogram = Histogram("h", "help", (1, 2.5))
        for value in (0, 1, 1.5, 2.5, 3):
            histogram.observe(value)
        samples = samples_of(self.text_of(histogram))
        counts = {dict(labels)["le"]: value for labels, value in samples["h_bucket"].items()}
        assert counts == {"1": 2, "2.5": 4, "+Inf": 5}
        assert samples["h_sum"] == {(): 8.0} and samples["h_count"] == {(): 5.0}

    def test_a_gauge_is_asked_when_it_is_read(self):
        values = iter([1, 2.5])
        gauge = Gauge("g", "help", lambda: next(values))
        assert [samples_of(self.text_of(gauge))["g"][()] for _ in range(2)] == [1.0, 2.5]


# --- the files for Prometheus and Grafana

MONITORING = ROOT / "deploy" / "monitoring"


def exposed_names() -> set[str]:
    from keras_attention.serving.metrics import Metrics

    gauges = [(f"{OURS}{name}", "x", lambda: 0) for name in ("in_flight", "waiting", "version")]
    metrics = Metrics("NAME", gauges=[*gauges, (f"{OURS}swaps", "x", lambda: 0)])
    names = set()
    for line in metrics.page().decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            names |= {name + end for end in ends}
    return names


def metric_names(expression: str) -> set[str]:
    return set(re.findall(rf"(?:{TF}|{OURS})\w+", expression))


def test_the_dashboard_has_what_grafanas_import_asks():
    board = json.loads((MONITORING / "grafana-dashboard.json").read_text(encoding="utf-8"))
    assert board["title"] and board["uid"] and board["schemaVersion"] >= 36
    assert board["id"] is None, "an import gives the number"
    inputs = {entry["name"]: entry for entry in board["__inputs"]}
    assert inputs["DS_PROMETHEUS"]["type"] == "datasource"
    assert inputs["DS_PROMETHEUS"]["pluginId"] == "prometheus"
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) >= 8
    taken = set()
    exposed = exposed_names()
    for panel in board["panels"]:
        assert panel["type"] in {"timeseries", "stat", "heatmap"} and panel["title"]
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, "panels overlap"
        taken |= cells
        assert panel["datasource"] == {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
        for target in panel["targets"]:
            names = metric_names(target["expr"])
            assert names and names <= exposed, target["expr"]


def test_the_alerts_speak_of_metrics_that_there_are():
    text = (MONITORING / "alerts.yaml").read_text(encoding="utf-8")
    names = metric_names(text)
    assert len(names) >= 5 and names <= exposed_names()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Debian's prometheus")
@pytest.mark.parametrize("check", ["config prometheus.yaml", "rules alerts.yaml"])
def test_prometheus_accepts_its_files(check):
    kind, name = check.split()
    command = ["promtool", "check", kind, MONITORING / name]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs Debian's prometheus")
def test_prometheus_reads_the_server(server, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = (MONITORING / "prometheus.yaml").read_text(encoding="utf-8")
    assert "127.0.0.1:8501" in config
    config = config.replace("127.0.0.1:8501", f"127.0.0.1:{server.port}")
    config = re.sub(r"scrape_interval: \S+", "scrape_interval: 1s", config)
    (tmp_path / "prometheus.yaml").write_text(config, encoding="utf-8")
    shutil.copy(MONITORING / "alerts.yaml", tmp_path)
    server.predict({"instances": ["ab"]})
    command = [
        "prometheus",
        f"--config.file={tmp_path}/prometheus.yaml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (
        open(tmp_path / "log", "w", encoding="utf-8") as log,
        subprocess.Popen(command, stderr=log) as process,
    ):
        try:
            query = urllib.parse.quote(f"{TF}request_count")
            url = f"http://127.0.0.1:{port}/api/v1/query?query={query}"
            end = time.monotonic() + 60
            while True:
                assert time.monotonic() < end, pathlib.Path(tmp_path / "log").read_text("utf-8")
                try:
                    with urllib.request.urlopen(url, timeout=5) as reply:
                        results = json.load(reply)["data"]["result"]
                except OSError:
                    results = []
                if results:
                    break
                time.sleep(0.5)
        finally:
            process.terminate()
    assert {result["metric"]["model_name"] for result in results} == {server.name}
