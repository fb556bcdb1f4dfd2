"""Killed at any moment and started again, training ends as if nothing had happened."""

import csv
import json
import math
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

from keras_attention.commands import train
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import check_startable, damaged_files, is_run
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.readers.run import load_run
from keras_attention.training import checkpoint, resumption
from keras_attention.training import epochs as epoch_loop
from keras_attention.training import trainer as training
from tests.support import ROOT
from tests.support.commands import call_train
from tests.support.tasks import reversal_splits, write_splits

EPOCHS = 4
# Dropout and replaced tokens: a wrong random state would show. A small kind of model, for speed.
OPTIONS = (
    *("--units", "8", "--embedding-size", "4", "--epochs", EPOCHS, "--batch-size", "16"),
    *("--no-bidirectional", "--encoder", "gru", "--unknown-rate", "0.1", "--dropout", "0.2"),
    *("--learning-rate", "0.01"),
)


class Killed(BaseException):
    """Stands for kill -9: nothing in the program catches it."""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> pathlib.Path:
    splits = Splits(*(part[:48] for part in reversal_splits()))
    return write_splits(tmp_path_factory.mktemp("data") / "few", splits)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, data) -> pathlib.Path:
    run = tmp_path_factory.mktemp("runs") / "whole"
    done = call_train("--data", data, "--out", run, *OPTIONS)
    assert done.status == 0, done.err
    return run


@pytest.fixture(scope="module")
def killed(tmp_path_factory, data) -> pathlib.Path:
    """A run whose epochs are done, but not all of its files; tests must not change it."""
    run = tmp_path_factory.mktemp("runs") / "killed"
    with pytest.MonkeyPatch.context() as patch:
        kill_at_call(patch, training, "save_model", 1)
        start_and_kill(data, run)
    return run


def start(data, run, *more):
    return call_train("--data", data, "--out", run, *OPTIONS, *more)


def start_and_kill(data, run, *more):
    with pytest.raises(Killed):
        start(data, run, *more)


