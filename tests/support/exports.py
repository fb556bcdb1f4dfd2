"""Runs and exports for tests: random weights where training would only take time."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import keras
import numpy as np

from keras_attention.config import Config
from keras_attention.folders.run_folder import CONFIG, METRICS, VOCABULARY
from keras_attention.models.training_model import build_training_model
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.readers.run import Run, load_run, save_model
from keras_attention.text.vocabulary import (
    END,
    PADDING,
    START,
    UNKNOWN,
    Vocabulary,
    save_vocabularies,
)
from tests.support.commands import Finished, call
from tests.support.session import AT_END, FOLDER_OF_ALL_PROCESSES
from tests.support.texts import TOKENS_OF_KIND, random_texts

LONGEST_OUTPUT = 9
BEAM_WIDTH = 3


@functools.cache
def folder_for_tests() -> pathlib.Path:
    """One temporary folder of this process, removed at its end."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="export-tests-"))
    AT_END.callback(shutil.rmtree, path, ignore_errors=True)
    return path


def made_once(name: str, make: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """A folder that the first process of tests to ask for it makes, for all of them.

    Args:
        name: Its name; the same for the same content.
        make: Given the path, makes the folder.
    """
    shared = pathlib.Path(os.environ[FOLDER_OF_ALL_PROCESSES])
    path = shared / name
    with open(shared / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / f"{name}.made").exists():
            make(path)
            (shared / f"{name}.made").touch()
    return path


def random_run(seed: int = 0, tokens: tuple[str, str] = ("char", "char"), **options) -> Run:
    """A finished run folder, read back, whose model was never trained.

    Its weights are large, so that no two tokens are nearly as likely, and its outputs end early,
    late and at the limit.
    """
    key = "-".join(["run", str(seed), *tokens, *(f"{k}_{v}" for k, v in sorted(options.items()))])
    return load_run(made_once(key, functools.partial(_make_random_run, seed, tokens, options)))


def _make_random_run(seed: int, tokens: tuple[str, str], options: dict, folder: pathlib.Path):
    folder.mkdir()
    data = folder.with_suffix(".data")
    data.mkdir()
    config = Config(
        data=str(data),
        out=str(folder),
        longest_output=LONGEST_OUTPUT,
        source_tokens=tokens[0],
        target_tokens=tokens[1],
        **{"units": 16, "embedding_size": 8, **options},
    )
    source, target = (Vocabulary(kind, TOKENS_OF_KIND[kind]) for kind in tokens)
    keras.utils.set_random_seed(seed)
    model = build_training_model(config, len(source), len(target))
    for variable in model.trainable_variables:
        if variable.name in ("kernel", "recurrent_kernel"):
            variable.assign(variable * 2.5)
    if config.attention == "general":  # which begins as the identity
        kernel = model.get_layer("attention").kernel
        kernel.assign(2.5 * keras.initializers.GlorotUniform(seed)(kernel.shape))
    affine = model.get_layer("affine")
    bias = np.zeros(len(target), np.float32)
    # What must never be said would be the likeliest of all, were it not for the mask.
    bias[[PADDING, START, UNKNOWN]] = 20.0
    bias[END] = 1.0
    affine.bias.assign(bias)
    affine.kernel.assign(2 * affine.kernel)
    (folder / CONFIG).write_text(config.to_json())
    save_vocabularies(folder / VOCABULARY, source, target)
    save_model(folder, model)
    (folder / METRICS).write_text("{}")
    sources = random_texts(source, 40, seed)
    pairs = [Pair(text, "a") for text in sources]
    for split in ("train", "valid", "test"):
        write_pairs(data / f"{split}.tsv", pairs)


def call_export(*arguments) -> Finished:
    """`python export.py ARGUMENTS` in this process."""
    from keras_attention.commands import export

    return call(export.run, arguments)


def random_export(**options) -> tuple[Run, pathlib.Path]:
    """A run of random weights and its export; tests must change neither."""
    run = random_run(**options)
    folder = pathlib.Path(run.config.out)

    def export(out: pathlib.Path):
        finished = call_export(folder, "--out", out, "--beam-width", BEAM_WIDTH)
        assert finished.status == 0, finished.err

    return run, made_once(f"export-of-{folder.name}", export)


def version_folder(export: pathlib.Path) -> pathlib.Path:
    """The newest version in an export."""
    name = json.loads((export / "manifest.json").read_text())["name"]
    versions = [int(path.name) for path in (export / "serving" / name).iterdir()]
    return export / "serving" / name / str(max(versions))


# What a process runs that must not know the package, or not TensorFlow.
_BLOCKER = """\
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ImportError("blocked: " + name)

sys.meta_path.insert(0, Blocker())
"""


def run_python(code: str, *arguments, blocked: tuple[str, ...], path: str = "") -> str:
    """Standard output of Python code in a process of its own that cannot import some packages."""
    with tempfile.TemporaryDirectory() as elsewhere:
        finished = subprocess.run(
            [
                sys.executable,
                "-c",
                _BLOCKER.format(blocked=set(blocked)) + code,
                *map(str, arguments),
            ],
            cwd=elsewhere,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
