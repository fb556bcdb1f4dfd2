"""The comparison: what it trains, that it goes on where it was, its tables and its figures."""

import csv
import dataclasses
import json
import re

import numpy as np
import pytest

from keras_attention.comparison import comparison
from keras_attention.comparison.comparison import (
    Model,
    Result,
    Task,
    compare,
    length_table,
    make_tasks,
    run_folder_of,
    table,
)
from keras_attention.comparison.figures import plot_curves, plot_gradient_norms, plot_lengths
from keras_attention.datasets.string_tasks import generate
from keras_attention.errors import UserError
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.readers.translator import Translator
from tests.support.commands import call_verb

TINY = {"units": 8, "embedding_size": 4, "epochs": 1, "batch_size": 32}
MODELS = (Model("fixed vector", {"attention": "none"}), Model("attention", {"attention": "dot"}))


def small_splits() -> Splits:
    train, valid, test = generate("reverse", 0, train=64, valid=10, test=30)
    return Splits(train, valid, test)


def small_task(**options) -> Task:
    return Task("reverse", small_splits(), MODELS, {"data": "reverse", **TINY, **options})


def result(task="dates", model="attention", seed=1, **fields) -> Result:
    defaults = dict(
        exact_match=0.75,
        n=100,
        pointing=None,
        curve=[0.25, 0.5],
        gradient_norms=[2.0, 0.5],
        by_length=[[10, 60, 1.0], [20, 40, 0.375]],
        parameters=1234,
        seconds=61.4,
    )
    return Result(task=task, model=model, seed=seed, **{**defaults, **fields})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A comparison of two tiny models: its folder, its results and what it said."""
    out = tmp_path_factory.mktemp("comparison")
    lines = []
    return out, compare([small_task()], [1], out, lines.append), lines


def test_every_model_is_a_run_and_its_progress_is_told(finished):
    out, results, lines = finished
    assert [(r.task, r.model, r.seed) for r in results] == [
        ("reverse", "fixed vector", 1),
        ("reverse", "attention", 1),
    ]
    assert lines[0] == "[1/2] reverse: fixed vector, seed 1"
    (second,) = [line for line in lines if line.startswith("[2/2] ")]
    # One of two is done: what is left is as long as it took.
    assert re.fullmatch(r"\[2/2\] reverse: attention, seed 1, about .+ left in all", second)
    translator = Translator.load(run_folder_of(out, "reverse", "attention", 1))
    assert translator.has_attention
    assert not Translator.load(run_folder_of(out, "reverse", "fixed vector", 1)).has_attention


def test_results_say_what_the_run_says(finished):
    out, results, _ = finished
    for each in results:
        with open(
            run_folder_of(out, each.task, each.model, 1) / "history.csv", encoding="utf-8"
        ) as file:
            rows = list(csv.DictReader(file))
        assert each.curve == [float(row["valid_exact_match"]) for row in rows]
        assert each.gradient_norms == [float(row["gradient_norm"]) for row in rows]
        assert each.n == 30 == sum(n for _, n, _ in each.by_length)
        whole = sum(n * match for _, n, match in each.by_length) / each.n
        assert each.exact_match == pytest.approx(whole)
    fixed, attention = results
    # Attention reads its context as well: 8 more inputs to each of the affine layer's outputs.
    assert attention.parameters - fixed.parameters == 8 * (26 + 4)


def test_a_finished_comparison_trains_nothing_again(finished, monkeypatch):
    out, results, _ = finished
    monkeypatch.setattr(comparison, "train", lambda *_, **__: pytest.fail("trained again"))
    assert compare([small_task()], [1], out, lambda line: None) == results


def test_an_interrupted_comparison_goes_on_where_it_was(finished, tmp_path):
    _, results, _ = finished

    def interrupt(line: str) -> None:
        if line.startswith("[2/2]"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare([small_task()], [1], tmp_path, interrupt)
    assert [path.parent.name for path in tmp_path.rglob("result.json")] == ["fixed-vector-1"]
    first = next(tmp_path.rglob("result.json")).stat().st_mtime_ns
    again = compare([small_task()], [1], tmp_path, lambda line: None)
    assert next(tmp_path.rglob("fixed-vector-1/result.json")).stat().st_mtime_ns == first
    assert [dataclasses.replace(r, seconds=0) for r in again] == [
        dataclasses.replace(r, seconds=0) for r in results
    ]


def test_results_of_other_options_are_not_taken_over(finished):
    out, _, _ = finished
    with pytest.raises(UserError, match=r"^--epochs: the run in .* was started with 1"):
        compare([small_task(epochs=2)], [1], out, lambda line: None)


def test_results_of_other_data_are_not_taken_over(finished):
    out, _, _ = finished
    task = small_task()
    other = dataclasses.replace(task, splits=task.splits._replace(test=task.splits.test[:-1]))
    with pytest.raises(UserError, match="^--data: .* was trained on other pairs"):
        compare([other], [1], out, lambda line: None)


def test_pointing_counts_right_answers_only():
    class Told:
        def __init__(self, text, weights):
            self.text, self.attention_weights = text, np.array(weights)
            self.source_tokens, self.target_tokens = ("a", "b"), tuple(text)

    class Test:
        translations = (
            Told("ba", [[0.1, 0.9], [0.8, 0.2]]),  # right, points right twice
            Told("ba", [[0.9, 0.1], [0.8, 0.2]]),  # right, points right once
            Told("xx", [[0.9, 0.1], [0.1, 0.9]]),  # wrong: how it points does not matter
        )

    alignment = (Link(1, 0, True), Link(0, 1, True))
    task = small_task()
    task = dataclasses.replace(
        task, splits=task.splits._replace(test=[Pair("ab", "ba", alignment)] * 3)
    )
    assert comparison._pointing(Test, task) == 0.75


def test_table_has_a_row_for_each_model_of_each_task():
    lines = table(
        [
            result(pointing=0.9),
            result(seed=2, exact_match=0.25, pointing=0.7, seconds=58.6),
            result(model="fixed vector"),
            result(task="copy", pointing=1.0),
        ]
    )
    assert lines == [
        ("task", "model", "seeds", "exact match", "pointing", "parameters", "seconds"),
        *[
            ("dates", "attention", "2", "0.5000 (0.2500–0.7500)", "0.8000 (0.7000–0.9000)")
            + ("1234", "60"),
            ("dates", "fixed vector", "1", "0.7500", "–", "1234", "61"),
            ("copy", "attention", "1", "0.7500", "1.0000", "1234", "61"),
        ],
    ]


def test_length_table_averages_seeds():
    second = result(seed=2, by_length=[[10, 60, 0.5], [20, 40, 0.125]])
    assert length_table([result(), second, result("copy")], "dates") == [
        ("model", "up to 10", "11 to 20"),
        ("attention", "0.7500", "0.2500"),
    ]


NAMES = ("fixed vector", "peeky", "attention", "fixed vector, one direction")
VARIED = [
    *(result(model=name) for name in (*NAMES, "attention, one direction")),
    result(model="attention, no clipping"),
    *(result(task=task, model=name) for task in ("copy", "reverse") for name in NAMES[:3]),
]


def legends(figure) -> dict[str, list[str]]:
    return {
        axes.get_title(): [text.get_text() for text in axes.get_legend().get_texts()]
        for axes in figure.axes
    }


def test_a_panel_for_each_task_and_one_for_how_the_source_is_read():
    three = ["fixed vector", "peeky", "attention"]
    assert legends(plot_lengths(VARIED)) == dict.fromkeys(["dates", "copy", "reverse"], three)
    assert legends(plot_curves(VARIED)) == {
        "dates": three,
        "dates: how the source is read": [
            *("fixed vector", "attention"),
            *("fixed vector, one direction", "attention, one direction"),
        ],
        "copy": three,
        "reverse": three,
    }


def test_gradient_norms_with_and_without_clipping_on_a_log_scale():
    figure = plot_gradient_norms(VARIED)
    shown = legends(figure)
    assert shown["dates"] == ["fixed vector", "peeky", "attention", "attention, no clipping"]
    assert list(shown) == ["dates", "copy", "reverse"]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[1, 2.0], [2, 0.5]]


def test_lines_show_the_numbers():
    (axes,) = plot_curves([result(), result(seed=2, curve=[0.75, 0.5])]).axes
    assert axes.lines[0].get_xydata().tolist() == [[1, 0.5], [2, 0.5]]  # means of two seeds
    (band,) = axes.collections
    assert set(map(tuple, band.get_paths()[0].vertices)) == {(1, 0.25), (1, 0.75), (2, 0.5)}
    (axes,) = plot_lengths([result()]).axes
    assert axes.lines[0].get_xydata().tolist() == [[10, 1.0], [20, 0.375]]
    assert axes.get_ylim()[0] < 0 and axes.get_ylim()[1] > 1


def test_a_kind_of_model_keeps_its_colour_and_variants_differ_in_dashes():
    lines = [line for axes in plot_curves(VARIED).axes for line in axes.lines]
    styles = {(line.get_label().split(", ")[0], line.get_color()) for line in lines}
    assert len(styles) == len({colour for _, colour in styles}) == 3
    read = plot_curves(VARIED).axes[1].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in read}) == len(read)


def test_figures_are_described_in_words():
    assert plot_lengths([result()]).get_label() == (
        "Exact match by source length: dates, attention ends at 0.375"
    )


def test_the_tasks_of_the_command(tmp_path, reversal_folder, monkeypatch):
    monkeypatch.setattr(comparison, "STRING_SIZES", {"train": 9, "valid": 3, "test": 3})
    tasks = make_tasks(str(reversal_folder), seed=1, epochs=None)
    assert [task.name for task in tasks] == ["reversal", "copy", "reverse"]
    assert [len(task.models) for task in tasks] == [9, 3, 3]
    # The same budget: nothing but what a model is called after differs between models of a task.
    for model in (model for task in tasks for model in task.models):
        assert set(model.options) <= {"attention", "bidirectional", "reverse_source", "clipnorm"}
    assert tasks[1].splits.test[0].source == tasks[2].splits.test[0].source
    (tmp_path / "reverse").symlink_to(reversal_folder)
    names = [task.name for task in make_tasks(str(tmp_path / "reverse"), seed=1, epochs=3)]
    assert names == ["reverse data", "copy", "reverse"]


@pytest.mark.slow
def test_the_command_writes_tables_and_figures(tmp_path, reversal_folder, monkeypatch):
    monkeypatch.setattr(comparison, "STRING_SIZES", {"train": 64, "valid": 10, "test": 30})
    monkeypatch.setattr(comparison, "THREE", MODELS[1:])
    monkeypatch.setattr(comparison, "VARIANTS", ())
    out = tmp_path / "out"
    arguments = ("compare", "--data", reversal_folder, "--out", out, "--epochs", "1")
    finished = call_verb(*arguments)
    assert finished.status == 0, finished.err
    assert "[3/3] reverse: attention, seed 1" in finished.out
    assert finished.out.endswith(f"figures and tables are in {out}\n")
    names = {path.name for path in out.iterdir()}
    assert names == {
        *("runs", "table.csv", "by_length_reversal.csv", "by_length_copy.csv"),
        *("by_length_reverse.csv", "exact_match_per_epoch.png", "exact_match_by_length.png"),
        "gradient_norms.png",
    }
    with open(out / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert [row[:2] for row in rows[1:]] == [
        [task, "attention"] for task in ("reversal", "copy", "reverse")
    ]
    stored = json.loads((run_folder_of(out, "copy", "attention", 1) / "result.json").read_text())
    assert rows[2][3] == f"{stored['exact_match']:.4f}"
    assert call_verb(*arguments).status == 0  # finished already


@pytest.mark.parametrize(
    "arguments, line",
    [
        (("--seeds", "0"), "error: --seeds: must be at least 1. Received: 0\n"),
        (("--epochs", "-1"), "error: --epochs: must be at least 1. Received: -1\n"),
        (("--data", "nowhere"), "error: nowhere: no such file or folder; check the path\n"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, arguments, line):
    finished = call_verb("compare", "--out", tmp_path / "out", *arguments)
    assert (finished.status, finished.err) == (2, line)
