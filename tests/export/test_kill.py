"""An export that is killed at any moment leaves what was there before, whole."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import tensorflow as tf

from keras_attention.readers.litert_reader import LiteRTReader
from keras_attention.readers.translator import Translator
from tests.support import ROOT
from tests.support.exports import random_run

# Starts an export for each line that it reads: the process id, and when it has ended, how. Forked
# from one process, so that TensorFlow is imported once and not eleven times.
EXPORTS = """
import os, sys
from keras_attention._runtime.quiet import import_tensorflow_quietly
import_tensorflow_quietly()
import keras_attention.export.exporter, keras_attention.readers.run
from keras_attention.commands import export
for _ in sys.stdin:
    process = os.fork()
    if not process:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        export.run(sys.argv[1:])
        os._exit(0)
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Exports:
    """Exports of one run into one folder, one after the other, each in a process of its own."""

    def __init__(self, run_folder, out, errors):
        self._errors = errors
        arguments = [run_folder, "--out", out, "--beam-width", "2"]
        with open(errors, "w", encoding="utf-8") as stderr:
            self._parent = subprocess.Popen(
                [sys.executable, "-c", EXPORTS, *map(str, arguments)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def start(self) -> int:
        """The process id of an export that has just begun."""
        print(file=self._parent.stdin, flush=True)
        return self._read()

    def finish(self) -> int:
        """How the export that was started last has ended, once it has."""
        return self._read()

    def close(self):
        self._parent.communicate()

    def _read(self) -> int:
        line = self._parent.stdout.readline()
        assert line, self._errors.read_text()
        return int(line)


@pytest.fixture
def exports(tmp_path):
    # A kind of model with few signatures, for speed.
    run_folder = random_run(attention="none", encoder="gru", bidirectional=False).config.out
    exports = Exports(run_folder, tmp_path / "export", tmp_path / "errors")
    yield exports
    exports.close()


@pytest.mark.slow
def test_kill_9_at_ten_random_moments(exports, tmp_path):
    """A folder with one export in it, exported to again and again; each time every version that
    the folder shows loads and answers."""
    out = tmp_path / "export"
    looked_at = set()

    def look_at(version):
        assert version.name.isdecimal()
        signature = tf.saved_model.load(str(version)).signatures["serving_default"]
        assert signature(text=tf.constant(["abc", ""]))["text"].shape == (2,)

    exports.start()
    began = time.monotonic()
    assert exports.finish() == 0, (tmp_path / "errors").read_text()
    duration = time.monotonic() - began
    (versions,) = (out / "serving").iterdir()
    moments = random.Random(0)
    killed = 0
    for _ in range(10):
        process = exports.start()
        time.sleep(moments.uniform(0, duration))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        killed += exports.finish() == -signal.SIGKILL
        for version in set(versions.iterdir()) - looked_at:
            look_at(version)
            looked_at.add(version)
        assert Translator.load(out).translate(["abc"])
        assert LiteRTReader(next((out / "litert").glob("*[!8].tflite"))).translate_batch(["abc"])
    assert killed >= 5, "nearly all of the exports ended before they were killed"
    exports.start()
    assert exports.finish() == 0, (tmp_path / "errors").read_text()
    for version in versions.iterdir():
        look_at(version)
    assert not list(out.glob(".*")), "leftovers of the killed ones"