def state_of(run: pathlib.Path) -> dict:
    """Everything that a run holds but for times: final weights, last state, history, metrics."""
    with np.load(run / "checkpoint" / "state.npz") as arrays:
        state = {name: arrays[name] for name in arrays.files if name != "progress"}
        progress = json.loads(str(arrays["progress"]))
    model = keras.saving.load_model(run / "model.keras")
    state |= {f"final_{i}": weights for i, weights in enumerate(model.get_weights())}
    with open(run / "history.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    metrics = json.loads((run / "metrics.json").read_text())
    assert [int(row["epoch"]) for row in rows] == list(range(1, metrics["epochs"] + 1))
    for timed in (progress, *progress["history"], *rows, metrics):
        timed.pop("seconds")
    return state | {"progress": progress, "history": rows, "metrics": metrics}


def assert_same(run, other):
    state, expected = state_of(run), state_of(other)
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(state[name], value, err_msg=name)
        else:
            assert state[name] == value
    names = {str(path.relative_to(run)) for path in run.rglob("*")}
    assert names == {str(path.relative_to(other)) for path in other.rglob("*")}


@pytest.fixture
def trained_epochs(monkeypatch) -> list[int]:
    """The numbers of the epochs that were trained, in their order."""
    epochs = []
    train_one = epoch_loop.train_one_epoch

    def noting(config, data, training_step, epoch, *others):
        epochs.append(epoch)
        return train_one(config, data, training_step, epoch, *others)

    monkeypatch.setattr(epoch_loop, "train_one_epoch", noting)
    return epochs


def kill_at_call(monkeypatch, module, name, number, after=False):
    """Lets the `number`-th call of a function, counted from 1, die before or after its work."""
    function, calls = getattr(module, name), []

    def dying(*given, **named):
        calls.append(name)
        if len(calls) != number:
            return function(*given, **named)
        if after:
            function(*given, **named)
        raise Killed

    monkeypatch.setattr(module, name, dying)


# function, number of the call, whether its work is done, epochs done by then
MOMENTS = {
    "before the first epoch": (training, "start_or_resume", 1, True, 0),
    "between config and vocabularies": (resumption, "save_vocabularies", 1, False, 0),
    "before validation": (epoch_loop, "evaluate", 2, False, 1),
    "before a checkpoint": (checkpoint, "save", 3, False, 2),
    "between the last checkpoint and history": (training, "write_history", EPOCHS, False, EPOCHS),
    "before the calibration": (training, "save_calibration", 1, False, EPOCHS),
    "before the model is saved": (training, "save_model", 1, False, EPOCHS),
    "before the test": (training, "save_model", 1, True, EPOCHS),
    "before the figure": (train, "_plot", 1, False, EPOCHS),
    "before the metrics": (train, "write_metrics", 1, False, EPOCHS),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_it_goes_on_from_any_moment(
    monkeypatch, tmp_path, data, uninterrupted, trained_epochs, moment
):
    module, name, number, after, done = MOMENTS[moment]
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        kill_at_call(patch, module, name, number, after)
        start_and_kill(data, run, "--resume")
    assert not (run / "metrics.json").exists()
    before = list(trained_epochs)
    trained_epochs.clear()
    finished = start(data, run, "--resume")
    assert finished.status == 0, finished.err
    assert trained_epochs == list(range(done, EPOCHS)), f"before the kill: {before}"
    assert (f"resumed at epoch {done + 1}\n" in finished.out) == (done > 0)
    assert_same(run, uninterrupted)


def test_a_kill_in_the_middle_of_writing_the_checkpoint(
    monkeypatch, tmp_path, data, uninterrupted, trained_epochs
):
    """The unfinished file is no checkpoint; the next start clears it away."""
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        savez, calls = np.savez, []

        def dying(path, **arrays):
            calls.append(path)
            if len(calls) < 3:
                return savez(path, **arrays)
            # A process that is gone cleans nothing up: the file is left beside.
            half = pathlib.Path(path).with_name(".writing-leftoverstate.npz")
            savez(half, **arrays)
            half.write_bytes(half.read_bytes()[:1000])
            raise Killed

        patch.setattr(np, "savez", dying)
        start_and_kill(data, run)
    assert list((run / "checkpoint").glob(".writing-leftover*"))
    trained_epochs.clear()
    assert start(data, run, "--resume").status == 0
    assert trained_epochs == [2, 3]
    assert_same(run, uninterrupted)


def test_killed_again_and_again(monkeypatch, tmp_path, data, uninterrupted, trained_epochs):
    run = tmp_path / "run"
    for _ in range(EPOCHS):
        with monkeypatch.context() as patch:
            kill_at_call(patch, checkpoint, "save", 1, after=True)
            start_and_kill(data, run, "--resume")
    assert trained_epochs == list(range(EPOCHS))
    assert start(data, run, "--resume").status == 0
    assert_same(run, uninterrupted)


def test_a_finished_run_says_the_same_again(data, uninterrupted, trained_epochs):
    before = {path: path.stat().st_mtime_ns for path in uninterrupted.rglob("*")}
    metrics = json.loads((uninterrupted / "metrics.json").read_text())
    finished = start(data, uninterrupted, "--resume")
    assert finished.status == 0
    match = metrics["test"]["exact_match"]
    assert finished.out.splitlines()[-1] == f"exact match on test: {match:.4f} (n=48)"
    assert not trained_epochs
    assert before == {path: path.stat().st_mtime_ns for path in uninterrupted.rglob("*")}


def test_resume_starts_afresh_where_there_is_nothing(tmp_path, data, uninterrupted):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("kept")
    finished = start(data, tmp_path / "run", "--resume")
    assert finished.status == 0
    assert "resumed" not in finished.out
    assert (tmp_path / "run" / "mine.txt").read_text() == "kept"
    (tmp_path / "run" / "mine.txt").unlink()
    assert_same(tmp_path / "run", uninterrupted)


def test_patience_that_ran_out_stays_out(monkeypatch, tmp_path, data, trained_epochs):
    """A run that stopped early and was killed before its metrics does not go on training."""
    run = tmp_path / "run"
    options = ("--patience", "1", "--learning-rate", "1e-9", "--resume")
    with monkeypatch.context() as patch:
        kill_at_call(patch, training, "save_model", 1)
        # Nothing gets better after the first epoch.
        losses = iter([1.0, 2.0, 3.0])
        patch.setattr(epoch_loop, "mean_loss", lambda *_: next(losses))
        start_and_kill(data, run, *options)
    assert trained_epochs == [0, 1]
    finished = start(data, run, *options)
    assert finished.status == 0, finished.err
    assert trained_epochs == [0, 1]
    assert "stopped: no better validation result for 1 epochs" in finished.out
    assert json.loads((run / "metrics.json").read_text())["best_epoch"] == 1


@pytest.mark.parametrize("part", Splits._fields)
@pytest.mark.parametrize("finished", [True, False])
def test_other_data_are_refused(tmp_path, uninterrupted, killed, finished, part):
    run = uninterrupted if finished else killed
    splits = Splits(*(part[:48] for part in reversal_splits()))
    changed = splits._replace(**{part: [*getattr(splits, part)[:-1], Pair("a", "e")]})
    refused = start(write_splits(tmp_path / "other", changed), run, "--resume")
    assert refused.status == 2
    assert refused.err.startswith("error: --data: ") and refused.err.count("\n") == 1


def test_the_same_pairs_from_another_place_are_no_other_data(tmp_path, uninterrupted):
    splits = Splits(*(part[:48] for part in reversal_splits()))
    same = write_splits(tmp_path / "moved", splits)
    assert start(same, uninterrupted, "--resume").status == 0


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        (("--units", "10"), "--units"),
        (("--layers", "2"), "--layers"),
        (("--encoder", "lstm"), "--encoder"),
        (("--attention", "peeky"), "--attention"),
        (("--seed", "9"), "--seed"),
        (("--epochs", "3"), "--epochs"),
        (("--global-clipnorm", "5"), "--clipnorm"),
        (("--longest-output", "3"), "--longest-output"),
        (("--bidirectional",), "--bidirectional"),
    ],
)
def test_other_options_are_refused(data, uninterrupted, options, flag):
    refused = start(data, uninterrupted, "--resume", *options)
    assert refused.status == 2
    assert refused.err.startswith(f"error: {flag}: ") and refused.err.count("\n") == 1


