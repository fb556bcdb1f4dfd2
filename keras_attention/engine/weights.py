"""Where the weights of a model come from: names and float32 arrays, as Keras lays them out.

The names are those of `Architecture.weight_shapes`. Keras' order of an LSTM's gates, along the last
axis of its kernels, is input, forget, candidate, output; of a GRU's: update, reset, candidate.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import h5py

_CELL = ("kernel", "recurrent_kernel", "bias")
_ATTENTION = {0: (), 1: ("kernel",), 3: ("query_kernel", "key_kernel", "score_vector")}
_INSIDE_KERAS_FILE = "model.weights.h5"
_MOST_UNPACKED = 20  # times what it takes when packed
_ALWAYS_UNPACKED = 2**24  # bytes


def read_keras_file(path: str | pathlib.Path) -> dict[str, np.ndarray]:
    """The weights in a run's `model.keras`, read with h5py.

    Raises:
        OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error: the file cannot be read, or
            is not that of a training model.
    """
    with _opened_weights(path) as file:
        weights: dict[str, np.ndarray] = {}
        for group in file["layers"].values():
            # Groups are called by their class and a number; their layer's own name is inside.
            name = group["vars"].attrs["name"]
            weights |= _of_layer(name, _stored_arrays(group))
    return weights


def check_keras_file(path: str | pathlib.Path) -> None:
    """Refuses a `.keras` file that would fill the memory or have other files read.

    Raises:
        As `read_keras_file`.
    """
    with _opened_weights(path):
        pass


def of_keras_model(model) -> dict[str, np.ndarray]:
    """The weights of a live training model (`models.training_model`), copied."""
    weights: dict[str, np.ndarray] = {}
    for layer in model.layers:
        if hasattr(layer, "forward_layer") and hasattr(layer, "backward_layer"):
            arrays = {
                "forward": layer.forward_layer.get_weights(),
                "backward": layer.backward_layer.get_weights(),
            }
        else:
            arrays = {"": layer.get_weights()}
        weights |= _of_layer(layer.name, arrays)
    return {name: np.array(value, np.float32) for name, value in weights.items()}


def read_safetensors(path: str | pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors of a safetensors file by name, and what it says about itself.

    Raises:
        OSError, ValueError: the file cannot be read, or is damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def write_safetensors(
    path: str | pathlib.Path, weights: dict[str, np.ndarray], about: dict[str, str]
) -> None:
    """Writes tensors, and what the file says about itself, as a safetensors file."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(value) for name, value in weights.items()}
    pathlib.Path(path).write_bytes(save(arrays, about))  # its own writer makes private files


@contextlib.contextmanager
def _opened_weights(path: str | pathlib.Path) -> Iterator[h5py.File]:
    """The HDF5 file inside a `.keras` file, once nothing of either can do harm."""
    import h5py  # exports do without it

    with zipfile.ZipFile(path) as archive:
        for part in archive.infolist():
            if part.file_size > max(_ALWAYS_UNPACKED, _MOST_UNPACKED * part.compress_size):
                raise ValueError(
                    f"{part.filename} would unpack to {part.file_size:,} bytes from "
                    f"{part.compress_size:,}; weights do not shrink like that"
                )
        content = io.BytesIO(archive.read(_INSIDE_KERAS_FILE))
    with h5py.File(content, "r") as file:
        _refuse_what_is_not_inside(file, len(content.getbuffer()))
        yield file


def _refuse_what_is_not_inside(file, size: int) -> None:
    """HDF5 can name other files to read, and arrays of any size that take no room.

    Raises:
        ValueError: it does.
    """
    import h5py

    total, seen = 0, set()

    def look(group) -> None:
        nonlocal total
        place = h5py.h5o.get_info(group.id).addr
        if place in seen:
            raise ValueError(f"{group.name} lies within itself, or twice")
        seen.add(place)
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{group.name}: {name} is a link to somewhere else")
            found = group[name]
            if isinstance(found, h5py.Group):
                look(found)
                continue
            total += found.size * found.dtype.itemsize
            if found.external or found.is_virtual or total > size:
                raise ValueError(f"{found.name} is not stored in the file itself")

    look(file)


def _stored_arrays(group) -> dict[str, list[np.ndarray]]:
    """The arrays of a layer's group, by direction ("" where it has none), in Keras' order."""

    def arrays(variables) -> list[np.ndarray]:
        return [np.array(variables[str(i)], np.float32) for i in range(len(variables))]

    if "forward_layer" in group:
        return {
            name: arrays(group[f"{name}_layer"]["cell"]["vars"]) for name in ("forward", "backward")
        }
    return {"": arrays(group["cell"]["vars"] if "cell" in group else group["vars"])}


def _of_layer(name: str, arrays: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """One layer's arrays by the names that they have in this package."""
    if name.endswith("_embedding"):
        return {name: arrays[""][0]}
    parts: tuple[str, ...]
    if name == "affine":
        parts = ("kernel", "bias")
    elif name == "attentional_layer":
        parts = ("kernel",)
    elif name == "attention":
        parts = _ATTENTION[len(arrays[""])]
    elif name.startswith("encoder_") and "" in arrays and arrays[""]:
        return _named(f"{name}/forward", _CELL, arrays[""])
    else:
        parts = _CELL if any(arrays.values()) else ()  # dropout and the like hold nothing
    named: dict[str, np.ndarray] = {}
    for direction, values in arrays.items():
        named |= _named(f"{name}/{direction}" if direction else name, parts, values)
    return named


def _named(prefix: str, parts: tuple[str, ...], values) -> dict[str, np.ndarray]:
    return {f"{prefix}/{part}": value for part, value in zip(parts, values, strict=True)}
