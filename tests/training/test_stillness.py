"""Training says whether attention moves, and warns where it does not."""

import csv
import dataclasses

import numpy as np
import pytest

from keras_attention.config import Config
from keras_attention.training.trainer import train
from tests.support.tasks import reversal_splits

TINY = Config(
    data="words",
    units=4,
    embedding_size=3,
    epochs=1,
    batch_size=64,
    longest_output=6,
    encoder="gru",
    bidirectional=False,
    attention="general",
)


def frozen(model):
    layer = model.get_layer("attention")
    layer.kernel.assign(np.zeros(layer.kernel.shape, np.float32))
    layer.trainable = False


@pytest.fixture(scope="module")
def splits():
    parts = reversal_splits()
    return parts._replace(train=parts.train[:64], valid=parts.valid[:40], test=parts.test[:4])


def history_of(folder):
    with open(folder / "history.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def biased(model):
    """Answers of several tokens, whatever is learnt in one epoch."""
    frozen(model)
    layer = model.get_layer("affine")
    bias = layer.bias.numpy()
    bias[4:] = 5.0
    layer.bias.assign(bias)
    layer.trainable = False


def test_attention_that_stands_still_is_warned_of(splits, tmp_path):
    lines = []
    config = dataclasses.replace(TINY, out=str(tmp_path))
    train(config, splits, log=lines.append, adjust=biased)
    (warning,) = [line for line in lines if line.startswith("warning:")]
    assert "in 100% of the validation examples attention looks at one position" in warning
    (row,) = history_of(tmp_path)
    assert float(row["one_position"]) == 1
    # Uniform over sources of one to five letters.
    lengths = [len(pair.source) for pair in splits.valid]
    assert float(row["mean_largest_weight"]) == pytest.approx(np.mean(1 / np.array(lengths)))
    assert any(line.startswith("calibration: ") for line in lines)


def test_a_model_without_attention_has_nothing_to_say_of_it(splits, tmp_path):
    lines = []
    config = dataclasses.replace(TINY, out=str(tmp_path), attention="none")
    train(config, splits, log=lines.append)
    (row,) = history_of(tmp_path)
    assert row["one_position"] == row["mean_largest_weight"] == ""
    assert not any(line.startswith("warning:") for line in lines)
