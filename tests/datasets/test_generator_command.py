"""The command line of the generating modules."""

import random

import pytest

from keras_attention.datasets.generator_command import run, shuffled
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import Splits


def generate(seed):
    return Splits([Pair("a", str(seed))] * 2, [Pair("b", "2")], [Pair("c", "3")])


def test_three_files_are_written(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert run("dates", "data/dates", generate, ["--out", str(out), "--seed", "7"]) == 0
    assert read_pairs(out / "train.tsv") == [Pair("a", "7")] * 2
    assert sorted(path.name for path in out.iterdir()) == ["test.tsv", "train.tsv", "valid.tsv"]
    assert capsys.readouterr().out == "train 2\nvalid 1\ntest 1\n"
    assert run("dates", "data/dates", generate, ["--out", str(out)]) == 0  # into the same folder
    assert read_pairs(out / "train.tsv") == [Pair("a", "0")] * 2


def test_mistakes_are_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run("dates", "data/dates", generate, ["--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/file: cannot be written (File exists)\n"
    with pytest.raises(SystemExit) as error:
        run("dates", "data/dates", generate, ["--seed", "x"])
    assert error.value.code == 2
    assert capsys.readouterr().err.startswith("error: argument --seed: invalid int value")


def test_the_order_is_the_seed_s():
    assert shuffled(range(5), random.Random(0)) == [3, 2, 4, 1, 0]
    assert sorted(shuffled(range(99), random.Random(1))) == list(range(99))
