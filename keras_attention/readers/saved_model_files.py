"""A SavedModel's folder into what can be called, wherever the folder lies."""

from __future__ import annotations

import pathlib

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention._runtime.plain_paths import plain_path

# What reading a folder that is not a whole SavedModel raises.
DAMAGED = (OSError, ValueError, KeyError, DecodeError, tf.errors.OpError)


def load_saved_model(folder: str | pathlib.Path):
    """`tf.saved_model.load`, for folders of any name.

    Keep what it returns for as long as a signature is used: a signature alone does not keep the
    variables.

    Raises:
        UserError: as `plain_path` does.
        One of `DAMAGED`: the folder cannot be read.
    """
    with plain_path(folder) as path:
        return tf.saved_model.load(str(path))


def read_saved_model_proto(folder: pathlib.Path) -> saved_model_pb2.SavedModel:
    """The content of `saved_model.pb`.

    Raises:
        OSError, DecodeError: it is missing or damaged.
    """
    return saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())


def reason_of(error: Exception) -> str:
    """The first line of an error, or its kind where it says nothing."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
