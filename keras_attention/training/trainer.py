"""Pairs into a trained run folder: teacher forcing, validation by decoding, checkpoints, resume."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attention._runtime.lock import folder_lock
from keras_attention.batching.training_data import TrainingData, prepare, resolved
from keras_attention.config import Config
from keras_attention.engine.calibration import MEANINGS, Calibration, save_calibration
from keras_attention.errors import UserError
from keras_attention.evaluation.attention_spread import warn_of_stillness
from keras_attention.evaluation.evaluation import Evaluation, evaluate
from keras_attention.evaluation.reports.card import card_facts
from keras_attention.evaluation.sentences import are_sentences
from keras_attention.evaluation.trust.fit import fit_trust
from keras_attention.evaluation.trust.measured import measured_promises
from keras_attention.folders.run_folder import CALIBRATION, CHECKPOINT, write_history
from keras_attention.models.training_model import build_training_model
from keras_attention.models.warm_start import copy_weights, freeze, unfreeze
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, StreamedSplits, set_aside
from keras_attention.readers.engine_reader import EngineReader, engine_from_model
from keras_attention.readers.run import load_run, save_model
from keras_attention.readers.translator import Translator
from keras_attention.training import checkpoint
from keras_attention.training.advice import advise
from keras_attention.training.checkpoint import Progress, fingerprint_of_parts
from keras_attention.training.cluster import ALONE, Task
from keras_attention.training.distribution import from_chief
from keras_attention.training.environment import differences, environment
from keras_attention.training.epochs import EpochLoop, Log, TrainingState
from keras_attention.training.length_penalty import choose_length_penalty
from keras_attention.training.resumption import (
    as_in_run,
    check_warm_start,
    start_or_resume,
    vocabularies_of_run,
)
from keras_attention.training.selection import PARTS, selection_score
from keras_attention.training.step import make_optimizer

# Test sources that sets are measured on: a wide beam takes its time.
MOST_MEASURED = 500


@dataclasses.dataclass(frozen=True)
class Trained:
    """What `train` returns.

    Attributes:
        translator: Translates with the best weights.
        metrics: The content for `metrics.json`.
        test: The evaluation on the test pairs.
        history: The rows of `history.csv`.
    """

    translator: Translator
    metrics: dict
    test: Evaluation
    history: list[dict]


@contextlib.contextmanager
def _telling_of_memory() -> Iterator[None]:
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError):
        raise UserError(
            "--units: the model, a batch or an output does not fit into memory; make --units, "
            "--embedding-size, --layers, --batch-size or --longest-output smaller"
        ) from None


def train(
    config: Config,
    splits: Splits | StreamedSplits,
    log: Log = print,
    started: float | None = None,
    task: Task = ALONE,
    adjust: Callable[[keras.Model], None] | None = None,
) -> Trained:
    """Trains, and writes the run folder but for `attention.png` and `metrics.json`.

    The same config and data give the same weights on the same machine, also when the process is
    killed at any moment and started again with `resume`. On another machine, with other threads or
    another version of TensorFlow, they differ by rounding; `resume` tells of it.

    Args:
        config: All options; `config.out` is written, and locked meanwhile.
        splits: The pairs; the training pairs may be streamed.
        log: Takes each line that is to be shown.
        started: `time.monotonic()` at the start of the command, for `seconds.total`.
        task: Which of several processes this is. All are given the same config and data but for
            `out`, of which each has its own; the chief's is resumed.
        adjust: Changes the model before it is trained, as by freezing a layer.

    Raises:
        UserError: another process writes to the folder; it holds a run and neither `resume` nor
            `overwrite` is set; the run to resume has other options or data, or a file of it that
            cannot be made again is missing or damaged; the loss stopped being a number or grew far
            above an untrained model's; the memory does not suffice; this worker's data are not the
            chief's.
    """
    started = time.monotonic() if started is None else started
    with folder_lock(config.out), _telling_of_memory():
        tf.config.experimental.enable_op_determinism()
        keras.utils.set_random_seed(config.seed)
        check_warm_start(config)
        choosing, promising = set_aside(splits.valid)
        data = prepare(splits._replace(valid=choosing), config, vocabularies_of_run(config))
        config = resolved(as_in_run(config), data.survey)
        fingerprint = fingerprint_of_parts(data.survey.fingerprint, splits.valid, splits.test)
        vocabularies = data.survey.source, data.survey.target
        progress = start_or_resume(config, *vocabularies, fingerprint, log)

        state = _initial_state(config, data, progress, adjust)

        def reader() -> EngineReader:
            """Reads the weights as they are now."""
            return engine_from_model(state.model, config, *vocabularies)

        _begin(config, state, task, log, "; ".join(_sizes(data, splits, state.model)))
        before = progress.seconds
        save = _saving_into(Path(config.out))
        EpochLoop(config, data, choosing, reader, save, log, task).run(state)

        state.model.set_weights(state.best)
        best = reader()
        translator = Translator(best)
        chosen = state.best_valid or evaluate(translator, choosing)
        sentences = are_sentences(choosing, chosen.exact_match)
        calibration = _calibrate(best, chosen, (choosing, promising), data, config.seed, sentences)
        # The model last: where it is, the run can be used, and is whole.
        save_calibration(Path(config.out) / CALIBRATION, calibration)
        unfreeze(state.model)  # who trains it further chooses anew
        save_model(config.out, state.model)
        _log_advice(log, progress, chosen, calibration, data)
        valid = evaluate(translator, splits.valid) if promising else chosen
        test = evaluate(translator, splits.test)
        penalty = choose_length_penalty(translator, splits.valid, valid)
        seconds = before + time.monotonic() - started
        metrics = _metrics(state, valid, test, sentences, seconds)
        metrics |= measured_promises(translator, splits.test, test, MOST_MEASURED)
        if penalty is not None:
            log(f"length penalty of beam searches, chosen on validation: {penalty:g}")
            metrics["length_penalty"] = penalty
    return Trained(translator, metrics, test, progress.history)


def _calibrate(
    reader: EngineReader,
    chosen: Evaluation,
    parts: tuple[list[Pair], list[Pair]],
    data: TrainingData,
    seed: int,
    sentences: bool,
) -> Calibration:
    """Fits what is known of trusting the answers, and leaves it set on the reader."""
    if sentences:
        reader.calibration = chosen.fit_calibration("quality")
        return reader.calibration
    blocks = data.train.blocks(np.random.default_rng(seed))
    return fit_trust(reader, chosen, parts, blocks, (data.survey.source, data.survey.target))


def _initial_state(
    config: Config,
    data: TrainingData,
    progress: Progress,
    adjust: Callable[[keras.Model], None] | None,
) -> TrainingState:
    """An untrained model, or the state that the checkpoint holds."""
    model = build_training_model(config, len(data.survey.source), len(data.survey.target))
    if config.init_from is not None:
        _start_warm(config, config.init_from, data, model, copies=not progress.epochs_done)
    if adjust is not None:
        adjust(model)
    optimizer = make_optimizer(config, data.survey.batches * config.filled_in("epochs"))
    optimizer.build(model.trainable_variables)
    best = model.get_weights()
    if progress.epochs_done:
        best = checkpoint.restore(Path(config.out) / CHECKPOINT, model, optimizer)
        # Anew, since an earlier version compared epochs by other numbers.
        row = progress.history[progress.best_epoch - 1]
        progress.best_score = selection_score(row, config.select_by)
    return TrainingState(model, optimizer, progress, best)


def _start_warm(
    config: Config, before_it: str, data: TrainingData, model: keras.Model, copies: bool
) -> None:
    """Gives a new model the weights of the run in `before_it`, and freezes its parts.

    Raises:
        UserError: a frozen part has tokens to learn, or the model has no such part.
    """
    now = data.survey.source, data.survey.target
    if copies:
        run = load_run(before_it)
        before = run.source, run.target
        for part, side in (("source_embedding", 0), ("target_embedding", 1), ("affine", 1)):
            new = sorted(set(now[side].tokens) - set(before[side].tokens))
            if new and part in config.frozen_parts:
                raise UserError(
                    f"--freeze: {part} would keep {len(new)} new tokens from being learned, such "
                    f"as {new[0]!r}; leave that part out"
                )
        copy_weights(run.model, model, before, now)
    try:
        freeze(model, config.frozen_parts)
    except ValueError as error:
        raise UserError(f"--freeze: {error}") from None
    if not model.trainable_variables:
        raise UserError("--freeze: leaves nothing to be trained; leave a part out")


def _begin(config: Config, state: TrainingState, task: Task, log: Log, sizes: str) -> None:
    """Tells where training begins, and lets all workers begin there."""
    progress = state.progress
    if progress.epochs_done:
        write_history(config.out, progress.history)  # the kill may have come just before it
        log(f"resumed at epoch {progress.epochs_done + 1}")
    else:
        log(sizes)
    here = environment(task)
    if progress.environments and here not in progress.environments:
        changed = differences(progress.environments[-1], here)
        log(
            f"warning: the run goes on in another environment ({changed}); its weights will "
            "differ by rounding from those of an uninterrupted training"
        )
    if here not in progress.environments:
        progress.environments.append(here)
    _follow_chief(config, state, task)


def _follow_chief(config: Config, state: TrainingState, task: Task) -> None:
    """Takes over the chief's state, which it may have resumed."""
    if task.count == 1:
        return
    progress = state.progress
    own = int(progress.fingerprint[:12], 16)
    header = np.array([own, progress.epochs_done, progress.best_epoch])
    score = np.array(progress.best_score or [-np.inf] * PARTS)
    variables = [*state.model.variables, *state.optimizer.variables]
    values = checkpoint.values_of(variables)
    header, score, *values = from_chief(task, [header, score, *values, *state.best])
    if header[0] != own:
        raise UserError(f"--data: this worker finds other pairs in {config.data} than the chief")
    progress.epochs_done, progress.best_epoch = int(header[1]), int(header[2])
    progress.best_score = score.tolist()
    for variable, value in zip(variables, values[: len(variables)], strict=True):
        variable.assign(value)
    state.best = values[len(variables) :]


