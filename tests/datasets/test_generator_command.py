"""The command line of the generating modules."""

import random
import subprocess
import sys

import pytest

from keras_attention.datasets.generator_command import run, shuffled
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import Splits
from tests.support import ROOT
from tests.support.commands import call


def generate(seed):
    return Splits([Pair("a", str(seed))] * 2, [Pair("b", "2")], [Pair("c", "3")])


def call_run(*arguments):
    return call(lambda given: run("dates", "data/dates", generate, given), arguments)


def test_three_files_are_written(tmp_path):
    out = tmp_path / "new" / "folder"
    done = call_run("--out", out, "--seed", "7")
    assert (done.status, done.out, done.err) == (0, "train 2\nvalid 1\ntest 1\n", "")
    assert read_pairs(out / "train.tsv") == [Pair("a", "7")] * 2
    assert sorted(path.name for path in out.iterdir()) == ["test.tsv", "train.tsv", "valid.tsv"]
    assert call_run("--out", out).status == 0  # into the same folder
    assert read_pairs(out / "train.tsv") == [Pair("a", "0")] * 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "x"], "error: --seed: invalid int value: 'x'\n"),
        (["--nosuch"], "error: --nosuch: is not an option of this command; --help lists them\n"),
        (["--out", "file"], "error: file: cannot be written to: File exists; choose another "),
    ],
)
def test_mistakes_are_one_line(tmp_path, monkeypatch, arguments, says):
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    done = call_run(*arguments)
    assert done.status == 2 and done.err.startswith(says) and done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["dates", "phrases"])
def test_help_names_the_module_that_runs(name):
    done = subprocess.run(
        [sys.executable, "-m", f"keras_attention.datasets.{name}", "--help"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: python -m keras_attention.datasets.{name} ")


def test_the_order_is_the_seed_s():
    assert shuffled(range(5), random.Random(0)) == [3, 2, 4, 1, 0]
    assert sorted(shuffled(range(99), random.Random(1))) == list(range(99))
