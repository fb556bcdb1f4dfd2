"""The layer's tests again on JAX and PyTorch, each in a process of its own.

Keras chooses its backend once in a process: the same test files run there, with KERAS_BACKEND set.
For PyTorch, in an environment made as requirements-backends.txt says:

    python -m pytest tests/layers/test_attention_backends.py -k torch
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support import ROOT

TESTS = pathlib.Path(__file__).parent
FILES = [
    "test_attention.py",
    "test_attention_gradients.py",
    "test_attention_keras.py",
    "test_attention_masks.py",
    "test_attention_normalizers.py",
    "test_attention_problems.py",
    "test_attention_properties.py",
    "test_attention_saving.py",
    "test_attention_training.py",
]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_the_same_tests_pass_on(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed; see requirements-backends.txt")
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider"]
    # Keras turns PyTorch tensors into arrays in a way that NumPy has deprecated.
    command += ["-W", "ignore:__array__ implementation:DeprecationWarning"]
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # most of JAX's time here is compilation
    }
    result = subprocess.run(
        command + [str(TESTS / name) for name in FILES],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    passed = int(re.search(r"(\d+) passed", result.stdout)[1])
    assert passed > 200 and "skipped" not in result.stdout


def test_every_test_file_of_the_layer_runs_on_every_backend():
    only_here = {"backends", "litert", "open_shapes", "saved_model"}
    of_the_layer = {
        path.name
        for path in TESTS.glob("test_attention*.py")
        if "from keras_attention import Attention\n" in path.read_text(encoding="utf-8")
    }
    assert of_the_layer - {f"test_attention_{name}.py" for name in only_here} == set(FILES)