def _saving_into(out: Path):
    def save(state: TrainingState) -> None:
        checkpoint.save(out / CHECKPOINT, state.progress, state.model, state.optimizer, state.best)
        write_history(out, state.progress.history)

    return save


def _log_advice(
    log: Log, progress: Progress, valid: Evaluation, calibration: Calibration, data: TrainingData
) -> None:
    """What the training's own figures say about trusting it, and about how to go on."""
    if reservation := calibration.reservation:
        log(f"calibration: {reservation}")
    if stillness := warn_of_stillness(valid.attention_spread()):
        log(f"warning: {stillness}")
    if not progress.history:  # another worker than the chief may have trained no epoch itself
        return
    if advice := advise(progress.history, valid, math.log(len(data.survey.target))):
        log(f"advice: {advice}")


def _metrics(
    state: TrainingState, valid: Evaluation, test: Evaluation, sentences: bool, seconds: float
) -> dict:
    """The content of `metrics.json`."""
    progress = state.progress
    return {
        "test": test.summary(sentences),
        "valid": valid.summary(sentences),
        "test_details": card_facts(test),
        "seconds": {"total": round(seconds, 1), "training": round(progress.seconds, 1)},
        "epochs": progress.epochs_done,
        "best_epoch": progress.best_epoch,
        "confidence": MEANINGS[test.confidence_means],
        "parameters": state.model.count_params(),
        "environments": progress.environments,
    }


def _sizes(
    data: TrainingData, splits: Splits | StreamedSplits, model: keras.Model
) -> tuple[str, str, str]:
    found = data.survey
    return (
        f"{found.pairs} training, {len(splits.valid)} validation, {len(splits.test)} test pairs",
        f"{len(found.source.tokens)} source and {len(found.target.tokens)} target tokens",
        f"{model.count_params()} parameters",
    )
