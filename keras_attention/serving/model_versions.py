"""The versions of one exported model: the newest is served, and replaced when a newer one appears.

As TensorFlow Serving's default policy has it: only the version with the largest number is loaded,
and it stays until its successor is ready.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import logging
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention._runtime.installation import command_for
from keras_attention.errors import UserError
from keras_attention.readers.export_layout import versions_in
from keras_attention.serving.statuses import StatusError

DEFAULT_SIGNATURE = "serving_default"

# One text, and a batch of unequal lengths with an empty one: run once before a version is served.
_WARM_UP = ([b"1"], [b"", b"1", b"12345678901234567890"])

_log = logging.getLogger(__name__)


class Signature:
    """One signature of a loaded SavedModel.

    Attributes:
        input_name: Of its one input, strings `[n]`.
        joins: Whether a row of its outputs has the same size whatever the other rows are.
    """

    def __init__(self, function):
        (self.input_name,) = function.structured_input_signature[1]
        shapes = [spec.shape for spec in function.structured_outputs.values()]
        self.joins = all(None not in shape.as_list()[1:] for shape in shapes)
        self._function = function

    def __call__(self, texts: list[bytes]) -> dict[str, np.ndarray]:
        outputs = self._function(**{self.input_name: tf.constant(texts, tf.string, [len(texts)])})
        return {name: value.numpy() for name, value in outputs.items()}


@dataclasses.dataclass(frozen=True)
class LoadedVersion:
    """A version that can be asked.

    Attributes:
        number: Its folder's name.
        signatures: By name.
        metadata: The signature definitions as TensorFlow Serving's metadata reply has them.
    """

    number: int
    signatures: dict[str, Signature]
    metadata: dict[str, Any]

    @classmethod
    def load(cls, folder: pathlib.Path) -> LoadedVersion:
        """Reads a version folder and calls every signature once, so that no user waits.

        Raises:
            OSError, ValueError, tf.errors.OpError: it cannot be read or called.
        """
        functions = tf.saved_model.load(str(folder)).signatures
        signatures = {name: Signature(function) for name, function in functions.items()}
        for signature in signatures.values():
            for texts in _WARM_UP:
                signature(texts)
        return cls(int(folder.name), signatures, _metadata(folder))

    def signature(self, name: str) -> Signature:
        """The signature called `name`, the default one for "".

        Raises:
            StatusError: there is none.
        """
        name = name or DEFAULT_SIGNATURE
        if name in self.signatures:
            return self.signatures[name]
        if name in self.metadata:  # the initialiser, which takes nothing
            raise StatusError(f"Failed to get input map for signature: {name}")
        raise StatusError(f'Serving signature name: "{name}" not found in signature def')


@dataclasses.dataclass
class _State:
    """What the status reply says of a version."""

    name: str
    error: str = ""


class ModelVersions:
    """The model called `name`, whose version folders lie in `folder`.

    Raises:
        UserError: there is no version, or the newest cannot be loaded.
    """

    def __init__(self, name: str, folder: pathlib.Path):
        self.name = name
        self._folder = folder
        self._states: dict[int, _State] = {}
        numbers = versions_in(folder)
        if not numbers:
            raise UserError(f"{folder}: holds no version; run `{command_for('export')}` again")
        newest = folder / str(numbers[-1])
        try:
            self.current = LoadedVersion.load(newest)
        except (OSError, ValueError, tf.errors.OpError) as error:
            raise UserError(
                f"{newest}: cannot be loaded: {_first_line(error)}; export the run again"
            ) from None
        self._states[self.current.number] = _State("AVAILABLE")
        _collect_garbage()

    def find(self, name: str, number: int | None = None, label: str | None = None) -> LoadedVersion:
        """The loaded version that a request means.

        Raises:
            StatusError: it is not loaded.
        """
        if label is not None:
            raise StatusError(f"Unrecognized servable version label: {label}")
        if name != self.name or number not in (None, self.current.number):
            wanted = f"Latest({name})" if number is None else f"Specific({name}, {number})"
            raise StatusError(f"Servable not found for request: {wanted}", "NOT_FOUND")
        return self.current

    def status(self, name: str, number: int | None = None, label: str | None = None) -> dict:
        """The status reply: every version that was seen, or the one asked for.

        Raises:
            StatusError: there is none.
        """
        if label is not None:
            raise StatusError(f"Unrecognized servable version label: {label}")
        states = self._states if name == self.name else {}
        if number is not None:
            if number not in states:
                message = f"Could not find version {number} of model {name}"
                raise StatusError(message, "NOT_FOUND")
            states = {number: states[number]}
        if not states:
            raise StatusError(f"Could not find any versions of model {name}", "NOT_FOUND")
        return {
            "model_version_status": [
                {
                    "version": str(version),
                    "state": state.name,
                    "status": {
                        "error_code": "UNKNOWN" if state.error else "OK",
                        "error_message": state.error,
                    },
                }
                for version, state in sorted(states.items(), reverse=True)
            ]
        }

    async def watch(self, seconds: float) -> None:
        """Looks for another newest version every so many seconds, until cancelled.

        One that cannot be loaded is reported and tried no more; what was served stays.
        """
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._refresh()
            except OSError as error:
                _log.warning("%s: cannot be read: %s", self._folder, error.strerror)

    async def _refresh(self) -> None:
        numbers = [n for n in versions_in(self._folder) if not self._failed(n)]
        if not numbers or numbers[-1] == self.current.number:
            return
        number, before = numbers[-1], self.current.number
        self._states[number] = _State("LOADING")
        try:
            loaded = await asyncio.to_thread(LoadedVersion.load, self._folder / str(number))
        except Exception as error:  # whatever is in that folder, the server goes on
            self._states[number] = _State("END", _first_line(error))
            _log.warning("version %d cannot be loaded: %s", number, type(error).__name__)
            return
        self.current = loaded
        self._states[number] = _State("AVAILABLE")
        self._states[before] = _State("END")
        _collect_garbage()
        _log.info("version %d is served in place of %d", number, before)

    def _failed(self, number: int) -> bool:
        state = self._states.get(number)
        return state is not None and bool(state.error)


def _collect_garbage() -> None:
    """Collects once, the version that was replaced too, and sets apart what is left.

    TensorFlow's many objects would make every later collection a pause of a quarter of a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _metadata(folder: pathlib.Path) -> dict[str, Any]:
    proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    return {
        name: json_format.MessageToDict(
            definition,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, definition in sorted(proto.meta_graphs[0].signature_def.items())
    }
