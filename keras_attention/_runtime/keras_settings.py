"""What a user's settings of Keras mean for us: refused where they would change an answer."""

from __future__ import annotations

import os
import sys

from keras_attention.errors import UserError


def require_plain_tensorflow() -> None:
    """Imports Keras, and makes sure that it uses TensorFlow and float32.

    Commands set both for themselves; in a program, they are the program's to choose, and a run that
    was read under others would answer in other numbers or not at all.

    Raises:
        UserError: the environment, `keras.json` or the program chose otherwise.
    """
    wanted = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if wanted != "tensorflow" and "keras" not in sys.modules:
        raise _other_backend(wanted, "the environment variable KERAS_BACKEND")
    try:
        import keras
    except ModuleNotFoundError as error:
        if error.name in ("jax", "torch", "flax"):
            raise _other_backend(error.name, "~/.keras/keras.json") from None
        raise
    if keras.config.backend() != "tensorflow":
        raise _other_backend(keras.config.backend(), "KERAS_BACKEND or ~/.keras/keras.json")
    if keras.config.floatx() != "float32":
        raise UserError(
            "keras: a run is read in float32; call keras.config.set_floatx('float32') before, or "
            f"take floatx out of ~/.keras/keras.json. Received: floatx={keras.config.floatx()!r}"
        )


def _other_backend(name: str, place: str) -> UserError:
    return UserError(
        f"keras: a run is read with the TensorFlow backend, {place} says {name}; set "
        "KERAS_BACKEND=tensorflow before Keras is imported"
    )
