"""The files of a run: what they are called, when they may be written, and the tables among them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import pathlib
import shlex

from keras_attention._runtime.files import make_folder, write_text
from keras_attention._runtime.installation import command_for
from keras_attention.config import PLACE_FIELDS, RESOLVED_FIELDS, Config, flag_of, load_config
from keras_attention.errors import UserError

CONFIG = "config.json"
VOCABULARY = "vocabulary.json"
MODEL = "model.keras"
HISTORY = "history.csv"
METRICS = "metrics.json"
ATTENTION = "attention.png"
CALIBRATION = "calibration.json"
CHECKPOINT = "checkpoint/state.npz"

HISTORY_COLUMNS = (
    "epoch",
    "loss",
    "gradient_norm",
    "valid_loss",
    "valid_exact_match",
    "learning_rate",
    "seconds",
    "mean_largest_weight",
    "one_position",
)


def is_run(path: str | pathlib.Path) -> bool:
    """Whether a folder holds a run, finished or not."""
    return (pathlib.Path(path) / CONFIG).is_file()


def is_finished(path: str | pathlib.Path) -> bool:
    """Whether a folder holds a run that was trained to its end."""
    return (pathlib.Path(path) / METRICS).is_file()


def resumption_of(path: str | pathlib.Path) -> str:
    """What to type so that a training goes on, whatever its data and its options are."""
    path = pathlib.Path(path)
    options = ("--config", str(path / CONFIG), "--out", str(path), "--resume")
    return f"{command_for('train')} {shlex.join(options)}"


def check_startable(config: Config) -> None:
    """Whether training with this config may write the folder `config.out`.

    Raises:
        UserError: the folder cannot be written to; it holds a run and neither `resume` nor
            `overwrite` is set; the run to resume has other options that shape its result.
    """
    out = make_folder(config.out)
    if not is_run(out) or config.overwrite:
        return
    if not config.resume:
        raise UserError(
            f"--out: {out} already holds a run; give --resume to go on with it, --overwrite to "
            "replace it, or another --out"
        )
    before = load_config(out / CONFIG)
    for field in dataclasses.fields(Config):
        old, new = getattr(before, field.name), getattr(config, field.name)
        left_open = field.name in RESOLVED_FIELDS and new is None
        if field.name not in PLACE_FIELDS and old != new and not left_open:
            raise UserError(
                f"{flag_of(field)}: the run in {out} was started with {old}, so it cannot go on "
                f"with {new}; leave the option as it was, use --overwrite, or another --out"
            )


def write_history(path: str | pathlib.Path, rows: list[dict]) -> None:
    """Writes `history.csv`, one row an epoch, into a run folder."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HISTORY_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(pathlib.Path(path) / HISTORY, text.getvalue())


def write_metrics(path: str | pathlib.Path, metrics: dict) -> None:
    """Writes `metrics.json`, the last file of a run: it marks the run as finished."""
    write_text(pathlib.Path(path) / METRICS, json.dumps(metrics, indent=2) + "\n")


def read_metrics(path: str | pathlib.Path) -> dict:
    """The content of a run's `metrics.json`."""
    return json.loads((pathlib.Path(path) / METRICS).read_text(encoding="utf-8"))


def remove_run(path: str | pathlib.Path) -> None:
    """Removes the files of a run, and nothing else, from a folder.

    `config.json`, by which a folder is known as a run, goes last.
    """
    path = pathlib.Path(path)
    for name in (METRICS, ATTENTION, CALIBRATION, MODEL, HISTORY, CHECKPOINT, VOCABULARY, CONFIG):
        (path / name).unlink(missing_ok=True)
