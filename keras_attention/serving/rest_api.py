"""TensorFlow Serving's REST API: a request's path and body into an answer or a StatusError."""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse

from keras_attention.folders.export_layout import LARGEST_VERSION
from keras_attention.serving.access_log import Described
from keras_attention.serving.batching import Batcher
from keras_attention.serving.json_text import parse, quoted
from keras_attention.serving.loaded_version import LoadedVersion
from keras_attention.serving.metrics import Metrics
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.serving.predict_json import Texts, read_texts, signature_name, write_outputs
from keras_attention.serving.statuses import StatusError
from keras_attention.text.repair import repair

_SPEC = r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?"
_ASK = re.compile(_SPEC + r":(classify|regress|predict)", re.IGNORECASE | re.ASCII)
_TELL = re.compile(
    r"/v1/models(?:/([^/:]+))?(?:/versions/(\d+)|/labels/([^/:]+))?(?:/(metadata))?",
    re.IGNORECASE | re.ASCII,
)
_KIND = {"classify": "classification", "regress": "regression"}


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one request may ask for.

    Attributes:
        longest_text: Characters of one text.
        largest_request: Characters in all, when every text is padded to the longest as the model
            pads them; what the answer costs grows with it.
    """

    longest_text: int = 512
    largest_request: int = 32768


class RestApi:
    """Answers whatever comes under `/v1/`."""

    def __init__(self, versions: ModelVersions, batcher: Batcher, limits: Limits, metrics: Metrics):
        self._versions = versions
        self._batcher = batcher
        self._limits = limits
        self._metrics = metrics

    def describe(self, method: str, path: str, described: Described) -> None:
        """Fills in what a request asks for, as far as its path tells."""
        if method == "POST" and (found := _ASK.fullmatch(path)):
            described.what = found[4].lower()

    async def answer(self, method: str, path: str, body: bytes, described: Described) -> bytes:
        """The JSON that answers a request.

        Args:
            path: As it came, percent-encoded.
            described: Filled for the log.

        Raises:
            StatusError: it cannot be answered.
        """
        if method == "POST" and (found := _ASK.fullmatch(path)):
            described.what = verb = found[4].lower()
            name, number, label = _model(*found.groups()[:3])
            if verb != "predict":
                return self._refuse_examples(verb, name, number, label, body)
            return await self._predict(name, number, label, body, described)
        if method == "GET" and (found := _TELL.fullmatch(path)):
            described.what = (found[4] or "status").lower()
            name, number, label = _model(*found.groups()[:3])
            if not name:
                raise StatusError("Missing model name in request.")
            if found[4]:
                return _pretty(self._metadata(self._versions.find(name, number, label)))
            return _pretty(self._versions.status(name, number, label))
        raise StatusError(f"Malformed request: {method} {path}")

    async def _predict(
        self, name: str, number: int | None, label: str | None, body: bytes, described: Described
    ) -> bytes:
        document = parse(body)
        wanted = signature_name(document)
        version = self._versions.find(name, number, label)
        signature = version.signature(wanted)
        described.signature = wanted or "serving_default"
        request = read_texts(document, signature.input_name)
        described.texts = len(request.texts)
        texts = self._within_limits(request, signature.input_name)
        outputs = await self._batcher.call(signature, texts)
        self._metrics.translated(signature, texts, outputs, version.source_tokens)
        return write_outputs(outputs, request.row_format)

    def _within_limits(self, request: Texts, input_name: str) -> list[bytes]:
        """The texts of a request as bytes.

        Raises:
            StatusError: they are no list of texts, or too much at once.
        """
        if len(request.shape) != 1:
            got = ",".join(map(str, request.shape))
            raise StatusError(f"Expecting shape [-1] for input {input_name} but got: [{got}]")
        texts = [repair(text).encode("utf-8") for text in request.texts]
        # Bytes bound the characters from above and are cheap to count.
        longest = max(map(len, texts), default=0)
        if longest > self._limits.longest_text:
            longest = max(len(text.decode("utf-8")) for text in texts)
        if longest > self._limits.longest_text:
            raise StatusError(
                f"A text of {longest} characters is too long: at most "
                f"{self._limits.longest_text} are accepted"
            )
        if len(texts) * max(longest, 1) > self._limits.largest_request:
            raise StatusError(
                f"{len(texts)} texts of up to {longest} characters are too many for one request: "
                f"their product may be {self._limits.largest_request} at most"
            )
        return texts

    def _refuse_examples(
        self, verb: str, name: str, number: int | None, label: str | None, body: bytes
    ) -> bytes:
        """Checks a classify or regress request as far as it would get: no signature takes one."""
        document = parse(body)
        wanted = signature_name(document)
        examples = document.get("examples")
        if "examples" not in document:
            raise StatusError(
                f"JSON Value: {quoted(document)} When method is classify, key 'examples' is "
                "expected and was not found"
            )
        if not isinstance(examples, list):
            raise StatusError(
                f"JSON Value: {quoted(document)} Expecting 'examples' value to be an list/array"
            )
        if not examples:
            raise StatusError(f"JSON Value: {quoted(document)} 'examples' value is an empty array")
        self._versions.find(name, number, label).signature(wanted)
        raise StatusError(
            f"Expected {_KIND[verb]} signature method_name to be tensorflow/serving/{verb}. "
            "Was: tensorflow/serving/predict"
        )

    def _metadata(self, version: LoadedVersion) -> dict:
        return {
            "model_spec": {
                "name": self._versions.name,
                "signature_name": "",
                "version": str(version.number),
            },
            "metadata": {"signature_def": {"signature_def": version.metadata}},
        }


def _model(
    name: str | None, number: str | None, label: str | None
) -> tuple[str, int | None, str | None]:
    """Name, version and label of a path, decoded."""
    if number is not None:
        digits = number.lstrip("0") or "0"  # Python refuses to read some thousand digits
        if len(digits) > len(str(LARGEST_VERSION)) or int(digits) > LARGEST_VERSION:
            raise StatusError(f"Failed to convert version: {number[:100]} to numeric.")
        number = digits
    decoded = [part and urllib.parse.unquote(part) for part in (name, label)]
    return decoded[0] or "", None if number is None else int(number), decoded[1]


def _pretty(answer: dict) -> bytes:
    return json.dumps(answer, ensure_ascii=False, indent=1).encode("utf-8")
