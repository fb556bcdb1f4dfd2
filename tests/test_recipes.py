"""The committed recipes, and the arithmetic of the benchmarks that use them."""

import datetime
import json
import random
from types import SimpleNamespace

import pytest

from benchmarks import date_parsers, g2p
from benchmarks.g2p_tasks import TASKS
from keras_attention.config import Config, load_config, merge, read_config_file
from keras_attention.datasets.dates import form_of
from keras_attention.errors import UserError
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.recipe import Recipe, read_recipe
from tests.support import ROOT
from tests.support.commands import call_train


def test_the_recipe_for_dates_is_the_defaults():
    assert Config(**read_config_file(ROOT / "configs/dates.json")) == Config(epochs=2)
    # It must not stand in the way of the other clipping rule.
    assert merge(read_config_file(ROOT / "configs/dates.json"), {"global_clipnorm": 5.0})


def test_the_recipe_for_pronunciation_is_one_for_all_languages(tmp_path):
    for language in ("kor", "fre"):
        (tmp_path / "data" / language).mkdir(parents=True)
        (tmp_path / "data" / language / "train.tsv").write_text("a\tb\n" * 3600)
    options = SimpleNamespace(config=ROOT / "configs/g2p.json", out=tmp_path)
    korean, french = (g2p.config_of(options, language, seed=2) for language in ("kor", "fre"))
    assert korean.target_tokens == "word" and korean.source_form == "NFD" and korean.seed == 2
    assert korean.data.endswith("kor") and french.out.endswith("fre/2")
    assert korean.epochs == french.epochs == 45


def test_the_recipe_for_pronunciation_takes_more_passes_over_fewer_words():
    recipe = read_recipe(ROOT / "configs/g2p.json")
    sizes = (800, 3_600, 8_000, 33_000)
    epochs = [recipe.options_for(pairs)["epochs"] for pairs in sizes]
    assert epochs == sorted(epochs, reverse=True) and len(set(epochs)) == len(sizes)
    # In steps it is the other way round.
    steps = [pairs * n for pairs, n in zip(sizes, epochs, strict=True)]
    assert steps == sorted(steps)
    for pairs in sizes:
        Config(**(recipe.fields | recipe.options_for(pairs)))


def test_the_published_macro_is_the_one_that_the_task_reports():
    macros = {"2020": (15, 16.84), "2021-high": (1, 41.94)}
    macros |= {"2021-medium": (10, 10.64), "2021-low": (10, 25.10)}
    for task, (languages, macro) in macros.items():
        published = TASKS[task].published
        assert len(published) == languages
        assert sum(published.values()) / languages == pytest.approx(macro, abs=0.005)


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
    table = g2p.table_of(results, 2, {"hun": 5.33, "kor": 46.89})
    lines = table.splitlines()
    assert lines[2] == "| hun | 5.33 | 5.00 | 4.00 – 6.00 | 1.50 | 3.00 | 0.50 | 0.94 |"
    assert lines[4] == "| macro | 26.11 | 15.00 |  | 4.25 | 11.00 | 3.00 | 0.74 |"
    assert "0.000 for single models, 0.000 for ensembles" in table and "3 CPU minutes" in table


def test_a_language_published_without_an_error_has_no_ratio():
    one = {"wer": 0.5, "per": 0.1, "confidences": [1.0], "right": [1]}
    two = one | {"wer": 3.0}
    results = {
        name: {"single": [scored], "ensemble": scored, "cpu_seconds": [1.0]}
        for name, scored in (("geo", one), ("hun", two))
    }
    lines = g2p.table_of(results, 1, {"geo": 0.0, "hun": 2.0}).splitlines()
    assert lines[2].endswith("| 0.10 |  |") and lines[3].endswith("| 1.50 |")
    assert lines[4].startswith("| macro | 1.00 | 1.75 |") and lines[4].endswith("| 1.50 |")


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


def write(path, content):
    path.write_text(json.dumps(content))
    return path


def test_options_by_size_are_those_of_the_first_entry_that_is_large_enough(tmp_path):
    by_pairs = [{"up_to": 10, "epochs": 9}, {"up_to": 20, "epochs": 5, "dropout": 0.3}, {}]
    recipe = read_recipe(write(tmp_path / "r.json", {"units": 8, "by_pairs": by_pairs}))
    assert recipe.fields == {"units": 8}
    assert [recipe.options_for(n) for n in (1, 10, 11, 20, 21)] == [
        *({"epochs": 9}, {"epochs": 9}),
        *({"epochs": 5, "dropout": 0.3}, {"epochs": 5, "dropout": 0.3}, {}),
    ]
    assert read_recipe(write(tmp_path / "r.json", {"units": 8})) == Recipe({"units": 8})


@pytest.mark.parametrize(
    ("by_pairs", "message"),
    [
        ({"epochs": 3}, "expected a list such as"),
        ([3], "expected a list such as"),
        ([{"up_to": 5}], "entry 1: up_to must be"),
        ([{"epochs": 5}, {"epochs": 3}], "entry 1: up_to must be"),
        ([{"up_to": 5}, {"up_to": 5}, {}], "entry 2: up_to must be"),
        ([{"up_to": True}, {}], "entry 1: up_to must be"),
        ([{"up_to": "5"}, {}], "entry 1: up_to must be"),
        ([{"unit": 5}], "entry 1: has an option that this version does not know: unit"),
        ([{"units": 0}], "entry 1: --units: must be at least 1"),
        ([{"out": "x"}], "entry 1: out cannot depend on the size"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, by_pairs, message):
    path = write(tmp_path / "r.json", {"by_pairs": by_pairs})
    with pytest.raises(UserError, match=f"r.json: by_pairs.*{message}"):
        read_recipe(path)


@pytest.mark.parametrize("flags", [(), ("--units", "16")])
def test_training_takes_the_size_of_its_data_unless_a_flag_says_otherwise(
    tmp_path, reversal_folder, flags
):
    by_pairs = [{"up_to": 499, "units": 2}, {"up_to": 500, "units": 8, "epochs": 1}, {"units": 4}]
    path = write(tmp_path / "r.json", {"embedding_size": 4, "units": 32, "by_pairs": by_pairs})
    out = tmp_path / "run"
    finished = call_train("--config", path, "--data", reversal_folder, "--out", out, *flags)
    assert finished.status == 0, finished.err
    config = load_config(out / "config.json")
    assert (config.units, config.epochs) == (16 if flags else 8, 1)
    told = "epochs 1" if flags else "units 8, epochs 1"
    assert f"r.json, by the number of pairs: {told}\n" in finished.out
    # The run's own config names every option, and resuming it finds the same.
    again = call_train(
        *("--config", path, "--data", reversal_folder, "--out", out, "--resume", *flags)
    )
    assert again.status == 0 and "finished already" in again.out, again.err
