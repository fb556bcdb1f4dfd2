"""Keras told to use another backend or other numbers: refused before anything is read."""

import os
import subprocess
import sys

import keras
import pytest

from keras_attention._runtime.keras_settings import require_plain_tensorflow
from keras_attention.errors import UserError
from tests.support import ROOT


def test_the_usual_settings_are_taken():
    require_plain_tensorflow()


@pytest.mark.parametrize("floatx", ["float16", "float64", "bfloat16"])
def test_other_numbers_are_refused(floatx):
    keras.config.set_floatx(floatx)
    try:
        with pytest.raises(UserError, match=f"in float32; .* Received: floatx='{floatx}'"):
            require_plain_tensorflow()
    finally:
        keras.config.set_floatx("float32")


def test_another_backend_that_is_in_use_is_refused(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(UserError, match="TensorFlow backend, .* says jax; set KERAS_BACKEND="):
        require_plain_tensorflow()


def test_another_backend_is_refused_before_keras_is_imported(tmp_path):
    """Else Keras' own error would come, of a package that the user never asked for."""
    script = """if True:
        import sys
        from keras_attention._runtime.keras_settings import require_plain_tensorflow
        from keras_attention.errors import UserError
        try:
            require_plain_tensorflow()
        except UserError as error:
            print(error, "keras" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == (
        "keras: a run is read with the TensorFlow backend, the environment variable KERAS_BACKEND "
        "says jax; set KERAS_BACKEND=tensorflow before Keras is imported False\n"
    )