def test_a_run_is_neither_overwritten_nor_resumed_unasked(data, uninterrupted):
    refused = start(data, uninterrupted)
    assert refused.status == 2
    assert refused.err.startswith("error: --out: ") and refused.err.count("\n") == 1
    assert "--resume" in refused.err and "--overwrite" in refused.err


def test_overwrite_replaces_the_run_and_nothing_else(tmp_path, data, uninterrupted):
    run = tmp_path / "run"
    assert call_train("--data", data, "--out", run, "--epochs", "1", "--units", "4").status == 0
    (run / "notes.txt").write_text("mine")
    assert start(data, run, "--overwrite").status == 0
    assert (run / "notes.txt").read_text() == "mine"
    (run / "notes.txt").unlink()
    assert_same(run, uninterrupted)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "gone"])
def test_a_damaged_checkpoint_is_told(tmp_path, data, killed, damage):
    run = shutil.copytree(killed, tmp_path / "run")
    file = run / "checkpoint" / "state.npz"
    content = bytearray(file.read_bytes())
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[100:200] = bytes(100)
        file.write_bytes(content)
    elif damage == "other":
        np.savez(file, something=np.zeros(3))
    else:
        (run / "metrics.json").write_text('{"test": {"exact_match": 1, "n": 1}}')
        file.unlink()
    refused = start(data, run, "--resume")
    assert refused.status == 2, refused.out
    assert refused.err.startswith("error: ") and refused.err.count("\n") == 1
    assert "state.npz: is missing or damaged" in refused.err


