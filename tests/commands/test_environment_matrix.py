"""Every verb in every odd environment: the same answer, or one line that says what is wrong.

True processes, started by a shell from a folder that is no clone. Those that need TensorFlow take
their time and belong to `make test-all`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.tasks import reversal_splits, write_splits

TINY = (
    *("--units", "4", "--embedding-size", "2", "--epochs", "1", "--encoder", "gru"),
    *("--no-bidirectional", "--batch-size", "64"),
)
# What each verb is given; RUN and DATA are replaced by paths, OUT by a folder to write into.
ARGUMENTS = {
    "check": ("DATA/test.tsv",),
    "translate": ("RUN", "ab", "cde"),
    "evaluate": ("RUN", "DATA/test.tsv"),
    "plot": ("RUN", "ab", "--out", "OUT/a.svg"),
    "view": ("RUN", "--text", "ab", "--out", "OUT/a.html"),
    "train": ("--data", "DATA", "--out", "OUT/run", *TINY),
    "export": ("RUN", "--out", "OUT/export", "--longest-source", "8"),
    "explain": (
        *("RUN", "DATA/test.tsv", "--examples", "2"),
        *("--only", "agreement", "--out", "OUT/audit"),
    ),
    # A comparison trains nine models, which takes minutes; its options and its entry are tried.
    "compare": ("--help",),
}
WRITERS = [verb for verb, arguments in ARGUMENTS.items() if "OUT/" in " ".join(arguments)]
QUICK = ("check", "translate", "compare")


def each(verbs):
    """Verbs as parameters; those that take their time for `make test-all` only."""
    return [
        verb if verb in QUICK else pytest.param(verb, marks=[pytest.mark.slow, pytest.mark.long])
        for verb in verbs
    ]


class Place:
    """A folder to work in, and what the verbs are given there."""

    def __init__(self, folder: pathlib.Path, run: pathlib.Path, data: pathlib.Path):
        self.folder, self.run, self.data = folder, run, data

    def arguments(self, verb: str, out: str) -> list[str]:
        replaced = (("RUN", str(self.run)), ("DATA", str(self.data)), ("OUT", out))
        found = list(ARGUMENTS[verb])
        for name, path in replaced:
            found = [a.replace(name, path) if a.startswith(name) else a for a in found]
        return found

    def start(self, verb: str, arguments, redirection: str = "", **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_CPP", "KERAS_BACK"))}
        return subprocess.run(
            ["bash", "-c", f'"$@" {redirection}', "bash"]
            + [sys.executable, "-m", "keras_attention", verb, *arguments],
            cwd=self.folder,
            env=kept | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True,
            check=False,
        )

    def __call__(self, verb: str, redirection: str = "", **environment):
        """A verb with its usual arguments, writing into a folder of its own."""
        out = self.folder / f"out{len(list(self.folder.iterdir()))}"
        out.mkdir()
        done = self.start(verb, self.arguments(verb, str(out)), redirection, **environment)
        done.answer = without_times(verb, done.stdout.replace(str(out).encode(), b"OUT"))
        return done


def without_times(verb: str, output: bytes) -> bytes:
    """What a verb prints but for durations, which stand alone or are a column of export's table."""
    if verb == "export":
        return output.partition(b"\n")[0]  # nothing where it could not be written
    return re.sub(rb"[0-9.]+(s|ms|us)\b", b"TIME", output)


@pytest.fixture(scope="module")
def place(tmp_path_factory, trained) -> Place:
    folder = tmp_path_factory.mktemp("place")
    splits = reversal_splits()
    few = type(splits)(splits.train[:200], splits.valid[:20], splits.test[:20])
    return Place(folder, trained.path, write_splits(folder / "data", few))


@pytest.fixture(scope="module")
def usual(place):
    """What a verb answers where nothing is odd."""
    known = {}

    def answer(verb: str) -> bytes:
        if verb not in known:
            done = place(verb)
            assert done.returncode == 0, done.stderr
            known[verb] = done.answer
        return known[verb]

    return answer


def assert_one_line(done, message: bytes = b""):
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(b"error: " + message), done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_a_full_output(place, verb):
    message = b"standard output: cannot be written: No space left on device\n"
    done = place(verb, ">/dev/full")
    assert done.returncode == 2 and done.stderr.endswith(b"error: " + message), done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("verb", [*ARGUMENTS, "serve"])
def test_help_into_a_full_output(place, verb):
    done = place.start(verb, ["--help"], ">/dev/full")
    assert_one_line(done, b"standard output: cannot be written: No space left on device\n")


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_a_closed_output(place, verb):
    done = place(verb, ">&-")
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_a_closed_input(place, usual, verb):
    done = place(verb, "<&-")
    assert (done.returncode, done.answer) == (0, usual(verb)), done.stderr


