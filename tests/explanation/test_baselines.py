"""Baselines: trained by the run's own recipe, each different from the run in one thing."""

import dataclasses

import numpy as np
import pytest

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.explanation.measures import baselines
from keras_attention.explanation.measures.baselines import (
    baseline_configs,
    train_baselines,
    train_once,
)
from keras_attention.pairs.pair import Pair
from keras_attention.readers.run import Run, load_run
from keras_attention.text.vocabulary import Vocabulary
from tests.support.commands import call_train, call_verb
from tests.support.tasks import SMALL, reversal_splits

TINY = Config(
    data="words",
    units=4,
    embedding_size=3,
    epochs=3,
    batch_size=64,
    longest_output=6,
    seed=3,
    bidirectional=False,
    encoder="gru",
)


def small_splits():
    splits = reversal_splits()
    return splits._replace(train=splits.train[:64], valid=splits.valid[:8], test=splits.test[:8])


@pytest.mark.parametrize("attentional_layer", [False, True])
def test_each_baseline_differs_from_the_run_in_one_thing(attentional_layer):
    config = dataclasses.replace(TINY, attention="dot", attentional_layer=attentional_layer)
    configs = baseline_configs(config)
    assert list(configs) == ["uniform_trained", "no_attention", "seed_4", "seed_5"]
    changed = {
        name: {
            field.name
            for field in dataclasses.fields(Config)
            if getattr(config, field.name) != getattr(other, field.name)
        }
        - {"attentional_layer"}
        for name, other in configs.items()
    }
    assert changed == {
        "uniform_trained": {"attention"},
        "no_attention": {"attention"},
        "seed_4": {"seed"},
        "seed_5": {"seed"},
    }
    assert configs["seed_4"].attentional_layer == attentional_layer
    assert not configs["no_attention"].attentional_layer


def test_a_baseline_of_the_same_options_is_the_run_itself(tmp_path):
    """The best epoch, patience, the number of steps: by the very code that trained the run."""
    from keras_attention.training.trainer import train

    splits = small_splits()
    config = dataclasses.replace(TINY, out=str(tmp_path / "run"))
    train(config, splits, log=lambda line: None)
    own = load_run(tmp_path / "run")
    told = []
    other, right = train_once(TINY, splits, False, told.append)
    for first, second in zip(own.model.get_weights(), other.model.get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert right.shape == (8,) and right.dtype == bool
    assert told == [0, 33, 66, 100]


def test_uniform_attention_stays_uniform_through_training():
    config = dataclasses.replace(TINY, attention="general", epochs=2)
    run, _ = train_once(config, small_splits(), True, lambda percent: None)
    layer = run.model.get_layer("attention")
    np.testing.assert_array_equal(layer.kernel.numpy(), 0.0)


def test_other_data_than_the_runs_are_refused_before_the_first_training(monkeypatch):
    monkeypatch.setattr(baselines, "train", None)  # is not reached
    letters = Vocabulary("char", tuple("abcde"))
    splits = small_splits()
    run = Run(TINY, letters, letters, None)
    with pytest.raises(UserError, match="--train-baselines: words holds other tokens"):
        train_baselines(
            run,
            splits._replace(train=[*splits.train, Pair("xyz", "zyx")]),
            None,
            None,
            lambda done, total: None,
        )


@pytest.mark.slow
def test_baselines_of_a_run_with_an_attentional_layer(reversal_folder, tmp_path):
    run = tmp_path / "run"
    arguments = ("--data", reversal_folder, "--out", run, *SMALL, "--epochs", "1")
    assert call_train(*arguments, "--attentional-layer").status == 0
    result = call_verb(
        *("explain", run, "--out", tmp_path / "out", "--examples", "4", "--train-baselines"),
        *("--only", "alignment"),
    )
    assert result.status == 0, result.err
    assert (tmp_path / "out" / "report.json").is_file()
    assert result.out.splitlines()[-1].endswith("report.html")
    assert "Epoch" not in result.out
