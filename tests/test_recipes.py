"""The committed recipes, and the arithmetic of the benchmarks that use them."""

import datetime
import random
from types import SimpleNamespace

import pytest

from benchmarks import date_parsers, g2p
from keras_attention.config import Config, merge, read_config_file
from keras_attention.datasets.dates import form_of
from keras_attention.pairs.pair_files import read_pairs
from tests.support import ROOT


def test_the_recipe_for_dates_is_the_defaults():
    assert Config(**read_config_file(ROOT / "configs/dates.json")) == Config(epochs=2)
    # It must not stand in the way of the other clipping rule.
    assert merge(read_config_file(ROOT / "configs/dates.json"), {"global_clipnorm": 5.0})


def test_the_recipe_for_pronunciation_is_one_for_all_languages():
    options = SimpleNamespace(config=ROOT / "configs/g2p.json", out="runs/g2p")
    korean, french = (g2p.config_of(options, language, seed=2) for language in ("kor", "fre"))
    assert korean.target_tokens == "word" and korean.source_form == "NFD" and korean.seed == 2
    assert korean.data.endswith("kor") and french.out.endswith("fre/2")


def test_the_published_macro_is_the_one_that_the_task_reports():
    assert len(g2p.PUBLISHED) == 15
    assert sum(g2p.PUBLISHED.values()) / 15 == pytest.approx(16.84, abs=0.005)


def test_the_table_of_pronunciation_by_hand():
    def scored(wer, per):
        return {"wer": wer, "per": per, "confidences": [1.0, 0.0], "right": [1, 0]}

    results = {
        "hun": {
            "single": [scored(4.0, 1.0), scored(6.0, 2.0)],
            "ensemble": scored(3.0, 0.5),
            "cpu_seconds": [60.0, 60.0],
        },
        "kor": {
            "single": [scored(30.0, 8.0), scored(20.0, 6.0)],
            "ensemble": scored(19.0, 5.5),
            "cpu_seconds": [30.0, 30.0],
        },
    }
    table = g2p.table_of(results, SimpleNamespace(seeds=[1, 2]))
    lines = table.splitlines()
    assert lines[2] == "| hun | 5.33 | 5.00 | 4.00 – 6.00 | 1.50 | 3.00 | 0.50 | 0.94 |"
    assert lines[4] == "| macro | 26.11 | 15.00 |  | 4.25 | 11.00 | 3.00 | 0.74 |"
    assert "0.000 for single models, 0.000 for ensembles" in table and "3 CPU minutes" in table


def test_typed_dates_are_of_forms_that_training_never_shows():
    test = read_pairs(ROOT / "data/dates/test.tsv")[:300]
    typed, templates = date_parsers.typed_pairs(test)
    assert [pair.target for pair in typed] == [pair.target for pair in test]
    assert not any(form_of(pair.source) for pair in typed)
    assert set(templates) == set(date_parsers.TYPED)
    date = datetime.date(1994, 9, 3)
    assert date_parsers.written(
        date, "{week}, {abbr} {day}{suffix} '{short}", random.Random(0)
    ) == ("Sat, Sep 3rd '94")


def test_a_parser_that_refuses_gives_an_empty_answer():
    pytest.importorskip("dateutil")
    read_all = date_parsers.one_by_one(date_parsers.dateutil_reader())
    assert read_all(["May 1, 2001", "no date", "12/31/75"]) == ["2001-05-01", "", "1975-12-31"]
