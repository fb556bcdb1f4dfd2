"""Which of a run's data `explain` reads."""

import argparse

import pytest

from keras_attention.commands.explain import _pairs
from keras_attention.config import Config
from keras_attention.errors import UserError


@pytest.fixture
def config(tmp_path) -> Config:
    """Data whose training part cannot be read."""
    for name in ("valid", "test"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tx\n", encoding="utf-8")
    (tmp_path / "train.tsv").write_bytes(b"\xff")
    return Config(data=str(tmp_path))


def options(**changed) -> argparse.Namespace:
    return argparse.Namespace(**{"data": None, "train_baselines": False, **changed})


def test_the_test_part_alone(config):
    pairs, train = _pairs(options(), config)
    assert [pair.source for pair in pairs] == ["test"] and train is None


def test_the_training_part_for_baselines(config):
    with pytest.raises(UserError, match="train.tsv:1.*; or give DATA.tsv"):
        _pairs(options(train_baselines=True), config)


def test_a_file_in_place_of_the_test_part(config, tmp_path):
    (tmp_path / "test.tsv").unlink()
    pairs, _ = _pairs(options(data=str(tmp_path / "valid.tsv")), config)
    assert [pair.source for pair in pairs] == ["valid"]
