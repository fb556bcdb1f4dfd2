"""The files of a run: what they are called, when they may be written, and the tables among them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import pathlib
import shlex
import zipfile
import zlib

from keras_attention._runtime.files import make_folder, write_text
from keras_attention._runtime.installation import command_for
from keras_attention.config import PLACE_FIELDS, RESOLVED_FIELDS, Config, flag_of, load_config
from keras_attention.engine.calibration import load_calibration
from keras_attention.errors import UserError
from keras_attention.folders.card_file import remove_card
from keras_attention.text.vocabulary import load_vocabularies

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
    "valid_token_error_rate",
    "valid_bleu",
    "valid_chrf",
)
# The first version's: every run has them. Of the others a model without attention leaves some
# empty, and a run that an earlier version began has rows without them.
_ALWAYS_NUMBERS = HISTORY_COLUMNS[:7]

# By these a `config.json` is told from that of another program.
_OWN_OPTIONS = frozenset({"source_tokens", "target_tokens", "encoder", "attention"})

# What reading a damaged file raises.
_DAMAGE = (UserError, OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)

# What must not be there, unless the folder is a run, since training would replace it.
_REPLACED = (CONFIG, VOCABULARY, MODEL, HISTORY, METRICS, CALIBRATION)


def is_run(path: str | pathlib.Path) -> bool:
    """Whether a folder holds a run, finished or not.

    The `config.json` of another program makes no run; one that is damaged does where a checkpoint
    or a vocabulary lies beside it, and reading it tells of the damage.
    """
    path = pathlib.Path(path)
    try:
        content = json.loads((path / CONFIG).read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return any((path / name).is_file() for name in (CHECKPOINT, VOCABULARY))
    return isinstance(content, dict) and content.keys() >= _OWN_OPTIONS


def is_finished(path: str | pathlib.Path) -> bool:
    """Whether a folder holds a run that was trained to its end; see also `damaged_files`."""
    return (pathlib.Path(path) / METRICS).is_file()


def check_finished_run(option: str, path: str | pathlib.Path) -> None:
    """Raises UserError, which begins with the option, unless a folder holds a finished run."""
    if not is_run(path):
        raise UserError(f"{option}: {path} holds no run; name the folder of a finished one")
    if not is_finished(path) or not (pathlib.Path(path) / MODEL).is_file():
        raise UserError(
            f"{option}: {path} holds a run that is not finished; go on with `{resumption_of(path)}`"
        )


def resumption_of(path: str | pathlib.Path) -> str:
    """What to type so that a training goes on, whatever its data and its options are."""
    path = pathlib.Path(path)
    options = ("--config", str(path / CONFIG), "--out", str(path), "--resume")
    return f"{command_for('train')} {shlex.join(options)}"


def check_startable(config: Config, may_extend: bool = True) -> None:
    """Whether training with this config may write the folder `config.out`.

    Args:
        config: The options of the training.
        may_extend: Whether a run may go on for more epochs than it was started with.

    Raises:
        UserError: the folder cannot be written to; it holds a run and neither `resume` nor
            `overwrite` is set; the run to resume has other options that shape its result; or it
            holds files that are no run's and would be replaced.
    """
    out = make_folder(config.out)
    if not is_run(out):
        _check_replaceable(out, config)
        return
    if config.overwrite:
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
        extended = may_extend and field.name == "epochs" and None not in (old, new) and new > old
        if field.name not in PLACE_FIELDS and old != new and not left_open and not extended:
            raise UserError(
                f"{flag_of(field)}: the run in {out} was started with {old}, so it cannot go on "
                f"with {new}; leave the option as it was, use --overwrite, or another --out"
            )


def _check_replaceable(out: pathlib.Path, config: Config) -> None:
    if (out / CHECKPOINT).is_file() and not (out / CONFIG).exists():
        if not config.overwrite:
            raise UserError(
                f"{out / CONFIG}: is missing from the run beside it; put it back, use --overwrite, "
                "or another --out"
            )
        return
    for name in _REPLACED:
        if (out / name).exists():
            raise UserError(
                f"--out: {out} holds a {name} that is of no run, and training would replace it; "
                "choose another --out"
            )


def damaged_files(path: str | pathlib.Path) -> list[str]:
    """The names of a finished run's files that are missing or cannot be read.

    The checkpoint, from which training can write all others again, and `config.json` are not looked
    at: reading them tells of their damage.
    """
    path = pathlib.Path(path)
    checks = {
        VOCABULARY: load_vocabularies,
        MODEL: _check_archive,
        HISTORY: _check_history,
        CALIBRATION: _check_calibration,
        METRICS: _check_metrics,
    }
    if load_config(path / CONFIG).has_attention:
        checks[ATTENTION] = _check_figure
    damaged = []
    for name, check in checks.items():
        try:
            check(path / name)
        except _DAMAGE:
            damaged.append(name)
    return damaged


def _check_archive(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as file:
        if file.testzip() is not None:
            raise ValueError(path)


def _check_history(path: pathlib.Path) -> None:
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    if not rows:
        raise ValueError(path)
    for row in rows:
        for name in _ALWAYS_NUMBERS:
            float(row[name])  # raises for what is no number


def _check_calibration(path: pathlib.Path) -> None:
    if load_calibration(path) is None:
        raise ValueError(path)


def _check_metrics(path: pathlib.Path) -> None:
    test = read_metrics(path.parent)["test"]
    if not 0 <= float(test["exact_match"]) <= 1 or int(test["n"]) < 1:
        raise ValueError(path)


def _check_figure(path: pathlib.Path) -> None:
    content = path.read_bytes()
    if not (content.startswith(b"\x89PNG") and b"IEND" in content[-12:]):
        raise ValueError(path)


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


def length_penalty_of(path: str | pathlib.Path) -> float:
    """The length penalty that training chose for beam searches; 0 where it chose none."""
    try:
        penalty = read_metrics(path).get("length_penalty")
    except (OSError, ValueError, AttributeError, RecursionError):  # as of an unfinished run
        return 0.0
    return float(penalty) if isinstance(penalty, (int, float)) else 0.0


def remove_run(path: str | pathlib.Path) -> None:
    """Removes the files of a run, and nothing else, from a folder.

    First goes what marks it as finished; `config.json`, by which a folder is known as a run, last.
    """
    path = pathlib.Path(path)
    remove_results(path)
    for name in (HISTORY, CHECKPOINT, VOCABULARY, CONFIG):
        (path / name).unlink(missing_ok=True)


def remove_results(path: str | pathlib.Path) -> None:
    """Removes what a run holds only when it is finished, so that it can go on."""
    for name in (METRICS, MODEL, CALIBRATION, ATTENTION):
        (pathlib.Path(path) / name).unlink(missing_ok=True)
    remove_card(path)
