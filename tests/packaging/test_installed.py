"""The package as pip installs it, away from the clone: each verb works, or says what is missing."""

import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.request
import zipfile

import pytest

from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.tasks import reversal_splits, write_splits
from tests.support.texts import random_texts

pytestmark = [pytest.mark.slow, pytest.mark.long]

TINY = (
    *("--units", "8", "--embedding-size", "4", "--epochs", "1", "--encoder", "gru"),
    *("--no-bidirectional", "--batch-size", "64"),
)


def run(*command, cwd=None, check=True) -> subprocess.CompletedProcess:
    # Nothing of the clone, nor of the tests' own environment, may help.
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "TF_CPP_MIN_LOG_LEVEL", "KERAS_BACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> pathlib.Path:
    """A folder with the sdist, and the wheel that was made from it."""
    copy = tmp_path_factory.mktemp("copy") / "project"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "train.py", "export.py"):
        shutil.copy(ROOT / name, copy / name)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "keras_attention", copy / "keras_attention", ignore=ignored)
    out = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy)
    return out


def files_of_package() -> set[str]:
    """All that lies in the package's folder and belongs to it."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "keras_attention").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_and_the_sdist_hold_the_whole_package(built):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if name.startswith("keras_attention/")}
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert in_wheel == files_of_package()
    assert tops == {"keras_attention", wheel.name.rpartition("-py3")[0] + ".dist-info"}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    assert files_of_package() <= in_sdist


class Environment:
    """A fresh virtual environment, and a folder to work in that is no clone."""

    def __init__(self, folder: pathlib.Path):
        self.place = folder / "place"
        self.place.mkdir(parents=True)
        run(sys.executable, "-m", "venv", folder / "environment")
        self.bin = folder / "environment" / "bin"

    def install(self, *arguments) -> None:
        run(self.bin / "pip", "install", "--quiet", "--no-compile", *arguments)

    def __call__(self, *arguments, check=True) -> subprocess.CompletedProcess:
        return run(self.bin / "keras-attention", *arguments, cwd=self.place, check=check)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> pathlib.Path:
    return write_splits(tmp_path_factory.mktemp("data") / "reversal", reversal_splits())


@pytest.fixture(scope="module")
def base(tmp_path_factory, built) -> Environment:
    """NumPy alone."""
    environment = Environment(tmp_path_factory.mktemp("base"))
    environment.install(next(built.glob("*.whl")), "-c", ROOT / "requirements.txt")
    return environment


@pytest.fixture(scope="module")
def reader(tmp_path_factory, built) -> Environment:
    """What reading runs and exports needs."""
    environment = Environment(tmp_path_factory.mktemp("reader"))
    wheel = next(built.glob("*.whl"))
    environment.install(f"{wheel}[translate]", "-c", ROOT / "requirements.txt")
    return environment


@pytest.fixture(scope="module")
def whole(tmp_path_factory, built) -> Environment:
    """What training, export and serving need, in the pinned versions."""
    environment = Environment(tmp_path_factory.mktemp("whole"))
    pinned = ("requirements.txt", "requirements-serve.txt")
    environment.install(*(part for name in pinned for part in ("-r", ROOT / name)))
    # The pinned build of TensorFlow has another name than the one that the extra asks for.
    environment.install("--no-deps", next(built.glob("*.whl")))
    return environment


def test_the_base_checks_data_and_names_the_extra_for_the_rest(base, data, tmp_path):
    assert "pairs" in base("check", data).stdout
    for verb, extra in (("train", "application"), ("plot", "application"), ("serve", "serve")):
        assert base(verb, "--help").stdout.startswith(f"usage: keras-attention {verb}"), extra
    done = base("train", "--data", data, "--out", tmp_path / "run", check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert 'pip install "keras-attention-seq2seq[application]"' in done.stderr
    assert "requirements" not in done.stderr, "a person without the clone cannot follow it"
    done = run(
        *(base.bin / "python", "-c", "import keras_attention; keras_attention.Attention"),
        cwd=base.place,
        check=False,
    )
    assert "keras_attention.Attention: needs packages that are missing" in done.stderr


def test_runs_and_exports_are_read_without_tensorflow_and_keras(reader):
    installed = run(reader.bin / "pip", "list", "--format", "freeze").stdout.lower()
    assert "tensorflow" not in installed and "keras==" not in installed
    trained, export = random_export()
    texts = random_texts(trained.source, 6)
    pairs = reader.place / "pairs.tsv"
    pairs.write_text("".join(f"{text}\tx\n" for text in texts if text), encoding="utf-8")
    answers = []
    for name, model in (("run", trained.config.out), ("export", export)):
        answers.append(reader("translate", model, "--scores", "--", *texts).stdout)
        assert len(answers[-1].splitlines()) == len(texts)
        figures = json.loads(reader("evaluate", model, pairs, "--json").stdout)
        assert figures["n"] == sum(map(bool, texts))
        reader("plot", model, texts[0], "--out", f"{name}.png")
        assert (reader.place / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        reader("view", model, pairs, "--out", f"{name}.html")
        assert "<script>" in (reader.place / f"{name}.html").read_text(encoding="utf-8")
    assert answers[0] == answers[1]
    done = reader("translate", export, "ab", "--engine", "tensorflow", check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "application]" in done.stderr


def test_every_verb_works_where_everything_is_installed(whole, data):
    where = run(
        *(whole.bin / "python", "-c", "import keras_attention as k; print(k.__file__)"),
        cwd=whole.place,
    )
    assert str(whole.bin.parent) in where.stdout
    assert "pairs" in whole("check", data).stdout
    done = whole("train", check=False)
    assert done.returncode == 2 and done.stderr.startswith("error: --data: data/dates is not in")
    done = whole("train", "--data", data, "--out", "run", *TINY)
    assert done.stdout.splitlines()[-1].startswith("exact match on test: ")
    figures = json.loads(whole("evaluate", "run", data / "test.tsv", "--json").stdout)
    assert figures["n"] == 100
    assert len(whole("translate", "run", "ab", "cd").stdout.splitlines()) == 2
    whole("plot", "run", "ab", "--out", "map.png")
    assert (whole.place / "map.png").read_bytes().startswith(b"\x89PNG")
    whole("view", "run", "--text", "ab", "--out", "view.html")
    assert "<script>" in (whole.place / "view.html").read_text(encoding="utf-8")
    whole("export", "run", "--out", "export", "--longest-source", "8")
    assert (whole.place / "export" / "manifest.json").is_file()
    same = [whole("translate", model, "ab").stdout for model in ("run", "export")]
    assert same[0] == same[1]
    assert_serves(whole)


def assert_serves(whole: Environment) -> None:
    server = subprocess.Popen(
        [whole.bin / "keras-attention", "serve", "export", "--port", "0"],
        cwd=whole.place,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        greeting = server.stdout.readline()
        url = greeting.split()[-1]
        ask = functools.partial(urllib.request.urlopen, timeout=60)
        body = json.dumps({"instances": ["ab"]}).encode()
        with ask(urllib.request.Request(f"{url}v1/models/run:predict", data=body)) as answer:
            assert len(json.load(answer)["predictions"]) == 1
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
        server.stdout.close()
