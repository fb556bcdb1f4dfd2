"""Several workers or devices compute what one process does, and a lost one costs nothing."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import keras
import numpy as np
import pytest

from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CHECKPOINT, HISTORY, METRICS
from keras_attention.training.cluster import ALONE, Task, task_of_environment
from keras_attention.training.distribution import AdamOfSums
from tests.support import ROOT
from tests.support.tasks import reversal_splits, write_splits

TWO = {"worker": ["a:1", "b:2"]}


@pytest.mark.parametrize(
    "content, expected",
    [
        (None, ALONE),
        ({"cluster": TWO, "task": {"type": "worker", "index": 0}}, Task(0, 2)),
        ({"cluster": TWO, "task": {"type": "worker", "index": 1}}, Task(1, 2)),
        ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "0"}}, ALONE),
        ({"cluster": TWO | {"chief": ["c:3"]}, "task": {"type": "worker", "index": 0}}, Task(1, 3)),
        ({"cluster": TWO | {"chief": ["c:3"]}, "task": {"type": "chief", "index": 0}}, Task(0, 3)),
    ],
)
def test_tasks(content, expected):
    environment = {"TF_CONFIG": json.dumps(content)} if content else {}
    task = task_of_environment(environment)
    assert task == expected and task.is_chief == (expected.number == 0)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
        '{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}',
    ],
)
def test_a_wrong_environment_is_told_in_one_line(text):
    with pytest.raises(UserError, match="^TF_CONFIG: .*Received: ") as error:
        task_of_environment({"TF_CONFIG": text})
    assert "\n" not in str(error.value)


# Two devices need to be set up before TensorFlow starts: in a process of their own.
DEVICES = """
    import sys
    from keras_attention._runtime.quiet import import_tensorflow_quietly
    import_tensorflow_quietly()
    import keras, numpy as np, tensorflow as tf
    from keras_attention.config import Config
    from keras_attention.models.training_model import build_training_model
    from keras_attention.training.step import make_optimizer, make_training_step

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    options = dict(units=8, embedding_size=4, dropout=0.0, decoder_input_dropout=0.0)
    options |= dict(label_smoothing=0.1)

    def train(strategy, **more):
        keras.utils.set_random_seed(1)
        rng = np.random.default_rng(0)
        config = Config(**options, **more)
        with strategy.scope():
            model = build_training_model(config, 20, 20)
            optimizer = make_optimizer(config, 20)
            optimizer.build(model.trainable_variables)
            step = make_training_step(model, optimizer, config)
            results = []
            for rows in (6, 5, 1, 6):  # of one row, one device gets nothing
                lengths = rng.integers(1, 7, (rows, 1))
                ids = np.where(np.arange(6) < lengths, rng.integers(4, 20, (rows, 6)), 0)
                ids = ids.astype(np.int32)
                results.append([float(value) for value in step(ids, ids, ids)])
            return results, model.get_weights()

    for more in ({"clipnorm": 0.01}, {"global_clipnorm": 0.1, "encoder": "gru"}):
        (one_results, one), (two_results, many) = train(tf.distribute.get_strategy(), **more), \\
            train(two, **more)
        np.testing.assert_allclose(one_results, two_results, rtol=1e-5)
        for a, b in zip(one, many):
            np.testing.assert_allclose(a, b, atol=1e-5)

    # Why there is AdamOfSums: gradients of 3 on each device, clipped to 1 and then summed.
    with two.scope():
        variable = keras.Variable(0.0)
        optimizer = keras.optimizers.SGD(1.0, clipnorm=1.0)
        optimizer.build([variable])
    two.run(tf.function(lambda: optimizer.apply([tf.constant(3.0)], [variable])))
    print("after one step:", float(variable.numpy()))
"""


@pytest.fixture(scope="module")
def two_devices():
    """Standard output of `DEVICES`."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DEVICES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_two_devices_compute_what_one_does(two_devices):
    assert "after one step" in two_devices  # it compared before


