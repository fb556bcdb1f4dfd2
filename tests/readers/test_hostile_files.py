"""Model files of strangers, each of a kind that we read: nothing runs, and one clear line."""

import base64
import json
import marshal
import pathlib
import shutil
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.folders.saved_model_files import DAMAGED, load_saved_model, read_meta_graph
from keras_attention.serving.loaded_version import LoadedVersion
from tests.support.commands import call_verb
from tests.support.exports import random_export, random_run, version_folder


@pytest.fixture
def trace(tmp_path) -> pathlib.Path:
    """A file that is there only if something of the model's has run."""
    return tmp_path / "it ran"


@pytest.fixture
def run(tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(random_run().config.out, tmp_path / "run"))


@pytest.fixture
def export(tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(random_export()[1], tmp_path / "export"))


def refused(*arguments) -> str:
    finished = call_verb(*arguments)
    assert finished.status == 2, finished.out
    assert finished.err.startswith("error: ") and finished.err.count("\n") == 1
    return finished.err


# --- .keras


def rewrite_config(path: pathlib.Path, change) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(parts["config.json"])
    parts["config.json"] = json.dumps(change(config)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_lambda_layer(run, trace):
    code = compile(f"open({str(trace)!r}, 'w')", "x", "eval")
    function = (lambda: None).__code__.replace(co_code=code.co_code, co_consts=code.co_consts)
    function = function.replace(co_names=code.co_names)
    packed = base64.b64encode(marshal.dumps(function)).decode()

    def with_lambda(config):
        config["config"]["layers"].append(
            {
                "module": "keras.layers",
                "class_name": "Lambda",
                "config": {
                    "name": "evil",
                    "function": {"class_name": "__lambda__", "config": {"code": packed}},
                },
                "name": "evil",
                "inbound_nodes": [],
            }
        )
        return config

    rewrite_config(run / "model.keras", with_lambda)
    assert "model.keras: cannot be read" in refused("translate", run, "a")
    assert not trace.exists()


def test_a_class_from_any_module(run, trace):
    def with_call(config):
        return {
            "module": "os",
            "class_name": "function",
            "config": "system",
            "registered_name": "system",
            "build_config": {"input_shape": f"touch {trace}"},
        }

    rewrite_config(run / "model.keras", with_call)
    assert "model.keras: cannot be read" in refused("translate", run, "a")
    assert not trace.exists()


def test_keras_reads_safely_by_default():
    """`load_model` is called without `safe_mode`, so this is what protects a run."""
    import inspect

    assert inspect.signature(keras.saving.load_model).parameters["safe_mode"].default is True


# --- SavedModel


class Evil(tf.Module):
    """A signature as ours has it, with something besides."""

    def __init__(self, act):
        super().__init__()
        self.weight = tf.Variable(1.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def serving_default(text):
            act(text)
            score = tf.zeros(tf.shape(text)) * self.weight
            return {"text": text, "log_probability": score, "confidence": score}

        self.serving_default = serving_default


def write_file(trace):
    return lambda text: tf.io.write_file(str(trace), "x")


def write_in_a_branch(trace):
    def act(text):
        for _ in tf.range(2):
            if tf.size(text) > 0:
                tf.io.write_file(str(trace), "x")

    return act


def read_file(trace):
    return lambda text: tf.io.read_file("/etc/passwd")


def write_checkpoint(trace):
    return lambda text: tf.raw_ops.SaveV2(
        prefix=str(trace), tensor_names=["x"], shape_and_slices=[""], tensors=[tf.zeros([1])]
    )


def call_python(trace):
    return lambda text: tf.py_function(lambda: trace.touch(), [], [])


@pytest.mark.parametrize(
    "act", [write_file, write_in_a_branch, read_file, write_checkpoint, call_python]
)
def test_a_graph_that_does_more_than_compute(export, trace, act):
    version = version_folder(export)
    shutil.rmtree(version)
    module = Evil(act(trace))
    tf.saved_model.save(module, str(version), {"serving_default": module.serving_default})
    trace.unlink(missing_ok=True)
    for reader in (load_saved_model, lambda folder: LoadedVersion(1, folder)):
        with pytest.raises(ValueError, match="may do more than compute"):
            reader(version)
    assert "may do more than compute" in refused("translate", export, "a")
    assert not trace.exists()


def test_what_loading_runs_is_looked_at_as_well(export, trace):
    """The node that initialises, and the one that restores the variables."""
    version = version_folder(export)
    content = (version / "saved_model.pb").read_bytes()
    for place in ("init", "restore"):
        proto = saved_model_pb2.SavedModel.FromString(content)
        graph = proto.meta_graphs[0]
        nodes = graph.graph_def.node
        for name, value in (("evil/name", str(trace)), ("evil/text", "x")):
            node = nodes.add(name=name, op="Const")
            node.attr["dtype"].type = tf.string.as_datatype_enum
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
        nodes.add(name="evil", op="WriteFile", input=["evil/name", "evil/text"])
        main = "NoOp" if place == "init" else graph.saver_def.restore_op_name
        next(node for node in nodes if node.name == main).input.append("^evil")
        (version / "saved_model.pb").write_bytes(proto.SerializeToString())
        for reader in (load_saved_model, lambda folder: LoadedVersion(1, folder)):
            with pytest.raises(ValueError, match="WriteFile"):
                reader(version)
    assert not trace.exists()


def test_an_operator_that_nobody_knows(export):
    version = version_folder(export)
    proto = saved_model_pb2.SavedModel.FromString((version / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    graph.library.function[0].node_def.add(name="odd", op="OddOperator")
    for function in graph.library.function:
        function.node_def.add(name="odd", op="OddOperator")
    (version / "saved_model.pb").write_bytes(proto.SerializeToString())
    assert "OddOperator" in refused("translate", export, "a")


def test_our_own_pass():
    assert read_meta_graph(version_folder(random_export()[1])).signature_def


def test_damage_at_random_is_one_of_the_errors_that_readers_catch(export):
    version = version_folder(export)
    content = (version / "saved_model.pb").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 20):
            damaged[place] = rng.integers(256)
        (version / "saved_model.pb").write_bytes(damaged)
        try:
            read_meta_graph(version)
        except DAMAGED:
            pass


# --- LiteRT


def test_a_litert_file_with_an_operator_of_its_own(export):
    """Its code would lie in the program that loads it: there is none, so it cannot run."""
    from tensorflow.lite.tools import flatbuffer_utils

    path = next((export / "litert").glob("*[!8].tflite"))
    model = flatbuffer_utils.convert_bytearray_to_object(path.read_bytes())
    custom = flatbuffer_utils.schema_fb.BuiltinOperator.CUSTOM
    model.operatorCodes[0].builtinCode = custom
    model.operatorCodes[0].deprecatedBuiltinCode = custom
    model.operatorCodes[0].customCode = b"Evil"
    path.write_bytes(flatbuffer_utils.convert_object_to_bytearray(model))
    assert "is not a .tflite file with a signature" in refused("translate", path, "a")


# --- JSON


@pytest.mark.parametrize("name", ["manifest.json", "litert"])
@pytest.mark.parametrize("content", ["[" * 100_000, '{"format": 1}', '{"format": 1e999}', "NaN"])
def test_descriptions(export, name, content):
    path = export / name
    if name == "litert":
        path = next(path.glob("*.json"))
        model = next((export / "litert").glob("*[!8].tflite"))
    else:
        model = export
    path.write_text(content, encoding="utf-8")
    refused("translate", model, "a")


def test_a_manifest_that_points_elsewhere(export):
    manifest = json.loads((export / "manifest.json").read_text(encoding="utf-8"))
    for name in ("../../elsewhere", "/etc", "a/b", "", "..", 7):
        text = json.dumps(manifest | {"name": name})
        (export / "manifest.json").write_text(text, encoding="utf-8")
        assert "manifest.json: is damaged" in refused("translate", export, "a")
