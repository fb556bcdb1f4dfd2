"""Training that starts from another run's weights."""

import json
import shutil

import keras
import numpy as np
import pytest

from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.text.vocabulary import load_vocabularies
from tests.support.commands import call_train, call_verb
from tests.support.tasks import reversal_splits, write_splits

SHORT = ("--epochs", "1", "--batch-size", "32")


@pytest.fixture(scope="module")
def wider(tmp_path_factory):
    """The same task with two letters more; few pairs."""
    letters = str.maketrans("ab", "fg")
    few = [part[:60] for part in reversal_splits(seed=1)]
    parts = [
        [*part, *(Pair(p.source.translate(letters), p.target.translate(letters)) for p in part)]
        for part in few
    ]
    return write_splits(tmp_path_factory.mktemp("data") / "wider", Splits(*parts))


@pytest.fixture(scope="module")
def warm(tmp_path_factory, trained, wider):
    out = tmp_path_factory.mktemp("runs") / "warm"
    options = ("--init-from", trained.path, "--data", wider, "--out", out, *SHORT)
    finished = call_train(*options, "--freeze", "encoder,decoder")
    assert finished.status == 0, finished.err
    return out


def weights(run, layer):
    return keras.saving.load_model(run / "model.keras").get_layer(layer).get_weights()


def test_the_options_of_the_model_are_those_of_the_run(trained, warm):
    before, now = (json.loads((run / "config.json").read_text()) for run in (trained.path, warm))
    assert now["units"] == before["units"] == 32
    assert now["init_from"] == str(trained.path)


def test_tokens_stay_and_new_ones_are_added(trained, warm):
    assert [side.tokens for side in load_vocabularies(trained.path / "vocabulary.json")] == [
        tuple("abcde")
    ] * 2
    assert [side.tokens for side in load_vocabularies(warm / "vocabulary.json")] == [
        tuple("abcdefg")
    ] * 2


def test_frozen_parts_keep_their_weights_and_the_others_learn(trained, warm):
    for name in ("encoder_1", "decoder_1"):
        for a, b in zip(weights(trained.path, name), weights(warm, name), strict=True):
            np.testing.assert_array_equal(a, b)
    before, now = (weights(run, "affine")[0] for run in (trained.path, warm))
    assert np.abs(before - now[:, : before.shape[1]]).max() > 1e-3


def test_what_is_saved_can_be_trained_as_a_whole(warm):
    assert all(layer.trainable for layer in keras.saving.load_model(warm / "model.keras").layers)


def test_an_epoch_of_nothing_changes_nothing(trained, reversal_folder, tmp_path):
    """At a learning rate of next to nothing a warm start is the run it started from."""
    out = tmp_path / "same"
    options = ("--init-from", trained.path, "--data", reversal_folder, "--out", out, *SHORT)
    finished = call_train(*options, "--learning-rate", "1e-30")
    assert finished.status == 0, finished.err
    models = [keras.saving.load_model(run / "model.keras") for run in (trained.path, out)]
    for a, b in zip(*(model.get_weights() for model in models), strict=True):
        if a.dtype == np.float32:  # the others are states of random generators
            np.testing.assert_array_equal(a, b)
    assert finished.out.splitlines()[-1] == trained.output.splitlines()[-1]


def test_a_resumed_training_needs_the_first_run_no_more(trained, wider, tmp_path):
    first = shutil.copytree(trained.path, tmp_path / "first")
    out = tmp_path / "warm"
    options = ("--init-from", first, "--data", wider, "--out", out, "--batch-size", "32")
    assert call_train(*options, "--epochs", "1").status == 0
    shutil.rmtree(first)
    finished = call_train(*options, "--epochs", "2", "--resume")
    assert finished.status == 0, finished.err
    assert "resumed at epoch 2" in finished.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--init-from", "nowhere"), "--init-from: nowhere holds no run"),
        (("--init-from", "RUN", "--units", "64"), "--units: the run in RUN has 32"),
        (("--init-from", "RUN", "--out", "RUN", "--overwrite"), "--out would replace"),
        (("--init-from", "RUN", "--freeze", "brain"), "--freeze: must be parts of"),
        (("--freeze", "encoder"), "--freeze: needs --init-from"),
        (("--init-from", "RUN", "--freeze", "affine"), "2 new tokens from being learned"),
        (("--init-from", "RUN", "--freeze", "attention"), "--freeze: part must be one that"),
    ],
)
def test_what_cannot_be_started_from_is_told(options, message, trained, wider, tmp_path):
    out = tmp_path / "out"
    given = [str(trained.path) if option == "RUN" else option for option in options]
    if "--out" not in given:
        given += ["--out", out]
    finished = call_train("--data", wider, *SHORT, *given)
    assert finished.status == 2
    assert message.replace("RUN", str(trained.path)) in finished.err
    assert finished.err.count("\n") == 1
    assert not (out / "model.keras").exists()
    assert call_verb("translate", trained.path, "abc").status == 0
