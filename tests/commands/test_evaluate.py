"""`evaluate`: translators' figures, alone and against another model."""

import json
import re

import pytest

from tests.support.commands import call_train, call_verb
from tests.support.tasks import EAGER_LEARNER, SMALL


@pytest.fixture(scope="module")
def worse(tmp_path_factory, reversal_folder):
    """The same task, hardly learnt."""
    out = tmp_path_factory.mktemp("runs") / "worse"
    flags = (*SMALL, "--epochs", "2", *EAGER_LEARNER)
    done = call_train("--data", reversal_folder, "--out", out, *flags)
    assert done.status == 0, done.err
    return out


@pytest.mark.slow
def test_figures_have_intervals_and_signatures(trained, reversal_folder):
    data = reversal_folder / "test.tsv"
    figures = json.loads(call_verb("evaluate", trained.path, data, "--json").out)
    for name in ("bleu", "chrf"):
        assert figures[name]["low"] <= figures[name]["score"] <= figures[name]["high"] <= 101
        assert "version:" in figures[name]["signature"] and "p_value" not in figures[name]
    for name, interval in figures["intervals"].items():
        assert interval["value"] == pytest.approx(figures[name])
        assert interval["low"] <= interval["value"] <= interval["high"]
    assert figures["against"] == {}
    text = call_verb("evaluate", trained.path, data).out
    assert f"\nchrF: {figures['chrf']['score']:.1f} [" in text
    assert figures["bleu"]["signature"] in text


@pytest.mark.slow
def test_a_better_model_is_told_from_a_worse_one(trained, worse, reversal_folder):
    data = reversal_folder / "test.tsv"
    both = (trained.path, data, "--against", worse)
    figures = json.loads(call_verb("evaluate", *both, "--json").out)
    assert figures["chrf"]["score"] > figures["chrf"]["other"]
    assert figures["chrf"]["p_value"] < 0.05
    assert figures["against"]["exact_match"]["low"] > 0
    assert figures["against"]["token_error_rate"]["high"] < 0
    other = json.loads(call_verb("evaluate", worse, data, "--json").out)
    assert figures["exact_match"] - other["exact_match"] == pytest.approx(
        figures["against"]["exact_match"]["value"]
    )
    assert "minus the other model's: +" in call_verb("evaluate", *both).out


@pytest.mark.slow
def test_a_model_against_itself_differs_in_nothing(trained, reversal_folder):
    both = (trained.path, reversal_folder / "test.tsv", "--against", trained.path)
    figures = json.loads(call_verb("evaluate", *both, "--json").out)
    assert figures["against"]["exact_match"]["value"] == 0
    assert figures["bleu"]["other"] == figures["bleu"]["score"]


def test_another_model_that_is_none_is_refused(trained, reversal_folder, tmp_path):
    done = call_verb(
        "evaluate", trained.path, reversal_folder / "test.tsv", "--against", tmp_path / "nothing"
    )
    assert done.status == 2 and str(tmp_path / "nothing") in done.err


def test_a_long_evaluation_tells_what_is_left(trained, reversal_folder, monkeypatch):
    """Of both models together, on standard error."""
    monkeypatch.setattr("keras_attention._runtime.progress.EVERY", 0.0)
    data = reversal_folder / "test.tsv"
    done = call_verb("evaluate", trained.path, data, "--against", trained.path, "--json")
    lines = done.err.splitlines()
    assert re.fullmatch(r"sentence \d+ of 200, about \d+ s left", lines[0])
    assert lines[-1].startswith("sentence 200 of 200, ")
    assert json.loads(done.out)["n"] == 100
