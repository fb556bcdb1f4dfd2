"""Advice after a training that did not end well."""

import math

import pytest

from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.readers.translation import Translation
from keras_attention.training.advice import advise
from tests.support.commands import call_train
from tests.support.tasks import reversal_splits, write_splits

GUESSING = math.log(10)


def evaluation(outputs: list[str], exact_match: float) -> Evaluation:
    translations = tuple(Translation(text, 0.0, 1.0, ("a",), tuple(text), None) for text in outputs)
    n = len(outputs)
    return Evaluation(n, exact_match, 0.0, (), 0.0, None, (), (False,) * n, translations)


def row(epoch: int, exact_match: float, loss: float = 0.5, valid_loss: float = 0.6) -> dict:
    return {
        "epoch": epoch,
        "loss": loss,
        "valid_loss": valid_loss,
        "valid_exact_match": exact_match,
    }


VARIED = evaluation(["a", "b"], 0.5)


def test_a_good_model_needs_none():
    assert advise([row(1, 0.2), row(2, 0.995)], evaluation(["a", "b"], 0.995), GUESSING) is None


def test_one_answer_for_all():
    line = advise([row(1, 0.0)], evaluation(["abc"] * 3, 0.0), GUESSING)
    assert line.startswith("all 3 validation sources are answered with 'abc'")
    assert "--learning-rate" in line and "--epochs" in line


def test_one_validation_pair_has_one_answer():
    assert "answered" not in (advise([row(1, 0.0)], evaluation(["abc"], 0.0), GUESSING) or "")


@pytest.mark.parametrize(("share", "said"), [(0.81, True), (0.79, False)])
def test_a_loss_like_that_of_guessing(share, said):
    line = advise([row(1, 0.0, valid_loss=share * GUESSING)], VARIED, GUESSING) or ""
    assert ("near that of guessing, 2.30" in line) == said


def test_a_result_that_was_still_rising():
    line = advise([row(1, 0.2), row(2, 0.5)], VARIED, GUESSING)
    assert "still rising, 0.5000 after 0.2000" in line and "more --epochs than 2" in line
    assert advise([row(1, 0.495), row(2, 0.5)], VARIED, GUESSING) is None


def test_a_model_that_recites():
    history = [row(1, 0.5), row(2, 0.5, loss=0.01, valid_loss=0.11)]
    line = advise(history, VARIED, GUESSING)
    assert "recites" in line and "0.010 there and 0.110" in line
    history = [row(1, 0.5), row(2, 0.5, loss=0.01, valid_loss=0.09)]
    assert advise(history, VARIED, GUESSING) is None


def test_training_says_it_before_its_last_line(tmp_path):
    data = write_splits(tmp_path / "data", reversal_splits())
    options = ("--units", "8", "--embedding-size", "4", "--epochs", "1", "--encoder", "gru")
    done = call_train("--data", data, "--out", tmp_path / "run", *options)
    lines = done.out.splitlines()
    assert done.status == 0, done.err
    assert lines[-1].startswith("exact match on test: ")
    assert [line for line in lines[:-1] if line.startswith("advice: ")]
