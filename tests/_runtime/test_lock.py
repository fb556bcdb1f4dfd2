"""One writer in a folder: refused, passed on, freed by death; with and without locks on folders."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import types

import pytest

from keras_attention._runtime import lock
from keras_attention._runtime.lock import folder_lock
from keras_attention.errors import UserError

HOLD = """
import sys
from keras_attention._runtime import lock
if sys.argv[2] == "file":
    lock._lock_folder = lambda folder: None
with lock.folder_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["folder", "file"])
def kind(request, monkeypatch):
    """Locks on the folder itself, and on a file beside it as on NFS."""
    if request.param == "file":
        monkeypatch.setattr(lock, "_lock_folder", lambda folder: None)
    return request.param


@pytest.fixture
def holder(tmp_path, kind):
    """Another process that holds `tmp_path / "run"` until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run"), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=pathlib.Path(__file__).parents[2],
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        if process.poll() is None:
            process.kill()


def test_a_second_process_gets_one_line(tmp_path, holder):
    with pytest.raises(UserError) as caught:
        with folder_lock(tmp_path / "run"):
            raise AssertionError("two writers")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'run'}: another process is writing")
    assert "\n" not in message


def test_the_lock_is_free_after_the_block(tmp_path, holder):
    holder.communicate(b"")
    with folder_lock(tmp_path / "run"):
        pass


def test_a_killed_holder_leaves_nothing_to_clean_up(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with folder_lock(tmp_path / "run") as folder:
        (folder / "content").touch()
    assert sorted(os.listdir(tmp_path)) == ["run"]
    assert os.listdir(tmp_path / "run") == ["content"]


def test_another_name_of_the_folder_is_the_same_folder(tmp_path, holder):
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(UserError), folder_lock(tmp_path / "link"):
        pass
    with folder_lock(tmp_path / "other"), folder_lock(tmp_path / "run" / "inside"):
        pass


def test_no_lock_file_lies_in_the_folder(tmp_path, kind):
    with folder_lock(tmp_path / "run") as folder:
        assert os.listdir(folder) == []


def test_a_thread_may_take_its_folder_again_and_another_thread_may_not(tmp_path, kind):
    refused = []

    def take():
        try:
            with folder_lock(tmp_path / "run"):
                pass
        except UserError as error:
            refused.append(error)

    with folder_lock(tmp_path / "run"):
        with folder_lock(tmp_path / "run"):
            pass
        thread = threading.Thread(target=take)  # the inner block must not have freed it
        thread.start()
        thread.join()
    assert len(refused) == 1
    take()
    assert len(refused) == 1


def test_an_error_frees_the_lock_and_leaves_no_empty_folder(tmp_path, kind):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), folder_lock(tmp_path / "run"):
            raise ZeroDivisionError
        assert os.listdir(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with folder_lock(tmp_path / "mine"):
        pass
    assert os.listdir(tmp_path) == ["mine"]


def test_a_folder_removed_while_it_is_being_locked_is_made_again(tmp_path, monkeypatch):
    real, calls = lock.fcntl.flock, []

    def flock(descriptor, operation):
        if not calls:
            (tmp_path / "run").rmdir()  # as its former holder does on leaving it empty
        calls.append(descriptor)
        real(descriptor, operation)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with folder_lock(tmp_path / "run") as folder:
        (folder / "content").touch()
    assert len(calls) == 2


def test_a_path_that_cannot_be_a_folder_is_a_user_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written to"), folder_lock(tmp_path / "file"):
        pass


def test_without_fcntl_the_file_beside_is_locked_by_msvcrt(tmp_path, monkeypatch):
    locked = set()

    def locking(descriptor, mode, count):
        assert (mode, count) == ("LK_NBLCK", 1)
        inode = os.fstat(descriptor).st_ino
        if inode in locked:
            raise PermissionError(13, "Permission denied")
        locked.add(inode)

    monkeypatch.setattr(lock, "fcntl", None)
    windows = types.SimpleNamespace(locking=locking, LK_NBLCK="LK_NBLCK")
    monkeypatch.setattr(lock, "msvcrt", windows, raising=False)
    with folder_lock(tmp_path / "run"):
        assert os.path.getsize(tmp_path / ".run.lock") == 0
        lock._held.folders.clear()  # as another process sees it
        with pytest.raises(UserError, match="another process is writing"):
            with folder_lock(tmp_path / "run"):
                pass
        lock._held.folders.add((tmp_path / "run").resolve())
    assert os.listdir(tmp_path) == []