def test_a_closed_input_has_no_lines(place):
    done = place.start("translate", [str(place.run)], "<&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_an_unknown_backend_of_matplotlib(place, usual, verb):
    for backend in ("no_such_backend", "module://matplotlib_inline.backend_inline"):
        done = place(verb, MPLBACKEND=backend)
        assert (done.returncode, done.answer) == (0, usual(verb)), done.stderr


@pytest.mark.parametrize("verb", each(ARGUMENTS))
@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_a_foreign_keras_json(place, usual, verb, floatx):
    home = place.folder / f"home-{floatx}"
    (home / ".keras").mkdir(parents=True, exist_ok=True)
    settings = {"floatx": floatx, "backend": "jax", "epsilon": 0.1, "nnx_enabled": True}
    settings["image_data_format"] = "channels_first"
    (home / ".keras" / "keras.json").write_text(json.dumps(settings), encoding="utf-8")
    done = place(verb, HOME=str(home), KERAS_BACKEND="torch")
    assert (done.returncode, done.answer) == (0, usual(verb)), done.stderr


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_a_home_that_cannot_be_written(place, usual, verb):
    """The superuser may write everywhere: a file in the place of the folder stands for it."""
    (place.folder / "no-home").touch()
    done = place(verb, HOME=str(place.folder / "no-home"), XDG_CACHE_HOME="", XDG_CONFIG_HOME="")
    assert (done.returncode, done.answer) == (0, usual(verb)), done.stderr


@pytest.mark.parametrize("verb", each(WRITERS))
def test_a_folder_that_cannot_be_written(place, verb):
    (place.folder / "a-file").touch()
    done = place.start(verb, place.arguments(verb, str(place.folder / "a-file")))
    assert done.returncode == 2 and b"Traceback" not in done.stderr, done.stderr
    assert b"a-file" in done.stderr.splitlines()[-1] and b"error: " in done.stderr


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_paths_and_texts_that_are_no_utf8(place, usual, verb):
    odd = place.folder / os.fsdecode(b"p\xff")
    odd.mkdir(exist_ok=True)
    strange = Place(odd, odd / "run", odd / "data")
    for link, target in ((strange.run, place.run), (strange.data, place.data)):
        if not link.is_symlink():
            link.symlink_to(target)
    arguments = [os.fsencode(a) for a in strange.arguments(verb, str(odd / "out"))]
    arguments = [b"a\xffb" if a == b"ab" else a for a in arguments]
    done = place.start(verb, arguments)
    if verb == "export":  # TensorFlow's file system takes UTF-8 only
        assert_one_line(done, b"--out: ")
        return
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("verb", each(ARGUMENTS))
def test_paths_and_texts_that_begin_with_a_dash(place, usual, verb):
    """Refused with a line that names the way, and taken in that way."""
    for name, target in (("-run", place.run), ("-data", place.data)):
        if not (place.folder / name).is_symlink():
            (place.folder / name).symlink_to(target)
    dashed = Place(place.folder, pathlib.Path("-run"), pathlib.Path("-data"))
    arguments = dashed.arguments(verb, "dashed")
    if verb == "train":
        assert_one_line(place.start(verb, arguments), b"--data: expected one argument; ")
        arguments = ["--data=-data", *arguments[2:]]
    elif verb != "compare":
        refused = place.start(verb, arguments)
        assert_one_line(refused)
        assert b"put -- before it" in refused.stderr
        last = next((i for i, a in enumerate(arguments) if a.startswith("--")), len(arguments))
        arguments = [*arguments[last:], "--", *arguments[:last]]
    done = place.start(verb, arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("redirection", ["", ">/dev/full", ">&-", "<&-"])
@pytest.mark.parametrize("settings", [{}, {"MPLBACKEND": "no", "KERAS_BACKEND": "jax"}])
@pytest.mark.slow
@pytest.mark.long
def test_serve(place, redirection, settings):
    """It answers whatever its streams are, and cannot say where it listens on a full output."""
    import http.client
    import socket
    import time

    _, export = random_export()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "keras_attention", "serve", str(export), "--port", str(port)]
    server = subprocess.Popen(
        ["bash", "-c", f'exec "$@" {redirection}', "bash", *command],
        cwd=place.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        if redirection == ">/dev/full":
            _, messages = server.communicate(timeout=240)
            assert server.returncode == 2, messages
            assert messages.endswith(
                b"error: standard output: cannot be written: No space left on device\n"
            )
            return
        for _ in range(2400):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                connection.request("GET", f"/v1/models/{json_name(export)}")
                assert connection.getresponse().status == 200
                break
            except OSError:
                assert server.poll() is None, server.stderr.read()
                time.sleep(0.1)
            finally:
                connection.close()
        server.terminate()
        _, messages = server.communicate(timeout=240)
        assert server.returncode == 0 and b"Traceback" not in messages
    finally:
        if server.poll() is None:
            server.kill()
            server.communicate()


def json_name(export: pathlib.Path) -> str:
    return json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
