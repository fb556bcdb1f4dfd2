"""What runs an export's files, read from the files themselves."""

from __future__ import annotations

import pathlib

from tensorflow.lite.tools import flatbuffer_utils

from keras_attention.folders.export_layout import LITERT, SERVING
from keras_attention.folders.saved_model_files import read_meta_graph


def needs(export: pathlib.Path, name: str) -> dict[str, dict]:
    """What each artefact asks of the program that loads it, by its path in the export.

    A SavedModel names the TensorFlow that wrote it, the version of its graph, the oldest graph
    consumer that may read it, and its operators: a server must be no older than that consumer and
    know them all. A `.tflite` file names the oldest runtime, as its converter worked it out from
    the versions of its operators.

    Args:
        export: An export folder, or one being built, whose version is 1.
        name: The model's name.

    Raises:
        RuntimeError: a `.tflite` file does not say what it needs.
    """
    folder = export / SERVING / name / "1"
    needed = {f"{SERVING}/{name}": saved_model_needs(folder)}
    for file in (f"{LITERT}/{name}.tflite", f"{LITERT}/{name}.int8.tflite"):
        needed[file] = {"least_runtime": least_runtime((export / file).read_bytes())}
    return needed


def saved_model_needs(folder: pathlib.Path) -> dict:
    """`needs` of one version folder."""
    graph = read_meta_graph(folder)
    nodes = list(graph.graph_def.node)
    nodes += [node for f in graph.graph_def.library.function for node in f.node_def]
    return {
        "written_by_tensorflow": graph.meta_info_def.tensorflow_version,
        "graph_version": graph.graph_def.versions.producer,
        "least_graph_consumer": graph.graph_def.versions.min_consumer,
        "operators": sorted({node.op for node in nodes}),
    }


def least_runtime(model: bytes) -> str:
    """The oldest LiteRT (TensorFlow Lite) that runs a `.tflite` file, as its converter says.

    Raises:
        RuntimeError: it does not say.
    """
    parsed = flatbuffer_utils.convert_bytearray_to_object(model)
    for entry in parsed.metadata:
        if entry.name == b"min_runtime_version":
            return bytes(parsed.buffers[entry.buffer].data).rstrip(b"\0").decode()
    raise RuntimeError("the .tflite file does not say which runtime it needs")
