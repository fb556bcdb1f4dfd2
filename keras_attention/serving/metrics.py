"""What the server counts, in Prometheus' text format; TensorFlow Serving's names first.

Not made with `prometheus_client`: that adds `_total` to the name of every counter, so it cannot
write TensorFlow Serving's names. Its parser reads the page in the tests.

All of it is called on the event loop's thread.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from keras_attention.serving.loaded_version import Signature, SourceTokens

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PATH = "/monitoring/prometheus/metrics"

# In microseconds, TensorFlow Serving's own: from 10 on, each 1.8 times the one before.
_LATENCY_BUCKETS = tuple(10 * 1.8**power for power in range(33))
_SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TEXTS_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)
_CONFIDENCE_BUCKETS = tuple(tenth / 10 for tenth in range(1, 11))
_LENGTH_BUCKETS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)

Labels = tuple[str, ...]


class Counter:
    """A number for each combination of labels, which only grows."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()):
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self._values: dict[Labels, float] = {}
        if not labels:
            self._values[()] = 0

    def add(self, *labels: str, by: float = 1) -> None:
        self._values[labels] = self._values.get(labels, 0) + by

    def samples(self) -> Iterator[str]:
        for labels, value in self._values.items():
            yield _sample(self.name, zip(self.labels, labels, strict=True), value)


class Gauge:
    """A number that is asked for when somebody reads the page."""

    kind = "gauge"
    labels = ()

    def __init__(self, name: str, help: str, value: Callable[[], float]):
        self.name = name
        self.help = help
        self._value = value

    def samples(self) -> Iterator[str]:
        yield _sample(self.name, (), self._value())


class Histogram:
    """How many values were at most so large, for each combination of labels.

    Args:
        bounds: Upper bounds of the buckets, ascending; one more holds the rest.
    """

    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: Sequence[float], labels: Sequence[str] = ()):
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self._bounds = tuple(bounds)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, *labels: str) -> None:
        if labels not in self._counts:
            self._counts[labels] = [0] * (len(self._bounds) + 1)
            self._sums[labels] = 0.0
        self._counts[labels][bisect.bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def samples(self) -> Iterator[str]:
        bounds = [*map(_number, self._bounds), "+Inf"]
        for labels, counts in self._counts.items():
            named = list(zip(self.labels, labels, strict=True))
            for bound, count in zip(bounds, itertools.accumulate(counts), strict=True):
                yield _sample(f"{self.name}_bucket", [*named, ("le", bound)], count)
            yield _sample(f"{self.name}_sum", named, self._sums[labels])
            yield _sample(f"{self.name}_count", named, sum(counts))


class Metrics:
    """All that one server counts.

    Args:
        model: The model's name.
        abstain_below: Answers of a smaller confidence count as abstained.
        gauges: (name, help, value) of what is asked for when the page is read.
    """

    def __init__(
        self,
        model: str,
        abstain_below: float = 0.5,
        gauges: Iterable[tuple[str, str, Callable[[], float]]] = (),
    ):
        self._model = model
        self._abstain_below = abstain_below
        of = ("model_name", "signature")
        self._count = Counter(
            ":tensorflow:serving:request_count",
            "The total number of requests.",
            ("model_name", "status"),
        )
        self._latency = Histogram(
            ":tensorflow:serving:request_latency",
            "Wall time of a request in microseconds.",
            _LATENCY_BUCKETS,
            ("model_name", "API", "entrypoint"),
        )
        self._runtime = Histogram(
            ":tensorflow:serving:runtime_latency",
            "Wall time of a call of the model in microseconds.",
            _LATENCY_BUCKETS,
            ("model_name", "API", "runtime"),
        )
        self._http = Counter(
            "keras_attention_http_requests_total", "All requests.", ("what", "code")
        )
        self._requests = Counter(
            "keras_attention_requests_total",
            "Predict requests by signature and HTTP status.",
            (*of, "code"),
        )
        self._seconds = Histogram(
            "keras_attention_request_seconds",
            "From the first byte of a predict request's body to its answer.",
            _SECONDS_BUCKETS,
            of,
        )
        self._queue = Histogram(
            "keras_attention_queue_seconds",
            "What a request waited until its call began.",
            _SECONDS_BUCKETS,
            of,
        )
        self._batch = Histogram(
            "keras_attention_batch_texts", "Texts in one call of the model.", _TEXTS_BUCKETS, of
        )
        self._length = Histogram(
            "keras_attention_source_tokens", "Tokens of a source.", _LENGTH_BUCKETS, of
        )
        self._unknown = Counter(
            "keras_attention_unknown_tokens_total",
            "Tokens of sources that the model never saw in training.",
            of,
        )
        self._confidence = Histogram(
            "keras_attention_confidence",
            "Confidence of the (best) answer.",
            _CONFIDENCE_BUCKETS,
            of,
        )
        self._abstained = Counter(
            "keras_attention_abstained_total",
            f"Answers of a confidence below {abstain_below:g}.",
            of,
        )
        self._gauges = [Gauge(*gauge) for gauge in gauges]

    def answered(self, what: str, signature: str, code: int, status: str, seconds: float) -> None:
        """Counts a request that has ended.

        Args:
            what: Which part of the API was asked, as the log calls it.
            signature: That was asked for, or "".
            code: HTTP status of the answer.
            status: The same as TensorFlow names it.
            seconds: That it took.
        """
        self._http.add(what, str(code))
        if what == "predict":
            self._count.add(self._model, status)
            self._latency.observe(1e6 * seconds, self._model, "Predict", "REST")
            self._requests.add(self._model, signature, str(code))
            self._seconds.observe(seconds, self._model, signature)

    def called(self, signature: Signature, texts: int, seconds: float) -> None:
        """Counts one call of the model."""
        self._runtime.observe(1e6 * seconds, self._model, "Predict", "TF1")
        self._batch.observe(texts, self._model, signature.name)

    def waited(self, signature: Signature, seconds: float) -> None:
        """Counts the waiting of one request."""
        self._queue.observe(seconds, self._model, signature.name)

    def translated(
        self,
        signature: Signature,
        texts: Iterable[bytes],
        outputs: dict[str, np.ndarray],
        known: SourceTokens | None,
    ) -> None:
        """Counts the answers of one request, by which a drift of the data shows."""
        of = self._model, signature.name
        if "confidence" in outputs:
            confidence = outputs["confidence"]
            best = confidence if confidence.ndim == 1 else confidence[:, 0]
            for value in best.tolist():
                self._confidence.observe(value, *of)
            self._abstained.add(*of, by=int((best < self._abstain_below).sum()))
        if known is not None:
            for text in texts:
                tokens, unknown = known.count(text)
                self._length.observe(tokens, *of)
                self._unknown.add(*of, by=unknown)

    def page(self) -> bytes:
        """All of it as Prometheus reads it."""
        metrics = [
            value for value in vars(self).values() if isinstance(value, (Counter, Histogram))
        ]
        lines = []
        for metric in [*metrics, *self._gauges]:
            lines.append(f"# HELP {metric.name} {metric.help}")
            lines.append(f"# TYPE {metric.name} {metric.kind}")
            lines.extend(metric.samples())
        return ("\n".join(lines) + "\n").encode()


def _sample(name: str, labels: Iterable[tuple[str, str]], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
