"""How tests are run, and the run that many of them share."""

import collections
import os
import pathlib
import shutil
import tempfile

# A process of tests for each core: threads within them would only wait for each other.
for threads in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"):
    os.environ.setdefault(threads, "1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.support.commands import call_train  # noqa: E402
from tests.support.session import AT_END, FOLDER_OF_ALL_PROCESSES  # noqa: E402
from tests.support.tasks import (  # noqa: E402
    EAGER_LEARNER,
    SMALL,
    TrainedRun,
    reversal_splits,
    write_splits,
)

# The same examples in every run, and no complaint of a busy machine.
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")


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
