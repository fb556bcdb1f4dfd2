"""A command owns its process; a call of the library leaves it as it found it."""

import json
import os
import signal
import subprocess
import sys
import warnings

import pytest

from keras_attention._runtime import process
from keras_attention._runtime.quiet import silent_standard_error
from tests.support import ROOT

# Prints what belongs to the process before and after a call, each as one line of JSON.
FACTS = """if True:
    import gc, json, os, signal, sys, threading, warnings
    def facts():
        mask = os.umask(0o22)
        os.umask(mask)
        status = [os.fstat(number) for number in (0, 1, 2)]
        return {
            "environment": dict(os.environ), "umask": mask, "frozen": gc.get_freeze_count(),
            "collecting": gc.isenabled(), "warnings": warnings.formatwarning.__module__,
            "descriptors": [(s.st_dev, s.st_ino) for s in status],
            "signals": [str(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGINT)],
            "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        }
"""


def before_and_after(call: str, *arguments, env=None) -> tuple[dict, dict]:
    script = FACTS + f"    print(json.dumps(facts()))\n{call}\n    print(json.dumps(facts()))\n"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    before, after = map(json.loads, done.stdout.splitlines())
    return before, after


def test_writing_a_file_changes_nothing_of_the_process(tmp_path):
    call = """
    from keras_attention._runtime.files import write_text
    masks = []
    set_mask = os.umask
    os.umask = lambda mask: masks.append(mask) or set_mask(mask)
    write_text(sys.argv[1] + "/a.txt", "a")
    os.umask = set_mask
    assert not masks
"""
    before, after = before_and_after(call, tmp_path)
    assert before == after


@pytest.mark.slow
def test_reading_a_run_in_the_library_changes_nothing_of_the_process(trained):
    call = """
    from keras_attention import Translator
    threads = [
        threading.Thread(target=lambda: Translator.load(sys.argv[1]).translate(["ab"]))
        for _ in range(2)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""
    environment = os.environ | {"KERAS_BACKEND": "tensorflow"}
    before, after = before_and_after(call, trained.path, env=environment)
    new = set(after.pop("environment")) - set(before.pop("environment"))
    # TensorFlow itself leaves notes in its environment.
    assert not [name for name in new if name.startswith(("KERAS", "MPL", "OMP", "OPENBLAS"))]
    assert before == after


def test_outside_of_a_command_standard_error_stays_where_it_is():
    before = os.fstat(2)
    with silent_standard_error():
        assert os.fstat(2) == before
    with process.owned_by_command(), silent_standard_error():
        assert os.fstat(2).st_ino != before.st_ino
    assert os.fstat(2).st_ino == before.st_ino


def test_a_command_puts_everything_back(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("MPLBACKEND", "no_such_backend")
    monkeypatch.delenv("KERAS_HOME", raising=False)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    formatter, streams = warnings.formatwarning, (sys.stdin, sys.stdout, sys.stderr)
    handler = signal.getsignal(signal.SIGTERM)
    environment = dict(os.environ)
    with process.owned_by_command():
        assert process.is_a_commands()
        assert os.environ["KERAS_BACKEND"] == "tensorflow"
        assert os.environ["MPLBACKEND"] == "agg"
        with open(f"{os.environ['KERAS_HOME']}/keras.json", encoding="utf-8") as file:
            settings = json.load(file)
        assert settings["floatx"] == "float32" and settings["backend"] == "tensorflow"
        assert warnings.formatwarning("told", UserWarning, "f", 1) == "warning: told\n"
    assert not process.is_a_commands()
    assert dict(os.environ) == environment
    assert warnings.formatwarning is formatter
    assert (sys.stdin, sys.stdout, sys.stderr) == streams
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_tidies_away_what_is_half_written(tmp_path, name, status):
    script = f"""if True:
        import os, signal, sys, time
        from keras_attention._runtime.command_line import exit_with_user_errors
        from keras_attention._runtime.files import replacing
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        def main(arguments):
            try:
                with replacing(sys.argv[1] + "/a.txt") as temporary:
                    temporary.write_text("half", encoding="utf-8")
                    os.kill(os.getpid(), signal.{name})
                    time.sleep(30)
            except KeyboardInterrupt as stop:
                stop.add_note("go on with --resume")
                raise
        exit_with_user_errors(main, [])
    """
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == "stopped; go on with --resume\n"
    assert not list(tmp_path.iterdir())


def test_the_signal_of_one_of_several_workers_is_left_to_the_system(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    with process.owned_by_command():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
