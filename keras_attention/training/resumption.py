"""Where a training begins: afresh, where it stopped, or not at all since nothing is left to do.

A run is looked at as a whole before it goes on or counts as finished: a file that can be made from
the rest is written again, any other is named. TensorFlow is not needed here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from keras_attention._runtime.files import remove_unfinished, write_text
from keras_attention.config import RESOLVED_FIELDS, SHAPE_FIELDS, Config, load_config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import (
    CHECKPOINT,
    CONFIG,
    HISTORY,
    METRICS,
    MODEL,
    VOCABULARY,
    check_finished_run,
    check_startable,
    damaged_files,
    is_finished,
    is_run,
    read_metrics,
    remove_results,
    remove_run,
)
from keras_attention.pairs.splits import Splits, StreamedSplits
from keras_attention.text.vocabulary import Vocabulary, load_vocabularies, save_vocabularies
from keras_attention.training.checkpoint import Progress, fingerprint_of_splits, read_progress_of
from keras_attention.training.cluster import Task

Log = Callable[[str], None]


def finished_metrics(
    config: Config, splits: Splits | StreamedSplits, task: Task, log: Log = print
) -> dict | None:
    """The metrics of a run that `config` asks to resume and that is whole and finished.

    Several workers always train, if only to find together that no epoch is left: those that do not
    see the run would wait for the one that does.

    Args:
        config: Of the training that is to be started.
        splits: Its pairs.
        task: Which of several processes this is.
        log: Is told of each file that has to be written again.

    Returns:
        The content of `metrics.json`; None where there is something to train or to write.

    Raises:
        UserError: the run is of other options or data, or cannot go on.
    """
    out = Path(config.out)
    if not (config.resume and is_run(out) and is_finished(out)):
        return None
    check_startable(config)
    read_progress_of(out / CHECKPOINT, config.data, fingerprint_of_splits(splits))
    damaged = damaged_files(out)
    for name in damaged:
        log(f"{out / name}: is missing or damaged; it is written again")
    if damaged or task.count > 1 or _is_extended(config):
        return None
    return read_metrics(out)


def as_in_run(config: Config) -> Config:
    """The config with what was left open filled in from the run that it is to resume."""
    path = Path(config.out) / CONFIG
    if not (config.resume and is_run(config.out)):
        return config
    before = load_config(path)
    open_fields = [name for name in RESOLVED_FIELDS if getattr(config, name) is None]
    return dataclasses.replace(config, **{name: getattr(before, name) for name in open_fields})


def vocabularies_of_run(config: Config) -> tuple[Vocabulary, Vocabulary] | None:
    """The vocabularies of the run that is to be resumed, else of the one to start from, else None.

    Where those of a resumed run are damaged, subwords are learned again, which gives the same from
    the same pairs with the same version of sentencepiece.
    """
    if config.resume and is_run(config.out):
        try:
            source, target = load_vocabularies(Path(config.out) / VOCABULARY)
            if (source.kind, target.kind) == (config.source_tokens, config.target_tokens):
                return source, target
        except UserError:
            pass  # made again below, or from the pairs
    return load_vocabularies(Path(config.init_from) / VOCABULARY) if config.init_from else None


def check_warm_start(config: Config) -> None:
    """Whether a training can start from the run in `config.init_from`, where one is named.

    Raises:
        UserError: it holds no finished run, a run of other options, or is the folder to be written.
    """
    if config.init_from is None or (config.resume and is_run(config.out)):
        return
    run = Path(config.init_from)
    check_finished_run("--init-from", run)
    if run.resolve() == Path(config.out).resolve():
        raise UserError(
            f"--init-from: {run} is the run that --out would replace; name another --out"
        )
    before = load_config(run / CONFIG)
    for name in SHAPE_FIELDS:
        old, new = getattr(before, name), getattr(config, name)
        if old != new:
            flag = "--" + name.replace("_", "-")
            raise UserError(
                f"{flag}: the run in {run} has {old}, and a training that starts from it cannot "
                f"have {new}; leave the option out"
            )


def start_or_resume(
    config: Config, source: Vocabulary, target: Vocabulary, data_fingerprint: str, log: Log
) -> Progress:
    """Prepares the run folder, and returns how far its training has come.

    Args:
        config: With all numbers filled in.
        source, target: The vocabularies of the training pairs.
        data_fingerprint: Of all pairs, see `checkpoint.fingerprint_of_splits`.
        log: Is told of what is written again, and of more epochs.

    Raises:
        UserError: see `check_startable`; the checkpoint is missing or damaged, or of other data.
    """
    check_startable(config)
    out = Path(config.out)
    remove_unfinished(out)
    remove_unfinished((out / CHECKPOINT).parent)
    # A history is written behind the first checkpoint: where one is, the other must be.
    begun = any((out / name).exists() for name in (CHECKPOINT, HISTORY, MODEL, METRICS))
    if config.resume and is_run(out) and begun:
        progress = read_progress_of(out / CHECKPOINT, config.data, data_fingerprint)
        _extend(config, progress, log)
        _mend_vocabularies(out, source, target, log)
        return progress
    remove_run(out)
    write_text(out / CONFIG, config.to_json())
    save_vocabularies(out / VOCABULARY, source, target)
    return Progress(fingerprint=data_fingerprint)


def _is_extended(config: Config) -> bool:
    before = load_config(Path(config.out) / CONFIG)
    return config.epochs is not None and config.epochs != before.epochs


def _extend(config: Config, progress: Progress, log: Log) -> None:
    if not _is_extended(config):
        return
    out = Path(config.out)
    before = load_config(out / CONFIG).epochs
    log(
        f"{config.epochs} epochs in place of {before}: from epoch {progress.epochs_done + 1} on "
        f"the learning rate is that of a training of {config.epochs}, so that the result is not "
        "that of a run begun with as many"
    )
    remove_results(out)
    write_text(out / CONFIG, config.to_json())


def _mend_vocabularies(out: Path, source: Vocabulary, target: Vocabulary, log: Log) -> None:
    """Writes the vocabularies again where they are not those of the data, which are the run's."""
    try:
        whole = load_vocabularies(out / VOCABULARY) == (source, target)
    except UserError:
        whole = False
    if not whole:
        log(f"{out / VOCABULARY}: is missing or damaged; it is written again")
        save_vocabularies(out / VOCABULARY, source, target)