@pytest.mark.slow
def test_kill_9_at_random_moments(tmp_path):
    """A real process, killed by the system whenever, until it once gets to its end."""
    splits = reversal_splits()
    data = write_splits(tmp_path / "data", Splits(splits.train, *(p[:30] for p in splits[1:])))
    options = [*map(str, OPTIONS), "--epochs", "12"]
    runs = [tmp_path / "whole", tmp_path / "killed"]
    commands = [
        [sys.executable, str(ROOT / "train.py"), "--data", data, "--out", run, *options, "--resume"]
        for run in runs
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    subprocess.run(commands[0], check=True, **quiet)

    delays, kills, reached = random.Random(7), 0, []
    for _ in range(3):
        process = subprocess.Popen(commands[1], **quiet)
        wait_for_another_checkpoint(runs[1], process)
        time.sleep(delays.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        process.stderr.close()
        if (runs[1] / "checkpoint" / "state.npz").exists():
            reached.append(epochs_done(runs[1]))
    assert kills == 3, "the runs must be long enough to be killed"
    assert reached == sorted(set(reached)), "each start goes on where the last one was killed"
    subprocess.run(commands[1], check=True, **quiet)
    assert_same(runs[1], runs[0])


def wait_for_another_checkpoint(run, process):
    file = run / "checkpoint" / "state.npz"
    before = file.stat().st_mtime_ns if file.exists() else 0
    while process.poll() is None:
        if file.exists() and file.stat().st_mtime_ns != before:
            return
        time.sleep(0.005)


def epochs_done(run) -> int:
    with np.load(run / "checkpoint" / "state.npz") as arrays:
        return json.loads(str(arrays["progress"]))["epochs_done"]


# --- a run is whole, or is made whole, or is refused

DAMAGED = (
    *(("vocabulary.json", "empty"), ("model.keras", "cut"), ("history.csv", "gone")),
    *(("calibration.json", "gone"), ("attention.png", "cut"), ("metrics.json", "cut")),
)


def damage(file: pathlib.Path, how: str) -> None:
    if how == "gone":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    else:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(("name", "how"), DAMAGED)
def test_a_finished_run_is_made_whole(tmp_path, data, uninterrupted, trained_epochs, name, how):
    """Once an empty vocabulary.json was no reason to doubt that the run was finished."""
    run = shutil.copytree(uninterrupted, tmp_path / "run")
    damage(run / name, how)
    done = start(data, run, "--resume")
    assert done.status == 0, done.err
    assert f"{run / name}: is missing or damaged; it is written again" in done.out
    assert not trained_epochs
    assert_same(run, uninterrupted)
    assert load_run(run).calibration is not None
    assert "is finished already" in start(data, run, "--resume").out


def test_a_damaged_vocabulary_of_an_unfinished_run_is_made_again(
    tmp_path, data, killed, uninterrupted
):
    run = shutil.copytree(killed, tmp_path / "run")
    damage(run / "vocabulary.json", "empty")
    done = start(data, run, "--resume")
    assert done.status == 0, done.err
    assert f"{run / 'vocabulary.json'}: is missing or damaged" in done.out
    assert_same(run, uninterrupted)


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("name", ["config.json", "checkpoint/state.npz"])
@pytest.mark.parametrize("how", ["gone", "empty", "cut"])
def test_what_cannot_be_made_again_is_named(
    tmp_path, data, killed, uninterrupted, finished, name, how
):
    """Once a run without its checkpoint began at epoch 1, without a word."""
    run = shutil.copytree(uninterrupted if finished else killed, tmp_path / "run")
    damage(run / name, how)
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    refused = start(data, run, "--resume")
    assert refused.status == 2, refused.out
    assert refused.err.startswith(f"error: {run / name}") and refused.err.count("\n") == 1
    assert before == {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    check_startable(Config(out=str(run), overwrite=True))


def test_a_run_whose_checkpoint_folder_was_removed_is_not_begun_again(tmp_path, data, killed):
    run = shutil.copytree(killed, tmp_path / "run")
    shutil.rmtree(run / "checkpoint")
    refused = start(data, run, "--resume")
    assert refused.status == 2
    assert "state.npz: is missing or damaged" in refused.err


def test_a_model_beside_the_vocabulary_of_another_training_is_told(tmp_path, uninterrupted):
    """Once `translate` ended in a traceback."""
    run = shutil.copytree(uninterrupted, tmp_path / "run")
    content = json.loads((run / "vocabulary.json").read_text(encoding="utf-8"))
    content["source"]["tokens"].append("z")
    (run / "vocabulary.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match="vocabulary.json: is not of the training that model.keras"):
        load_run(run)


# --- more epochs


def test_a_finished_run_goes_on_for_more_epochs(tmp_path, data, uninterrupted, trained_epochs):
    run = shutil.copytree(uninterrupted, tmp_path / "run")
    done = start(data, run, "--resume", "--epochs", EPOCHS + 2)
    assert done.status == 0, done.err
    assert trained_epochs == [EPOCHS, EPOCHS + 1]
    assert f"{EPOCHS + 2} epochs in place of {EPOCHS}: from epoch {EPOCHS + 1} on" in done.out
    assert json.loads((run / "config.json").read_text())["epochs"] == EPOCHS + 2
    with open(run / "history.csv", newline="", encoding="utf-8") as file:
        rates = [float(row["learning_rate"]) for row in csv.DictReader(file)]
    # The rates behind epochs 5 and 6 of 6, of a cosine from 0.01.
    np.testing.assert_allclose(
        rates[-2:], [0.005 * (1 + math.cos(math.pi * 5 / 6)), 0.0], atol=1e-8
    )
    # Left open, the number is the run's; fewer than there are is refused.
    trained_epochs.clear()
    options = [str(option) for option in OPTIONS]
    place = options.index("--epochs")
    left_open = options[:place] + options[place + 2 :]
    done = call_train("--data", data, "--out", run, *left_open, "--resume")
    assert "is finished already" in done.out and not trained_epochs
    assert start(data, run, "--resume").err.startswith("error: --epochs: the run in ")


def test_a_kill_while_a_run_is_extended_loses_nothing(
    monkeypatch, tmp_path, data, uninterrupted, trained_epochs
):
    more = ("--resume", "--epochs", EPOCHS + 1)
    for index, moment in enumerate([("remove_results", True), ("write_text", True)]):
        run = shutil.copytree(uninterrupted, tmp_path / str(index))
        with monkeypatch.context() as patch:
            kill_at_call(patch, resumption, moment[0], 1, moment[1])
            start_and_kill(data, run, *more)
        trained_epochs.clear()
        done = start(data, run, *more)
        assert done.status == 0, done.err
        assert trained_epochs == [EPOCHS]
        assert json.loads((run / "metrics.json").read_text())["epochs"] == EPOCHS + 1


# --- another machine


def test_resuming_in_another_environment_is_told(monkeypatch, tmp_path, data, killed):
    run = shutil.copytree(killed, tmp_path / "run")
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    done = start(data, run, "--resume")
    assert done.status == 0, done.err
    (line,) = (line for line in done.out.splitlines() if line.startswith("warning: "))
    assert "TF_NUM_INTRAOP_THREADS 1 → 7" in line and "differ by rounding" in line
    environments = json.loads((run / "metrics.json").read_text())["environments"]
    assert [there["TF_NUM_INTRAOP_THREADS"] for there in environments] == ["1", "7"]
    assert set(environments[0]) >= {"tensorflow", "keras", "numpy", "processor", "workers"}


def test_a_run_from_before_environments_were_recorded_goes_on(tmp_path, data, killed):
    run = shutil.copytree(killed, tmp_path / "run")
    file = run / "checkpoint" / "state.npz"
    with np.load(file) as arrays:
        content = {name: arrays[name] for name in arrays.files}
    progress = json.loads(str(content["progress"]))
    del progress["environments"]
    np.savez(file, **(content | {"progress": np.array(json.dumps(progress))}))
    done = start(data, run, "--resume")
    assert done.status == 0, done.err
    assert "warning" not in done.out


# --- other writers, other programs


def test_a_folder_that_another_process_writes_is_left_alone(tmp_path, data, uninterrupted):
    run = shutil.copytree(uninterrupted, tmp_path / "run")
    hold = "import sys; from keras_attention._runtime.lock import folder_lock\n"
    hold += "with folder_lock(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, run], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
        for more in ((), ("--resume",), ("--overwrite",)):
            refused = start(data, run, *more)
            assert refused.status == 2
            assert "another process is writing to this folder" in refused.err
            assert refused.err.count("\n") == 1
        config = Config(data=str(data), out=str(run), overwrite=True)
        with pytest.raises(UserError, match="another process"):
            training.train(config, reversal_splits())
        assert before == {path: path.stat().st_mtime_ns for path in run.rglob("*")}
        holder.stdin.close()


@pytest.mark.parametrize("more", [(), ("--overwrite",), ("--resume",)])
@pytest.mark.parametrize("name", ["config.json", "metrics.json", "model.keras", "vocabulary.json"])
def test_files_of_another_program_are_not_replaced(tmp_path, data, more, name):
    """Once `--overwrite` removed the config.json and metrics.json of any model folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / name).write_text('{"model_type": "bert", "hidden_size": 768}')
    refused = start(data, folder, *more)
    assert refused.status == 2
    assert refused.err.startswith(f"error: --out: {folder} holds a {name} that is of no run")
    assert refused.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == [name]
    assert not is_run(folder)


@pytest.mark.parametrize("columns", ["without attention", "before there were such"])
def test_a_history_without_figures_of_attention_is_whole(tmp_path, uninterrupted, columns):
    run = shutil.copytree(uninterrupted, tmp_path / "run")
    with open(run / "history.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in ("mean_largest_weight", "one_position"):
            if columns == "without attention":
                row[name] = ""
            else:
                del row[name]
    with open(run / "history.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert damaged_files(run) == []
    (run / "history.csv").write_text("epoch,loss\n1,x\n", encoding="utf-8")
    assert damaged_files(run) == ["history.csv"]
