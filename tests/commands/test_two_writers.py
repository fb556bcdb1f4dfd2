"""A folder that another process writes to is left to it, with one line."""

import subprocess
import sys

import pytest

from tests.support import ROOT
from tests.support.commands import call_verb

HOLDER = """
import sys
from keras_attention._runtime.lock import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("verb", ["explain", "compare"])
def test_the_second_writer_is_told(verb, trained, reversal_folder, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", HOLDER, str(out)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        given = [trained.path] if verb == "explain" else ["--data", reversal_folder]
        done = call_verb(verb, *given, "--out", out)
        holder.stdin.close()
    assert done.status == 2
    assert done.err.startswith(f"error: {out}: ") and done.err.count("\n") == 1
    assert not out.exists() or not list(out.iterdir())