@pytest.mark.slow
def test_keras_still_clips_before_it_sums(two_devices):
    """Red means that Keras sums first now: then Adam itself will do in place of AdamOfSums."""
    assert "after one step: -2.0" in two_devices


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Workers:
    """`python train.py` in two processes on this machine, the chief first."""

    def __init__(self, folder, *arguments):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        folder.mkdir()
        self.logs = [folder / f"{index}.log" for index in range(2)]
        self.processes = []
        for index, log in enumerate(self.logs):
            task = {"type": "worker", "index": index}
            config = json.dumps({"cluster": {"worker": addresses}, "task": task})
            with open(log, "w", encoding="utf-8") as file:
                self.processes.append(
                    subprocess.Popen(
                        [sys.executable, "train.py", *map(str, arguments)],
                        cwd=ROOT,
                        env=os.environ | {"TF_CONFIG": config},
                        stdout=file,
                        stderr=subprocess.STDOUT,
                    )
                )

    def wait(self):
        """Exit codes and the lines that were printed."""
        codes = [process.wait(timeout=600) for process in self.processes]
        return codes, [log.read_text().splitlines() for log in self.logs]

    def kill_everything(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def start(tmp_path):
    started = []

    def start_workers(*arguments):
        started.append(Workers(tmp_path / f"logs{len(started)}", *arguments))
        return started[-1]

    yield start_workers
    for workers in started:
        workers.kill_everything()


def history(path):
    with open(path / HISTORY, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(v) for k, v in row.items() if k != "seconds"] for row in rows])


@pytest.mark.slow
def test_two_workers_follow_one_process_and_survive_a_loss(tmp_path, start):
    data = write_splits(tmp_path / "data", reversal_splits())
    options = ["--data", data, "--units", 16, "--embedding-size", 8, "--batch-size", 16]
    options += ["--epochs", 5, "--patience", 5, "--dropout", 0, "--decoder-input-dropout", 0]
    options += ["--unknown-rate", 0.01, "--learning-rate", 0.01, "--resume"]
    one, two, killed = (tmp_path / name for name in ("one", "two", "killed"))
    alone = [sys.executable, "train.py", *map(str, options), "--out", str(one)]
    subprocess.run(alone, cwd=ROOT, check=True, capture_output=True)

    codes, lines = start(*options, "--out", two).wait()
    assert codes == [0, 0], lines
    assert lines[0][-1] == lines[1][-1]
    np.testing.assert_allclose(history(two), history(one), rtol=1e-3, atol=1e-5)
    assert sorted(p.name for p in two.iterdir()) == sorted(p.name for p in one.iterdir())

    # Once the chief ended before the others had met it, and they waited for ever.
    codes, again = start(*options, "--out", two).wait()
    assert codes == [0, 0], again
    assert again[0][-1] == again[1][-1] == lines[0][-1]

    workers = start(*options, "--out", killed)
    while not (killed / HISTORY).exists():
        assert workers.processes[0].poll() is None, workers.wait()
        time.sleep(0.02)
    workers.processes[1].send_signal(signal.SIGKILL)
    codes, lines = workers.wait()
    assert codes == [2, -signal.SIGKILL], lines
    assert lines[0][-1].startswith("error: TF_CONFIG: another worker was lost")
    assert not (killed / METRICS).exists()
    codes, lines = start(*options, "--out", killed).wait()
    assert codes == [0, 0], lines
    assert any(line.startswith("resumed at epoch") for line in lines[0])
    assert np.array_equal(history(killed), history(two))
    states = [np.load(path / CHECKPOINT) for path in (two, killed)]
    for name in states[0].files:
        if name != "progress":
            assert np.array_equal(states[0][name], states[1][name]), name


def test_a_keras_that_adds_up_gradients_elsewhere_is_told(monkeypatch):
    """Otherwise gradients would be added twice, without a word."""
    owner = next(
        kind for kind in keras.optimizers.Adam.__mro__ if "_all_reduce_sum_gradients" in vars(kind)
    )
    monkeypatch.delattr(owner, "_all_reduce_sum_gradients")
    with pytest.raises(RuntimeError, match="no method Adam._all_reduce_sum_gradients"):
        AdamOfSums(0.1)
