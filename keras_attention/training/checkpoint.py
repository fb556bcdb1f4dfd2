"""The whole state of a training in one file, so that a killed training ends as it would have."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import pathlib
import zipfile
import zlib
from collections.abc import Iterable

import numpy as np

from keras_attention._runtime.files import replacing
from keras_attention.errors import UserError
from keras_attention.pairs.fingerprint import fingerprint
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, StreamedSplits


@dataclasses.dataclass
class Progress:
    """What training knows besides the variables.

    Attributes:
        fingerprint: Of the data, see `data.fingerprint`.
        epochs_done: Finished epochs.
        history: One dict an epoch, the columns of `history.csv`.
        best_epoch: The epoch, from 1, whose weights are kept; 0 before the first.
        best_score: Of that epoch, see `selection.selection_score`.
        seconds: Time spent training so far, over all starts.
        environments: The different ones in which it was trained, see `environment.environment`;
            empty in a run from before they were recorded.
    """

    fingerprint: str
    epochs_done: int = 0
    history: list[dict] = dataclasses.field(default_factory=list)
    best_epoch: int = 0
    best_score: list[float] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    environments: list[dict[str, str]] = dataclasses.field(default_factory=list)


def save(path: pathlib.Path, progress: Progress, model, optimizer, best: list[np.ndarray]) -> None:
    """Writes everything that the next epoch depends on; the previous file stays until it is whole.

    Args:
        path: The file, replaced.
        progress: See `Progress`.
        model: Its variables include the states of its random generators.
        optimizer: Its variables include the number of steps made.
        best: Weights of the best epoch so far.
    """
    arrays = {f"model_{i}": value for i, value in enumerate(values_of(model.variables))}
    arrays |= {f"optimizer_{i}": value for i, value in enumerate(values_of(optimizer.variables))}
    arrays |= {f"best_{i}": value for i, value in enumerate(best)}
    arrays["progress"] = np.array(json.dumps(dataclasses.asdict(progress)))
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]  # none is its flag allow_pickle


def values_of(variables) -> list[np.ndarray]:
    """The values of Keras variables, also of those that several devices hold."""
    return [np.asarray(variable.numpy()) for variable in variables]


def read_progress_of(path: pathlib.Path, data: str, data_fingerprint: str) -> Progress:
    """The progress alone, if it was made on the same data.

    Raises:
        UserError: the file is damaged, or the data are others.
    """
    with _opened(path) as arrays:
        progress = Progress(**json.loads(str(arrays["progress"])))
    if progress.fingerprint != data_fingerprint:
        raise UserError(
            f"--data: the run in {path.parent.parent} was trained on other pairs than {data} holds "
            "now; use --overwrite, or another --out"
        )
    return progress


def fingerprint_of_splits(splits: Splits | StreamedSplits) -> str:
    """SHA-256, in hexadecimal, of all three parts."""
    return fingerprint_of_parts(fingerprint(splits.train), splits.valid, splits.test)


def fingerprint_of_parts(train: str, valid: Iterable[Pair], test: Iterable[Pair]) -> str:
    """As `fingerprint_of_splits`, from training pairs whose own fingerprint is known."""
    parts = train + fingerprint(valid) + fingerprint(test)
    return hashlib.sha256(parts.encode()).hexdigest()


def restore(path: pathlib.Path, model, optimizer) -> list[np.ndarray]:
    """Sets model and optimizer to what `save` saw; returns the best weights so far.

    Raises:
        UserError: the file is damaged, or is of a model of other sizes.
    """
    with _opened(path) as arrays:
        for prefix, variables in (("model", model.variables), ("optimizer", optimizer.variables)):
            stored = _numbered(arrays, prefix)
            if [v.shape for v in stored] != [tuple(v.shape) for v in variables]:
                raise UserError(f"{path}: is of a model of other sizes; use --overwrite")
            for variable, value in zip(variables, stored, strict=True):
                variable.assign(value)
        return _numbered(arrays, "best")


@contextlib.contextmanager
def _opened(path: pathlib.Path):
    """The arrays of a checkpoint; whatever goes wrong in reading them is told as damage."""
    try:
        # Opened here, since NumPy leaves a file open that it finds damaged.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            yield arrays
    except (
        *(OSError, EOFError, KeyError, TypeError, ValueError, RecursionError),
        *(zipfile.BadZipFile, zlib.error),
    ):
        raise UserError(f"{path}: is missing or damaged; start again with --overwrite") from None


def _numbered(arrays, prefix: str) -> list[np.ndarray]:
    count = sum(name.startswith(prefix + "_") for name in arrays.files)
    return [arrays[f"{prefix}_{i}"] for i in range(count)]
