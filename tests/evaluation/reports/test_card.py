"""The model card: metadata that hubs read, what it says, and whose it is."""

import dataclasses
import json

import pytest

from keras_attention.config import Config
from keras_attention.evaluation.evaluation import evaluate
from keras_attention.evaluation.reports.card import Card, card_facts
from keras_attention.folders.card_file import CARD, MARK, remove_card, write_card
from keras_attention.pairs.pair import Pair
from tests.support.parrot import Parrot

PAIRS = [Pair(f"s{i:02}", "t") for i in range(25)]


@pytest.fixture(scope="module")
def card():
    answers = {pair.source: "t" for pair in PAIRS} | {"s00": "wrong"}
    test = evaluate(Parrot(answers).translator(), PAIRS)
    metrics = {"test": test.summary(), "valid": test.summary(), "test_details": card_facts(test)}
    metrics |= {"epochs": 3, "parameters": 12345}
    config = Config(data="data/dates", data_license="cc-by-sa-3.0", longest_output=13)
    return Card("dates", config, metrics, (40, 11))


def metadata(text: str) -> dict:
    """The block as YAML reads it, of which only what JSON has as well is used here."""
    yaml = pytest.importorskip("yaml")
    first, block, _ = text.split("---\n", 2)
    assert first == ""
    return yaml.safe_load(block)


def test_hubs_find_licence_and_figures(card):
    found = metadata(card.to_markdown())
    assert (found["license"], found["library_name"]) == ("cc-by-sa-3.0", "keras")
    (result,) = found["model-index"][0]["results"]
    assert result["dataset"] == {"name": "dates", "type": "dates", "split": "test"}
    assert result["metrics"][0] == {"type": "exact_match", "value": 0.96}


def test_odd_names_stay_yaml(card):
    name = 'a: "b"\n- {c}'
    odd = dataclasses.replace(card, name=name)
    assert metadata(odd.to_markdown())["model-index"][0]["name"] == name


def test_it_says_how_good_and_how_sure_the_model_is(card):
    text = card.to_markdown()
    assert "| test | 25 | 0.9600 |" in text
    assert "| 3 to 3 | 25 | 0.9600 |" in text  # by length
    assert "12,345 parameters" in text and "Expected calibration error on test: 0.0600" in text
    assert "from keras_attention import Attention" in text


def test_without_a_licence_it_says_so(card):
    config = dataclasses.replace(card.config, data_license=None)
    text = dataclasses.replace(card, config=config).to_markdown()
    assert "Nobody has named their licence" in text and "license" not in metadata(text)


def test_an_old_run_has_a_shorter_card(card):
    metrics = {name: value for name, value in card.metrics.items() if name != "test_details"}
    text = dataclasses.replace(card, metrics=metrics).to_markdown()
    assert "How sure" not in text and "How good" in text


def test_a_card_that_somebody_took_over_stays(tmp_path):
    assert write_card(tmp_path, f"first\n{MARK}\n")
    assert write_card(tmp_path, f"second\n{MARK}\n")
    (tmp_path / CARD).write_text("mine")
    assert not write_card(tmp_path, f"third\n{MARK}\n")
    remove_card(tmp_path)
    assert (tmp_path / CARD).read_text() == "mine"


def test_a_run_has_its_card(trained):
    text = (trained.path / CARD).read_text()
    metrics = json.loads((trained.path / "metrics.json").read_text())
    assert f"{metrics['test']['exact_match']:.4f}" in text and MARK in text
    assert metadata(text)["model-index"][0]["name"] == "reversal"
