"""Which epoch is kept, by figures written by hand and in a training."""

import csv
import json
import math

import pytest

from keras_attention.config import Config, load_config
from keras_attention.errors import UserError
from keras_attention.training import epochs as epoch_loop
from keras_attention.training import trainer as training
from keras_attention.training.selection import COLUMNS, ENOUGH_RIGHT, selection_score
from tests.training.test_trainer import CHEAP, TINY, train_tiny

# As on sentences: hardly an answer is right to the last character, which of them is chance, the
# loss turns at once, and the answers still get nearer.
SENTENCES = [
    {
        "valid_exact_match": exact_match,
        "valid_loss": loss,
        "valid_token_error_rate": errors,
        "valid_bleu": bleu,
        "valid_chrf": chrf,
    }
    for exact_match, loss, errors, bleu, chrf in (
        (0.002, 2.0, 0.7, 20.0, 40.0),
        (0.030, 2.3, 0.6, 30.0, 52.0),
        (0.001, 2.5, 0.61, 34.0, 55.5),
        (0.010, 2.9, 0.62, 35.0, 55.0),
    )
]


def best_of(rows, select_by) -> int:
    """The number, from 0, of the epoch that is kept."""
    return max(range(len(rows)), key=lambda index: selection_score(rows[index], select_by))


@pytest.mark.parametrize(
    ("select_by", "epoch"),
    [
        *(("exact_match", 1), ("loss", 0), ("token_error_rate", 1), ("bleu", 3), ("chrf", 2)),
        ("auto", 2),
    ],
)
def test_each_measure_chooses_its_own_epoch(select_by, epoch):
    assert best_of(SENTENCES, select_by) == epoch


def test_where_many_are_right_auto_is_exact_match_and_then_loss():
    rows = [
        SENTENCES[2] | {"valid_exact_match": exact_match, "valid_loss": loss}
        for exact_match, loss in ((0.9, 0.1), (0.95, 0.3), (0.95, 0.2), (0.94, 0.1))
    ]
    assert best_of(rows, "auto") == best_of(rows, "exact_match") == 2


def test_an_epoch_with_enough_right_beats_one_without_whatever_its_chrf():
    few = SENTENCES[2] | {"valid_exact_match": ENOUGH_RIGHT - 0.01, "valid_chrf": 90.0}
    many = SENTENCES[2] | {"valid_exact_match": ENOUGH_RIGHT, "valid_chrf": 70.0}
    assert best_of([few, many], "auto") == 1


@pytest.mark.parametrize("nothing", [{}, {"valid_chrf": math.nan}])
def test_a_row_without_the_figure_is_worse_than_any_with_it(nothing):
    lacking = {"valid_exact_match": 0.1, "valid_loss": 0.1} | nothing
    assert best_of([lacking, SENTENCES[0]], "auto") == 1


def test_every_choice_of_the_option_is_a_measure():
    (field,) = (f for f in Config.__dataclass_fields__.values() if f.name == "select_by")
    assert set(field.metadata["choices"]) == {"auto", *COLUMNS}
    with pytest.raises(UserError, match=r"^--select-by: must be one of auto, .*'best'"):
        Config(select_by="best")


@pytest.mark.parametrize("select_by", ["auto", "loss", "bleu"])
def test_a_training_keeps_the_epoch_of_its_measure(tmp_path, select_by):
    trained = train_tiny(tmp_path / "run", epochs=4, select_by=select_by)
    with open(tmp_path / "run" / "history.csv", encoding="utf-8", newline="") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    assert trained.metrics["best_epoch"] == 1 + best_of(rows, select_by)
    for row in rows:
        assert 0 <= row["valid_bleu"] <= 100 and 0 <= row["valid_chrf"] <= 100
        assert row["valid_token_error_rate"] > 0


def test_a_run_of_an_earlier_version_goes_on(tmp_path, monkeypatch):
    """It compared epochs by exact match and loss alone, and had no further columns."""
    run = tmp_path / "run"
    save = training.checkpoint.save
    names = ("valid_token_error_rate", "valid_bleu", "valid_chrf")

    def as_before(path, progress, *others):
        for row in progress.history:
            for name in names:
                row.pop(name, None)
        row = progress.history[progress.best_epoch - 1]
        progress.best_score = [row["valid_exact_match"], -row["valid_loss"]]
        save(path, progress, *others)
        raise KeyboardInterrupt

    monkeypatch.setattr(training.checkpoint, "save", as_before)
    with pytest.raises(KeyboardInterrupt):
        train_tiny(run, epochs=3)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    del config["select_by"]
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert load_config(run / "config.json").select_by == "auto"
    monkeypatch.setattr(training.checkpoint, "save", save)
    assert train_tiny(run, epochs=3, resume=True).metrics["epochs"] == 3
    lines = (run / "history.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].endswith(",,,") and not lines[2].endswith(",")


def test_patience_is_counted_by_the_measure(tmp_path, monkeypatch):
    """By exact match alone the second epoch would be the last that is better."""
    chrf = iter([10.0, 20.0, 30.0, 30.0, 30.0, 30.0])
    matches = iter([0.01, 0.03, 0.02, 0.02, 0.02, 0.02])
    evaluate = training.evaluate

    def scripted(*given):
        figures = {"exact_match": next(matches)}
        return training.Evaluation(**(vars(evaluate(*given)) | figures))

    monkeypatch.setattr(epoch_loop, "evaluate", scripted)
    monkeypatch.setattr(training.Evaluation, "chrf", lambda self: next(chrf))
    monkeypatch.setattr(epoch_loop, "mean_loss", lambda *given: 1.0)
    trained = train_tiny(tmp_path / "run", epochs=6, patience=2)
    assert trained.metrics["best_epoch"] == 3 and trained.metrics["epochs"] == 5


def test_off_a_terminal_a_line_now_and_then_says_what_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_attention._runtime.progress.EVERY", 0.0)
    lines = []
    config = Config(data="tiny", out=str(tmp_path / "run"), epochs=2, batch_size=16, **CHEAP)
    training.train(config, TINY, log=lines.append)
    told = [line for line in lines if " left" in line]
    assert len(told) == 6  # three batches an epoch
    assert told[0].startswith("  step 1 of 6, epoch 1, loss ") and "about" in told[0]
