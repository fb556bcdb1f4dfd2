"""A SavedModel's folder into what can be called, wherever the folder lies."""

from __future__ import annotations

import pathlib

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from keras_attention._runtime.plain_paths import plain_path
from keras_attention.folders.saved_model_safety import refuse_unsafe

# What reading a folder that is not a whole SavedModel raises.
DAMAGED = (OSError, ValueError, KeyError, RecursionError, DecodeError, tf.errors.OpError)


def load_saved_model(folder: str | pathlib.Path):
    """`tf.saved_model.load`, for folders of any name.

    Keep what it returns for as long as a signature is used: a signature alone does not keep the
    variables.

    Raises:
        UserError: as `plain_path` does.
        One of `DAMAGED`: the folder cannot be read.
    """
    read_meta_graph(pathlib.Path(folder))
    with plain_path(folder) as path:
        return tf.saved_model.load(str(path))


def read_meta_graph(folder: pathlib.Path) -> meta_graph_pb2.MetaGraphDef:
    """The graph in `saved_model.pb`, which can do nothing but compute.

    Raises:
        OSError, DecodeError: the file is missing or damaged.
        ValueError: it holds no graph, or one that `refuse_unsafe` refuses.
    """
    content = (folder / "saved_model.pb").read_bytes()
    meta_graphs = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    if len(meta_graphs) != 1:
        raise ValueError(f"saved_model.pb holds {len(meta_graphs)} graphs, not 1")
    refuse_unsafe(meta_graphs[0])
    return meta_graphs[0]


def reason_of(error: Exception) -> str:
    """The first line of an error, or its kind where it says nothing."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
