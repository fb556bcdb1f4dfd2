"""Warm-up requests as TF Serving reads them: a wrong file would keep a version from loading."""

import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from keras_attention.export.saved_model import write_saved_model
from keras_attention.export.warmup import (
    WARMUP_FILE,
    WARMUP_TEXTS,
    prediction_log_class,
    replay_warmup,
    write_warmup,
)
from tests.support.exports import random_run


def wire_fields(message: bytes) -> list[tuple[int, int, object]]:
    """(field number, wire type, value) of a serialised message, read by hand: no descriptors."""

    def varint(place):
        value = shift = 0
        while True:
            byte = message[place]
            value |= (byte & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if not byte & 0x80:
                return value, place

    fields, place = [], 0
    while place < len(message):
        key, place = varint(place)
        if key & 7 == 2:
            length, place = varint(place)
            value, place = message[place : place + length], place + length
        elif key & 7 == 0:
            value, place = varint(place)
        else:
            raise ValueError(f"wire type {key & 7}")
        fields.append((key >> 3, key & 7, value))
    return fields


def only(message: bytes, number: int) -> bytes:
    (field,) = wire_fields(message)
    assert field[:2] == (number, 2)
    return field[2]


@pytest.fixture
def records(tmp_path) -> list[bytes]:
    write_warmup(tmp_path, "däte", ["attention", "serving_default"])
    return list(tf.data.TFRecordDataset(str(tmp_path / WARMUP_FILE)).as_numpy_iterator())


def test_a_record_is_a_prediction_log_field_by_field(records):
    """Numbers from tensorflow_serving/apis: PredictionLog.predict_log = 6, PredictLog.request = 1,
    PredictRequest.model_spec = 1 and .inputs = 2, ModelSpec.name = 1 and .signature_name = 3, map
    entries key = 1 and value = 2."""
    model_spec, inputs = wire_fields(only(only(records[-1], 6), 1))
    assert model_spec[:2] == (1, 2) and inputs[:2] == (2, 2)
    assert wire_fields(model_spec[2]) == [(1, 2, "däte".encode()), (3, 2, b"serving_default")]
    key, value = wire_fields(inputs[2])
    assert key == (1, 2, b"text") and value[:2] == (2, 2)
    tensor = tensor_pb2.TensorProto.FromString(value[2])
    assert tensor.dtype == types_pb2.DT_STRING
    assert tf.make_ndarray(tensor).tolist() == [text.encode() for text in WARMUP_TEXTS[-1]]


def test_there_is_a_request_of_every_size_for_every_signature(records):
    seen = []
    for record in records:
        request = prediction_log_class().FromString(record).predict_log.request
        (entry,) = request.inputs
        texts = tuple(text.decode() for text in tf.make_ndarray(entry.value))
        seen.append((request.model_spec.signature_name, texts))
    assert seen == [(s, texts) for s in ("attention", "serving_default") for texts in WARMUP_TEXTS]
    assert len(records) <= 1000  # above, TF Serving refuses the file


def test_texts_are_one_and_several_of_unequal_lengths():
    assert [len(texts) for texts in WARMUP_TEXTS] == [1, 3]
    assert len({len(text) for text in WARMUP_TEXTS[1]}) == 3 and "" in WARMUP_TEXTS[1]


@pytest.fixture(scope="module")
def version(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving") / "1"
    write_saved_model(random_run(attention="none"), folder, "NAME", 2, 0.0)
    return folder


@pytest.fixture(scope="module")
def model(version):
    return tf.saved_model.load(str(version))


def test_an_export_replays_each_request(model, version):
    assert replay_warmup(model, version) == 2 * len(WARMUP_TEXTS)  # serving_default and beam


@pytest.mark.parametrize(
    "damage",
    [
        lambda path, data: path.write_bytes(data[:-1]),
        lambda path, data: path.write_bytes(data[:20] + b"\xff" + data[21:]),
        lambda path, data: write_warmup(path.parent.parent, "NAME", ["attention"]),
    ],
    ids=["cut off", "flipped", "a signature that the model has not"],
)
def test_a_wrong_file_fails_at_export(model, version, damage):
    path = version / WARMUP_FILE
    data = path.read_bytes()
    try:
        damage(path, data)
        with pytest.raises((tf.errors.DataLossError, KeyError)):
            replay_warmup(model, version)
    finally:
        path.write_bytes(data)
