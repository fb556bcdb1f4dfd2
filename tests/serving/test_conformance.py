"""The REST API against the rules in TensorFlow Serving's source, not against its binary.

Wherever the source gives the words of an error, they are compared whole. `{n}` is the model's name.
"""

import base64
import json

import numpy as np
import pytest

from keras_attention.readers.saved_model_reader import SavedModelReader
from tests.support.exports import random_export
from tests.support.servers import shared_server

PREDICT = "/v1/models/{n}:predict"
ROW = "Failed to process element: {} of 'instances' list. Error: INVALID_ARGUMENT: "
KEYED = "Failed to process element: {} key: {} of 'instances' list. Error: INVALID_ARGUMENT: "
NOT_STRING = "JSON Value: {} Type: {} is not of expected type: string"
B64 = base64.b64encode("가나 b".encode()).decode()
HUGE = "99999999999999999999"

# (method, path, body, status, error). A body that is no bytes is sent as JSON.
ERRORS = [
    # paths
    ("GET", "/v1/models", None, 400, "Missing model name in request."),
    ("GET", "/v1/models/metadata", None, 404, "Could not find any versions of model metadata"),
    ("GET", "/v1/foo", None, 400, "Malformed request: GET /v1/foo"),
    ("POST", "/v1/foo", {}, 400, "Malformed request: POST /v1/foo"),
    ("POST", "/v1/models", {}, 400, "Malformed request: POST /v1/models"),
    ("POST", "/v1/models/{n}", {}, 400, "Malformed request: POST /v1/models/{n}"),
    ("POST", "/v1/models/{n}/metadata", {}, 400, "Malformed request: POST /v1/models/{n}/metadata"),
    ("GET", PREDICT, None, 400, "Malformed request: GET " + PREDICT),
    ("PUT", PREDICT, {}, 400, "Malformed request: PUT " + PREDICT),
    ("DELETE", "/v1/models/{n}", None, 400, "Malformed request: DELETE /v1/models/{n}"),
    ("PATCH", PREDICT, {}, 400, "Malformed request: PATCH " + PREDICT),
    ("OPTIONS", PREDICT, None, 400, "Malformed request: OPTIONS " + PREDICT),
    ("GET", "/v1/models/{n}/x", None, 400, "Malformed request: GET /v1/models/{n}/x"),
    ("GET", "/v1/models/{n}/", None, 400, "Malformed request: GET /v1/models/{n}/"),
    (
        *("POST", "/v1/models/{n}:translate", {}, 400),
        "Malformed request: POST /v1/models/{n}:translate",
    ),
    (
        *("POST", "/v1/models/{n}/version/1:predict", {}, 400),
        "Malformed request: POST /v1/models/{n}/version/1:predict",
    ),
    (
        *("POST", "/v1/models/{n}/versions/new:predict", {}, 400),
        "Malformed request: POST /v1/models/{n}/versions/new:predict",
    ),
    (
        *("POST", "/v1/models/{n}/versions/1/labels/new:predict", {}, 400),
        "Malformed request: POST /v1/models/{n}/versions/1/labels/new:predict",
    ),
    # which model
    (
        *("POST", "/v1/models/half:predict", {"instances": [1]}, 404),
        "Servable not found for request: Latest(half)",
    ),
    (
        *("POST", "/v1/models/half/versions/7:predict", {"instances": [1]}, 404),
        "Servable not found for request: Specific(half, 7)",
    ),
    (
        *("POST", "/v1/models/{n}/versions/50:predict", {"instances": [1]}, 404),
        "Servable not found for request: Specific({n}, 50)",
    ),
    (
        *("POST", f"/v1/models/{{n}}/versions/{HUGE}:predict", {}, 400),
        f"Failed to convert version: {HUGE} to numeric.",
    ),
    (
        *("GET", f"/v1/models/{{n}}/versions/{HUGE}", None, 400),
        f"Failed to convert version: {HUGE} to numeric.",
    ),
    (
        *("POST", "/v1/models/{n}/labels/canary:predict", {"instances": ["a"]}, 400),
        "Unrecognized servable version label: canary",
    ),
    ("GET", "/v1/models/{n}/labels/a%20b", None, 400, "Unrecognized servable version label: a b"),
    ("GET", "/v1/models/half", None, 404, "Could not find any versions of model half"),
    ("GET", "/v1/models/h%61lf", None, 404, "Could not find any versions of model half"),
    ("GET", "/v1/models/{n}/versions/9", None, 404, "Could not find version 9 of model {n}"),
    ("GET", "/v1/models/half/metadata", None, 404, "Servable not found for request: Latest(half)"),
    (
        *("GET", "/v1/models/{n}/versions/9/metadata", None, 404),
        "Servable not found for request: Specific({n}, 9)",
    ),
    # JSON, which is looked at before the model
    ("POST", PREDICT, b"", 400, "JSON Parse error: The document is empty"),
    ("POST", "/v1/models/half:predict", b"", 400, "JSON Parse error: The document is empty"),
    ("POST", PREDICT, b"instances = [1]", 400, "JSON Parse error: Invalid value. at offset: 0"),
    ("POST", PREDICT, b"[1]", 400, "JSON Value: [\n    1\n] Is not object"),
    ("POST", PREDICT, b'"a"', 400, 'JSON Value: "a" Is not object'),
    (
        *("POST", PREDICT, b'{"instances": ["a"', 400),
        "JSON Parse error: Missing a comma or ] after an array element. at offset: 18",
    ),
    ("POST", PREDICT, b"{}", 400, "Missing 'inputs' or 'instances' key"),
    ("POST", PREDICT, {"signature_name": "beam"}, 400, "Missing 'inputs' or 'instances' key"),
    (
        *("POST", PREDICT, {"instances": ["a"], "inputs": ["a"]}, 400),
        'JSON Value: {\n    "instances": [\n        "a"\n    ],\n    "inputs": [\n        "a"\n    '
        "]\n} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
    ),
    (
        *("POST", PREDICT, {"instances": "a"}, 400),
        "JSON Value: {\n    \"instances\": \"a\"\n} Expecting 'instances' to be an list/array",
    ),
    (
        *("POST", PREDICT, {"instances": []}, 400),
        "JSON Value: {\n    \"instances\": []\n} No values in 'instances' array",
    ),
    # signatures
    (
        *("POST", PREDICT, {"signature_name": 100, "instances": ["a"]}, 400),
        'JSON Value: {\n    "signature_name": 100,\n    "instances": [\n        "a"\n    ]\n} not '
        "formatted correctly. 'signature_name' key must be a string value.",
    ),
    (
        *("POST", PREDICT, {"signature_name": "x", "instances": ["a"]}, 400),
        'Serving signature name: "x" not found in signature def',
    ),
    (
        *("POST", PREDICT, {"signature_name": "__saved_model_init_op", "instances": ["a"]}, 400),
        "Failed to get input map for signature: __saved_model_init_op",
    ),
    # rows
    ("POST", PREDICT, {"instances": [5]}, 400, ROW.format(0) + NOT_STRING.format(5, "Number")),
    (
        *("POST", PREDICT, {"instances": ["a", None]}, 400),
        ROW.format(1) + NOT_STRING.format("null", "Null"),
    ),
    (
        *("POST", PREDICT, {"instances": [True]}, 400),
        ROW.format(0) + NOT_STRING.format("true", "True"),
    ),
    (
        *("POST", PREDICT, {"instances": [1.5]}, 400),
        ROW.format(0) + NOT_STRING.format("1.5", "Number"),
    ),
    (
        *("POST", PREDICT, b'{"instances": [NaN]}', 400),
        ROW.format(0) + NOT_STRING.format("NaN", "Number"),
    ),
    (
        *("POST", PREDICT, b'{"instances": [2e9]}', 400),
        ROW.format(0) + NOT_STRING.format("2e+09", "Number"),
    ),
    (
        *("POST", PREDICT, {"instances": [["a"], ["a", "b"]]}, 400),
        ROW.format(1) + "Expecting tensor size: 1 but got: 2",
    ),
    (
        *("POST", PREDICT, {"instances": [["a"], [["a"]]]}, 400),
        ROW.format(1) + "Expecting shape [1] but got: [1,1]",
    ),
    (
        *("POST", PREDICT, {"instances": [["a", ["b"]]]}, 400),
        ROW.format(0) + "Encountered list at unexpected level: 1 expected < 1",
    ),
    (
        *("POST", PREDICT, {"instances": [[["a"], "b"]]}, 400),
        ROW.format(0)
        + 'JSON Value: "b" found at incorrect level: 2 in the JSON DOM. Expected at level: 2',
    ),
    (
        *("POST", PREDICT, {"instances": [[["a"], ["b", "c"]]]}, 400),
        ROW.format(0) + "Encountered list at unexpected size: 2 at level: 1 expected size: 1",
    ),
    (
        *("POST", PREDICT, {"instances": ["a", {"text": "b"}]}, 400),
        "Expecting value/list but got object at item 1 of input list",
    ),
    (
        *("POST", PREDICT, {"instances": [{"text": "b"}, "a"]}, 400),
        "Expecting object but got list at item 1 of input list",
    ),
    (
        *("POST", PREDICT, {"instances": [{"txt": "b"}]}, 400),
        KEYED.format(0, "txt") + "JSON object: does not have named input: txt",
    ),
    (
        *("POST", PREDICT, {"instances": [{"text": "a"}, {"text": 5}]}, 400),
        KEYED.format(1, "text") + NOT_STRING.format(5, "Number"),
    ),
    (
        *("POST", PREDICT, {"instances": [{}]}, 400),
        "Failed to process element: 0 of 'instances' list. JSON object: {} must only have keys: "
        "text",
    ),
    (
        *("POST", PREDICT, {"instances": [{"b64": 5}]}, 400),
        KEYED.format(0, "b64") + "JSON object: does not have named input: b64",
    ),
    (
        *("POST", PREDICT, {"instances": [{"text": {"b64": 5}}]}, 400),
        KEYED.format(0, "text")
        + 'JSON Value: {\n    "b64": 5\n} not formatted correctly for base64 data',
    ),
    (
        *("POST", PREDICT, {"instances": [{"b64": "*"}]}, 400),
        ROW.format(0) + "Unable to base64 decode",
    ),
    # columns
    (
        *("POST", PREDICT, {"inputs": {"x": ["a"]}}, 400),
        "Missing named input: text in 'inputs' object.",
    ),
    ("POST", PREDICT, {"inputs": [1]}, 400, NOT_STRING.format(1, "Number")),
    ("POST", PREDICT, {"inputs": None}, 400, NOT_STRING.format("null", "Null")),
    (
        *("POST", PREDICT, {"inputs": ["a", ["b"]]}, 400),
        "Encountered list at unexpected level: 1 expected < 1",
    ),
    ("POST", PREDICT, {"inputs": [{"b64": "a"}]}, 400, "Unable to base64 decode"),
    # no signature of ours classifies or regresses
    (
        *("POST", "/v1/models/{n}:classify", {"examples": [{"x": 1}]}, 400),
        "Expected classification signature method_name to be tensorflow/serving/classify. "
        "Was: tensorflow/serving/predict",
    ),
    (
        *("POST", "/v1/models/{n}:regress", {"examples": [{"x": 1}]}, 400),
        "Expected regression signature method_name to be tensorflow/serving/regress. "
        "Was: tensorflow/serving/predict",
    ),
    (
        *("POST", "/v1/models/{n}:classify", {}, 400),
        "JSON Value: {} When method is classify, key 'examples' is expected and was not found",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def server():
    return shared_server()


@pytest.fixture(scope="module")
def reader():
    return SavedModelReader(random_export()[1])


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: f"{c[0]} {c[1]} {str(c[2])[:40]}")
def test_errors_are_those_of_tensorflow_serving(server, case):
    method, path, body, status, error = case
    error = error.replace("{n}", server.name)
    answer = server.ask(method, path.replace("{n}", server.name), body)
    assert (answer.status, answer.body) == (status, {"error": error})
    assert answer.headers["content-type"] == "application/json"


TEXTS = ["가나 b", "", "0123", "unseen ж😀", "\0"]


def names(kind):
    scores = {"text", "log_probability", "confidence"}
    drawn = {"source_tokens", "source_length", "target_tokens", "target_length"}
    return (
        scores
        if kind == "serving_default"
        else scores | drawn | {"attention_weights", "token_confidence"}
    )


@pytest.mark.parametrize("signature", ["serving_default", "attention", "beam"])
def test_rows_hold_what_the_signature_gives(server, reader, signature):
    body = {"signature_name": signature, "instances": TEXTS}
    answer = server.predict(body)
    assert answer.status == 200 and list(answer.body) == ["predictions"]
    outputs = reader._model.signatures[signature](text=np.array(TEXTS, object))
    for place, row in enumerate(answer.body["predictions"]):
        assert set(row) == names(signature)
        for name, value in row.items():
            expected = outputs[name][place].numpy()
            if outputs[name].dtype.name == "string":
                decoded = np.vectorize(bytes.decode, otypes=[object])(expected)
                assert value == decoded.tolist()
            elif name.endswith("length"):
                assert value == expected.tolist()
            else:
                np.testing.assert_allclose(value, expected, atol=1e-5)


@pytest.mark.parametrize("signature", ["serving_default", "attention", "beam"])
def test_columns_hold_the_same_as_rows(server, signature):
    rows = server.predict({"signature_name": signature, "instances": TEXTS}).body["predictions"]
    answer = server.predict({"signature_name": signature, "inputs": {"text": TEXTS}})
    assert answer.status == 200 and list(answer.body) == ["outputs"]
    for name in names(signature):
        values = [row[name] for row in rows]
        if isinstance(np.array(values[0]).ravel()[0], np.floating):
            np.testing.assert_allclose(answer.body["outputs"][name], values, atol=1e-6)
        else:
            assert answer.body["outputs"][name] == values


SAME = {"instances": ["가나 b"]}
SAME_ANSWER = [
    ("plain", SAME, ""),
    ("named", {"instances": [{"text": "가나 b"}]}, ""),
    ("b64", {"instances": [{"b64": B64}]}, ""),
    ("named b64", {"instances": [{"text": {"b64": B64}}]}, ""),
    ("the default signature by name", {"signature_name": "serving_default", **SAME}, ""),
    ("an empty signature name", {"signature_name": "", **SAME}, ""),
    ("unknown keys", {"context": 1, **SAME}, ""),
    ("escapes", json.dumps(SAME, ensure_ascii=True), ""),
    ("text after the value", json.dumps(SAME) + " and more", ""),
    ("a byte-order mark", b"\xef\xbb\xbf" + json.dumps(SAME).encode(), ""),
    ("white space", b" \r\n\t" + json.dumps(SAME).encode() + b"\n", ""),
    ("the version", SAME, "/versions/1"),
    ("the version with zeros", SAME, "/versions/0001"),
]


@pytest.mark.parametrize(("how", "body", "where"), SAME_ANSWER, ids=[c[0] for c in SAME_ANSWER])
def test_ways_to_ask_for_the_same(server, reader, how, body, where):
    answer = server.predict(body, where)
    (translation,) = reader.translate_batch(["가나 b"])
    assert answer.status == 200
    assert answer.body["predictions"][0]["text"] == translation.text
    assert answer.body["predictions"][0]["confidence"] == pytest.approx(
        translation.confidence, abs=1e-6
    )


@pytest.mark.parametrize("inputs", [["가나 b"], {"text": ["가나 b"]}, [{"b64": B64}]])
def test_ways_to_ask_for_columns(server, reader, inputs):
    answer = server.predict({"inputs": inputs})
    assert answer.body["outputs"]["text"] == [reader.translate_batch(["가나 b"])[0].text]


def test_paths_are_matched_whatever_their_case(server):
    for path in ("/V1/Models/{}:PREDICT", "/v1/MODELS/{}/Versions/1:Predict"):
        assert server.ask("POST", path.format(server.name), SAME).status == 200


def test_no_texts_in_columns_give_empty_lists(server):
    answer = server.predict({"signature_name": "attention", "inputs": []})
    assert answer.status == 200
    assert answer.body["outputs"] == {name: [] for name in names("attention")}


def test_a_scalar_or_a_table_of_texts_is_refused(server):
    for inputs, shape in (("a", ""), ([["a"]], "1,1"), ({"b64": B64}, "")):
        answer = server.predict({"inputs": inputs})
        expected = f"Expecting shape [-1] for input text but got: [{shape}]"
        assert (answer.status, answer.body) == (400, {"error": expected})


def test_invalid_utf8_travels_as_b64_and_is_answered(server, reader):
    broken = b"\xff\xfe a \xed\xa0\x80"
    answer = server.predict({"instances": [{"b64": base64.b64encode(broken).decode()}]})
    expected = reader.translate_batch([broken.decode("utf-8", "replace")])[0]
    assert answer.body["predictions"][0]["text"] == expected.text
    raw = server.predict(b'{"instances": ["' + broken + b'"]}')
    message = "JSON Parse error: Invalid encoding in string. at offset: 16"
    assert (raw.status, raw.body) == (400, {"error": message})


@pytest.mark.parametrize("where", ["", "/versions/1"])
def test_status(server, where):
    answer = server.ask("GET", f"/v1/models/{server.name}{where}")
    assert answer.status == 200
    assert answer.body == {
        "model_version_status": [
            {
                "version": "1",
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
        ]
    }


@pytest.mark.parametrize("where", ["", "/versions/1"])
def test_metadata(server, where):
    answer = server.ask("GET", f"/v1/models/{server.name}{where}/metadata")
    assert answer.status == 200
    assert answer.body["model_spec"] == {
        "name": server.name,
        "signature_name": "",
        "version": "1",
    }
    signatures = answer.body["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "attention", "beam"} <= set(signatures)
    default = signatures["serving_default"]
    assert default["method_name"] == "tensorflow/serving/predict"
    assert default["inputs"] == {
        "text": {
            "dtype": "DT_STRING",
            "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
            "name": "serving_default_text:0",
        }
    }
    assert set(default["outputs"]) == names("serving_default")
    assert default["outputs"]["confidence"]["dtype"] == "DT_FLOAT"


def test_there_are_enough_of_them():
    assert len(ERRORS) + len(SAME_ANSWER) >= 60
