"""A folder that another process writes to is left to it, with one line."""

import contextlib
import pathlib
import subprocess
import sys

import pytest

from keras_attention.datasets import generator_command
from keras_attention.errors import UserError
from keras_attention.web.live_page import write_static_site
from tests.support import ROOT
from tests.support.commands import call_verb

HOLDER = """
import sys
from keras_attention._runtime.lock import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A folder that another process writes to."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", HOLDER, str(out)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        yield out
        holder.stdin.close()


@pytest.mark.parametrize("verb", ["explain", "compare", "export"])
def test_the_second_writer_is_told(verb, held, trained, reversal_folder):
    given = ["--data", reversal_folder] if verb == "compare" else [trained.path]
    done = call_verb(verb, *given, "--out", held)
    assert done.status == 2
    assert done.err.startswith(f"error: {held}: another process is writing")
    assert done.err.count("\n") == 1
    assert not list(held.iterdir())


def site(out):
    write_static_site(pathlib.Path("export"), {}, {}, pathlib.Path("litert-js"), out)


def generated_data(out):
    generator_command.run("dates", "data/dates", lambda seed: None, ["--out", str(out)])


@pytest.mark.parametrize("write", [site, generated_data])
def test_so_is_a_second_site_or_data_set(write, held):
    with pytest.raises(UserError, match="another process is writing"):
        write(held)
    assert not list(held.iterdir())


@pytest.mark.parametrize("write", [site, generated_data])
def test_what_fails_leaves_no_folder_behind(write, tmp_path):
    out = tmp_path / "out"
    with contextlib.suppress(UserError, OSError, AttributeError, KeyError):
        write(out)
    assert not list(tmp_path.iterdir())
