"""Model files of strangers, each of a kind that we read: nothing runs, and one clear line."""

import base64
import hashlib
import io
import json
import marshal
import pathlib
import pickle
import shutil
import subprocess
import sys
import zipfile

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.errors import UserError
from keras_attention.folders.saved_model_files import DAMAGED, load_saved_model, read_meta_graph
from keras_attention.serving.loaded_version import LoadedVersion
from keras_attention.training.checkpoint import read_progress_of
from tests.support import ROOT
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
    assert "model.keras: cannot be read" in refused("translate", "--engine", "tensorflow", run, "a")
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
    assert "model.keras: cannot be read" in refused("translate", "--engine", "tensorflow", run, "a")
    assert not trace.exists()


def test_keras_reads_safely_by_default():
    """`load_model` is called without `safe_mode`, so this is what protects a run."""
    import inspect

    assert inspect.signature(keras.saving.load_model).parameters["safe_mode"].default is True


def rewrite_weights(path: pathlib.Path, change) -> None:
    """Changes the HDF5 file inside; `change` gets it open."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    content = io.BytesIO(parts["model.weights.h5"])
    with h5py.File(content, "r+") as file:
        change(file)
    parts["model.weights.h5"] = content.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


@pytest.mark.parametrize("engine", ["numpy", "tensorflow"])
def test_weights_packed_to_fill_the_memory(run, engine):
    """Two gigabytes of zeros, of which no more than the size is read."""
    with zipfile.ZipFile(run / "model.keras") as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(run / "model.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", config)
        with archive.open("model.weights.h5", "w", force_zip64=True) as part:
            for _ in range(2**6):
                part.write(bytes(2**20))
        archive.filelist[-1].file_size *= 2**5
    err = refused("translate", "--engine", engine, run, "a")
    assert "model.weights.h5 would unpack to 2,147,483,648 bytes" in err


def huge_array(file):
    del file["layers/dense/vars/0"]
    file["layers/dense/vars"].create_dataset("0", (10**6, 10**6), "f4", chunks=(100, 100))


def other_file(file):
    del file["layers/dense/vars/0"]
    file["layers/dense/vars/0"] = h5py.ExternalLink("/tmp/other.h5", "/secret")


def bytes_of_another_file(file):
    del file["layers/dense/vars/0"]
    file["layers/dense/vars"].create_dataset("0", (4,), "f4", external=[("/etc/passwd", 0, 16)])


def within_itself(file):
    file["layers/dense/vars/again"] = file["layers"]


@pytest.mark.parametrize("engine", ["numpy", "tensorflow"])
@pytest.mark.parametrize("change", [huge_array, other_file, bytes_of_another_file, within_itself])
def test_weights_that_are_not_in_the_file(run, change, engine):
    rewrite_weights(run / "model.keras", change)
    err = refused("translate", "--engine", engine, run, "a")
    assert any(words in err for words in ("stored in the file", "somewhere else", "within itself"))


# --- safetensors


def rewrite_tensors(export: pathlib.Path, content: bytes) -> None:
    """Puts other content into the weights' file, and its checksum into the manifest."""
    (path,) = (export / "weights").glob("*.safetensors")
    path.write_bytes(content)
    manifest = json.loads((export / "manifest.json").read_text(encoding="utf-8"))
    name = path.relative_to(export).as_posix()
    manifest["files"][name]["sha256"] = hashlib.sha256(content).hexdigest()
    (export / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def with_header(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


TENSOR = b'{"0/x":{"dtype":"F32","shape":[%s],"data_offsets":[0,%d]}}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,  # a header of 16 exabytes
        with_header(b"{" * 100_000),
        with_header(b"[]"),
        with_header(TENSOR % (b"1000000,1000000", 4), bytes(4)),
        with_header(TENSOR % (b"1", 10**15), bytes(4)),
        with_header(TENSOR % (b"1", 4), b""),
        pickle.dumps(print),
        with_header(json.dumps({"__metadata__": {"description": "[" * 100_000}}).encode()),
    ],
    ids=["empty", "length", "nested", "list", "shape", "offsets", "short", "pickle", "description"],
)
def test_weights_with_a_bad_header(export, content):
    rewrite_tensors(export, content)
    assert "cannot be read" in refused("translate", export, "a")


# --- the checkpoint


def test_a_pickle_in_a_checkpoint(run, trace):
    class Evil:
        def __reduce__(self):
            return (pathlib.Path.touch, (trace,))

    (run / "checkpoint").mkdir(exist_ok=True)
    np.savez(run / "checkpoint" / "state.npz", progress=np.array([Evil()], object))
    with pytest.raises(UserError, match="damaged"):
        read_progress_of(run / "checkpoint" / "state.npz", "data", "x")
    assert not trace.exists()


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
    assert "may do more than compute" in refused("translate", "--engine", "tensorflow", export, "a")
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
    assert "OddOperator" in refused("translate", "--engine", "tensorflow", export, "a")


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


TRY_DAMAGED = """
import pathlib, sys
from keras_attention.errors import UserError
from keras_attention.readers.litert_reader import LiteRTReader
path = pathlib.Path(sys.argv[1])
content = path.read_bytes()
for size in (0, 3, 7, 8, 100, 1000, len(content) // 2):
    path.write_bytes(content[:size])
    try:
        LiteRTReader(path)
    except UserError as error:
        assert len(str(error).splitlines()) == 1
    else:
        raise SystemExit(f"{size} bytes were taken")
"""


def test_a_litert_file_cut_short_does_not_end_the_process(export):
    path = next((export / "litert").glob("*[!8].tflite"))
    command = [sys.executable, "-c", TRY_DAMAGED, path]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr


# --- JSON


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "calibration.json"])
@pytest.mark.parametrize("content", ["[" * 100_000, "[]", '{"format": 1e999}', "NaN", "\ud800"])
def test_descriptions_of_a_run(run, name, content):
    (run / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    refused("translate", run, "a")


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
        assert "manifest.json: is damaged" in refused(
            "translate", "--engine", "tensorflow", export, "a"
        )
