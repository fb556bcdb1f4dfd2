"""Warm-up requests that TF Serving replays when it loads a version, so that no user waits.

The file is a TFRecord of serialised `tensorflow.serving.PredictionLog`. A wrong one keeps a version
from loading, so each request is read back and replayed at export.
"""

from __future__ import annotations

import functools
import pathlib

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import tensor_pb2

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"

# One text, and a batch of unequal lengths with an empty one.
WARMUP_TEXTS = (("1",), ("", "1", "12345678901234567890"))

_PACKAGE = "keras_attention.serving_subset"
# Message -> fields as (name, number, type). The numbers are those of apis/prediction_log.proto,
# predict.proto and model.proto of tensorflow/serving; only the messages of a predict request are
# needed, so the package of all its stubs is not.
_MESSAGES = {
    "ModelSpec": [("name", 1, "string"), ("signature_name", 3, "string")],
    "InputsEntry": [("key", 1, "string"), ("value", 2, tensor_pb2.TensorProto)],
    "PredictRequest": [("model_spec", 1, "ModelSpec"), ("inputs", 2, "InputsEntry")],
    "PredictLog": [("request", 1, "PredictRequest")],
    "PredictionLog": [("predict_log", 6, "PredictLog")],
}


def write_warmup(folder: pathlib.Path, name: str, signatures: list[str]) -> None:
    """Writes requests for all signatures into a version folder."""
    path = folder / WARMUP_FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature in signatures:
            for texts in WARMUP_TEXTS:
                request = {
                    "model_spec": {"name": name, "signature_name": signature},
                    "inputs": [{"key": "text", "value": tf.make_tensor_proto(list(texts))}],
                }
                log = prediction_log_class()(predict_log={"request": request})
                writer.write(log.SerializeToString())


def replay_warmup(model, folder: pathlib.Path) -> int:
    """Reads all requests of a version folder back and runs each; returns how many there are.

    Args:
        model: What `tf.saved_model.load` read from the folder.
        folder: The version folder.

    Raises:
        Whatever parsing or running a request raises.
    """
    records = list(tf.data.TFRecordDataset(str(folder / WARMUP_FILE)).as_numpy_iterator())
    for record in records:
        request = prediction_log_class().FromString(record).predict_log.request
        inputs = {i.key: tf.constant(tf.make_ndarray(i.value)) for i in request.inputs}
        model.signatures[request.model_spec.signature_name](**inputs)
    return len(records)


@functools.cache
def prediction_log_class():
    """The message class of `PredictionLog`, with the fields that are needed here."""
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_attention/serving_subset.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[tensor_pb2.DESCRIPTOR.name],
    )
    types = descriptor_pb2.FieldDescriptorProto
    for message, fields in _MESSAGES.items():
        descriptor = file.message_type.add(name=message)
        for name, number, kind in fields:
            field = descriptor.field.add(name=name, number=number, label=types.LABEL_OPTIONAL)
            if name == "inputs":  # a map is on the wire a repeated message of key and value
                field.label = types.LABEL_REPEATED
            if kind == "string":
                field.type = types.TYPE_STRING
            else:
                field.type = types.TYPE_MESSAGE
                of_tensorflow = kind is tensor_pb2.TensorProto
                field.type_name = (
                    f".{kind.DESCRIPTOR.full_name}" if of_tensorflow else f".{_PACKAGE}.{kind}"
                )
    pool = descriptor_pool.Default()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.PredictionLog"))
