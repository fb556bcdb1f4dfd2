"""What many tests share: a small task, a run trained on it, and commands called in this process."""

import collections
import contextlib
import io
import os
import pathlib
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from typing import NamedTuple

# A process of tests for each core: threads within them would only wait for each other.
for threads in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"):
    os.environ.setdefault(threads, "1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from keras_attention.data import Pair, Splits, write_pairs  # noqa: E402

# The same examples in every run, and no complaint of a busy machine.
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")

# Names the environment variable of a folder that the first process makes for all, and removes.
FOLDER_OF_ALL_PROCESSES = "KERAS_ATTENTION_TEST_FOLDER"


# What this process of tests leaves to be ended: when its session ends, which comes before the
# interpreter's own end, at which a process may be killed when it takes long.
AT_END = contextlib.ExitStack()


def pytest_sessionfinish():
    AT_END.close()


def pytest_configure(config):
    if FOLDER_OF_ALL_PROCESSES not in os.environ:
        config.folder_of_all_processes = tempfile.mkdtemp(prefix="keras-attention-tests-")
        os.environ[FOLDER_OF_ALL_PROCESSES] = config.folder_of_all_processes


def pytest_unconfigure(config):
    if hasattr(config, "folder_of_all_processes"):
        shutil.rmtree(config.folder_of_all_processes, ignore_errors=True)
        del os.environ[FOLDER_OF_ALL_PROCESSES]


def pytest_collection_modifyitems(items):
    """Files with many slow tests or many tests come first, so that none is begun at the end."""
    tests = collections.Counter(item.path for item in items)
    slow = collections.Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (-slow[item.path], -tests[item.path]))


# Small enough to be learnt in a few seconds, of every kind of layer that the defaults have.
SMALL = ("--units", "32", "--embedding-size", "16", "--epochs", "8", "--batch-size", "32")
EAGER_LEARNER = ("--learning-rate", "0.02", "--dropout", "0.05", "--decoder-input-dropout", "0.1")


class Finished(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


class TrainedRun(NamedTuple):
    """A run folder and what was printed while it came to be."""

    path: pathlib.Path
    output: str


def reversal_splits(seed: int = 0) -> Splits:
    """Words of one to five of the letters a to e, and the same words backwards."""
    random_generator = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < 700:
        length = random_generator.randint(1, 5)
        words["".join(random_generator.choice("abcde") for _ in range(length))] = None
    pairs = [Pair(word, word[::-1]) for word in words]
    random_generator.shuffle(pairs)
    return Splits(pairs[:500], pairs[500:600], pairs[600:])


def write_splits(folder: pathlib.Path, splits: Splits) -> pathlib.Path:
    folder.mkdir()
    for name, pairs in zip(Splits._fields, splits, strict=True):
        write_pairs(folder / f"{name}.tsv", pairs)
    return folder


def call(main, arguments: Sequence) -> Finished:
    """Calls a command's `main` as its script does, in this process."""
    from keras_attention.command_line import exit_with_user_errors

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    formatter, status = warnings.formatwarning, 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exit_with_user_errors(main, [str(argument) for argument in arguments])
        except SystemExit as exit:
            status = exit.code or 0
        finally:
            warnings.formatwarning = formatter
    for stream in (out, err):
        stream.flush()
    return Finished(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def call_train(*arguments) -> Finished:
    """`python train.py ARGUMENTS` in this process."""
    import train

    return call(train.main, arguments)


def call_verb(*arguments, stdin: bytes = b"") -> Finished:
    """`python -m keras_attention ARGUMENTS` in this process."""
    from keras_attention import __main__

    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        return call(__main__.main, arguments)
    finally:
        sys.stdin = before


@pytest.fixture(scope="session")
def reversal_folder(tmp_path_factory) -> pathlib.Path:
    """A data folder of the task in `reversal_splits`."""
    return write_splits(tmp_path_factory.mktemp("data") / "reversal", reversal_splits())


@pytest.fixture(scope="session")
def trained(tmp_path_factory, reversal_folder) -> TrainedRun:
    """A run that has learnt to reverse words; tests must not change it."""
    path = tmp_path_factory.mktemp("runs") / "reversal"
    finished = call_train("--data", reversal_folder, "--out", path, *SMALL, *EAGER_LEARNER)
    assert finished.status == 0, finished.err
    return TrainedRun(path, finished.out)
