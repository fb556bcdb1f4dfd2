"""Pairs into a trained run folder: teacher forcing, validation by decoding, checkpoints, resume."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attention._runtime.files import remove_unfinished, write_text
from keras_attention.batching.batches import (
    EncodedPairs,
    StreamedPairs,
    encode_pairs,
    evaluation_batches,
    training_batches,
)
from keras_attention.batching.survey import Survey, survey
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.evaluation.attention_spread import warn_of_stillness
from keras_attention.evaluation.evaluation import Evaluation, evaluate
from keras_attention.models.training_model import build_training_model
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.pairs.splits import Splits
from keras_attention.readers.calibration import save_calibration
from keras_attention.readers.engine_reader import engine_from_model
from keras_attention.readers.run import save_model
from keras_attention.readers.run_folder import (
    CALIBRATION,
    CHECKPOINT,
    CONFIG,
    VOCABULARY,
    check_startable,
    remove_run,
    write_history,
)
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator
from keras_attention.text.vocabulary import Vocabulary, save_vocabularies
from keras_attention.training import checkpoint
from keras_attention.training.advice import advise
from keras_attention.training.checkpoint import Progress, fingerprint_of_parts
from keras_attention.training.cluster import ALONE, Task
from keras_attention.training.distribution import from_chief
from keras_attention.training.step import make_loss_step, make_optimizer, make_training_step

SAMPLES = 5
EVALUATION_BATCH_SIZE = 1024
# An untrained model's loss is about log V; an epoch whose mean is this many times that diverges.
DIVERGED = 3.0

Log = Callable[[str], None]


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
def _telling_of_memory():
    try:
        yield
    except (tf.errors.ResourceExhaustedError, MemoryError):
        raise UserError(
            "--units: the model, a batch or an output does not fit into memory; make --units, "
            "--embedding-size, --layers, --batch-size or --longest-output smaller"
        ) from None


@_telling_of_memory()
def train(
    config: Config,
    splits: Splits,
    log: Log = print,
    started: float | None = None,
    task: Task = ALONE,
    prepare: Callable[[keras.Model], None] | None = None,
) -> Trained:
    """Trains, and writes the run folder but for `attention.png` and `metrics.json`.

    The same config and data give the same weights on the same machine, also when the process is
    killed at any moment and started again with `resume`.

    Args:
        config: All options; `config.out` is written.
        splits: The pairs; the training pairs may be a list or a `PairStream`.
        log: Takes each line that is to be shown.
        started: `time.monotonic()` at the start of the command, for `seconds.total`.
        task: Which of several processes this is. All are given the same config and data but for
            `out`, of which each has its own; the chief's is resumed.

    Raises:
        UserError: the folder holds a run and neither `resume` nor `overwrite` is set; the run to
            resume has other options or data; the loss stopped being a number or grew far above an
            untrained model's; the memory does not suffice; this worker's data are not the
            chief's.
    """
    started = time.monotonic() if started is None else started
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(config.seed)

    streamed = isinstance(splits.train, PairStream)
    block_size = config.shuffle_buffer if streamed else len(splits.train)
    seen = survey(splits.train, config, block_size)
    source, target = seen.source, seen.target
    config = dataclasses.replace(
        config,
        epochs=config.epochs_for(seen.batches),
        # A quarter more than was seen: room for a longer word, and an end for a loop.
        longest_output=config.longest_output or math.ceil(1.25 * seen.longest_target),
    )
    fingerprint = fingerprint_of_parts(seen.fingerprint, splits.valid, splits.test)
    progress = _start_or_resume(config, source, target, fingerprint)

    model = build_training_model(config, len(source), len(target))
    if prepare is not None:
        prepare(model)
    optimizer = make_optimizer(config, seen.batches * config.epochs)
    optimizer.build(model.trainable_variables)
    decoder = functools.partial(engine_from_model, model, config, source, target)

    best = model.get_weights()
    if progress.epochs_done:
        best = checkpoint.restore(Path(config.out) / CHECKPOINT, model, optimizer)
        write_history(config.out, progress.history)  # the kill may have come just before it
        log(f"resumed at epoch {progress.epochs_done + 1}")
    else:
        _log_start(log, seen, splits, model)
    best = _follow_chief(task, config, progress, model, optimizer, best)
    trained_before = progress.seconds
    best, valid = _train_epochs(
        config, splits, seen, model, optimizer, decoder, progress, best, log, task
    )
    model.set_weights(best)
    save_model(config.out, model)
    reader = decoder()
    translator = Translator(reader)
    valid = valid or evaluate(translator, splits.valid)
    reader.calibration = valid.fit_calibration()
    save_calibration(Path(config.out) / CALIBRATION, reader.calibration)
    if reservation := reader.calibration.reservation:
        log(f"calibration: {reservation}")
    if stillness := warn_of_stillness(valid.attention_spread()):
        log(f"warning: {stillness}")
    if advice := advise(progress.history, valid, math.log(len(target))):
        log(f"advice: {advice}")
    test = evaluate(translator, splits.test)
    metrics = {
        "test": test.summary(),
        "valid": valid.summary(),
        "seconds": {
            "total": round(trained_before + time.monotonic() - started, 1),
            "training": round(progress.seconds, 1),
        },
        "epochs": progress.epochs_done,
        "best_epoch": progress.best_epoch,
        "parameters": model.count_params(),
    }
    return Trained(translator, metrics, test, progress.history)


def _start_or_resume(
    config: Config, source: Vocabulary, target: Vocabulary, data_fingerprint: str
) -> Progress:
    check_startable(config)
    out = Path(config.out)
    remove_unfinished(out)
    remove_unfinished((out / CHECKPOINT).parent)
    if config.resume and (out / CHECKPOINT).is_file():
        return checkpoint.read_progress_of(out / CHECKPOINT, config.data, data_fingerprint)
    remove_run(out)
    save_vocabularies(out / VOCABULARY, source, target)
    write_text(out / CONFIG, config.to_json())
    return Progress(fingerprint=data_fingerprint)


def _follow_chief(task: Task, config, progress: Progress, model, optimizer, best) -> list:
    """Takes over the chief's state, which it may have resumed; returns the best weights so far."""
    if task.count == 1:
        return best
    own = int(progress.fingerprint[:12], 16)
    header = np.array([own, progress.epochs_done, progress.best_epoch])
    score = np.array(progress.best_score or [-np.finfo(np.float32).max] * 2)
    variables = [*model.variables, *optimizer.variables]
    values = checkpoint.values_of(variables)
    header, score, *values = from_chief(task, [header, score, *values, *best])
    if header[0] != own:
        raise UserError(f"--data: this worker finds other pairs in {config.data} than the chief")
    progress.epochs_done, progress.best_epoch = int(header[1]), int(header[2])
    progress.best_score = score.tolist()
    for variable, value in zip(variables, values[: len(variables)], strict=True):
        variable.assign(value)
    return values[len(variables) :]


def _train_epochs(
    config, splits, seen, model, optimizer, decoder, progress, best, log, task
) -> tuple[list[np.ndarray], Evaluation | None]:
    """Trains until the last epoch or until nothing gets better.

    Returns:
        The best weights, and their evaluation on the validation pairs if they are of these epochs.
    """
    training_step = make_training_step(model, optimizer, config)
    loss_step = make_loss_step(model)
    pairs = _encoded(splits.train, seen, config.shuffle_buffer)
    valid_pairs = encode_pairs(splits.valid, seen.source, seen.target)
    samples = _samples(splits.valid, config.seed)
    best_valid = None
    for epoch in range(progress.epochs_done, config.epochs):
        if progress.best_epoch and epoch - progress.best_epoch >= config.patience:
            log(f"stopped: no better validation result for {config.patience} epochs")
            break
        started = time.monotonic()
        log(f"Epoch {epoch + 1}/{config.epochs}")
        loss, norm = _train_one_epoch(config, pairs, seen, training_step, epoch)
        valid_loss = _mean_loss(loss_step, valid_pairs)
        translator = Translator(decoder())  # of the weights as they are now
        valid = evaluate(translator, splits.valid)
        # All workers see the same but for rounding; they must also decide the same.
        (score,) = from_chief(task, [np.array([valid.exact_match, -valid_loss])])
        score = score.tolist()
        better = score > progress.best_score
        if better:
            best, best_valid = model.get_weights(), valid
            progress.best_epoch, progress.best_score = epoch + 1, score
        spread = valid.attention_spread()
        seconds = time.monotonic() - started
        progress.history.append(
            {
                "epoch": epoch + 1,
                "loss": loss,
                "gradient_norm": norm,
                "valid_loss": valid_loss,
                "valid_exact_match": valid.exact_match,
                "learning_rate": float(optimizer.learning_rate),
                "seconds": round(seconds, 2),
                # Empty for a model without attention.
                "mean_largest_weight": spread and spread.mean_largest_weight,
                "one_position": spread and spread.one_position,
            }
        )
        progress.epochs_done = epoch + 1
        progress.seconds += seconds
        checkpoint.save(Path(config.out) / CHECKPOINT, progress, model, optimizer, best)
        write_history(config.out, progress.history)
        log(
            f"  valid: exact match {valid.exact_match:.4f}, loss {valid_loss:.4f}"
            + (" (best so far)" if better else "")
        )
        for line in _sample_lines(samples, translator.translate([s.source for s in samples])):
            log("  " + line)
    return best, best_valid


def _train_one_epoch(
    config: Config, pairs: EncodedPairs | StreamedPairs, seen: Survey, training_step, epoch: int
) -> tuple[float, float]:
    """Mean loss per real token and mean gradient norm of one pass over the pairs."""
    bar = keras.utils.Progbar(
        seen.batches, verbose=1 if sys.stdout.isatty() else 2, stateful_metrics=["loss"]
    )
    total = tokens = norms = 0.0
    batches = training_batches(pairs, config.batch_size, config.unknown_rate, config.seed, epoch)
    for step, batch in enumerate(batches, 1):
        batch_total, batch_tokens, norm = (float(value) for value in training_step(*batch))
        if not (math.isfinite(batch_total) and math.isfinite(norm)):
            raise UserError(
                f"--learning-rate: the loss is no longer a number in epoch {epoch + 1}, step "
                f"{step}; use a lower one than {config.learning_rate:g}, or clip harder"
            )
        total, tokens, norms = total + batch_total, tokens + batch_tokens, norms + norm
        bar.update(step, [("loss", total / tokens)], finalize=False)
    bar.update(step, [("loss", total / tokens)], finalize=True)
    loss = total / tokens
    guessing = math.log(len(seen.target))
    if loss > DIVERGED * guessing:
        raise UserError(
            f"--learning-rate: training diverges: epoch {epoch + 1} has a mean loss of {loss:.2f}, "
            f"guessing one of {guessing:.2f}; use a lower one than "
            f"{config.learning_rate:g}, or clip harder"
        )
    return loss, norms / step


def _encoded(
    pairs: list[Pair] | PairStream, seen: Survey, shuffle_buffer: int
) -> EncodedPairs | StreamedPairs:
    if isinstance(pairs, PairStream):
        return StreamedPairs(pairs.shuffled, seen.source, seen.target, shuffle_buffer)
    return encode_pairs(pairs, seen.source, seen.target)


def _mean_loss(loss_step, pairs: EncodedPairs) -> float:
    """Teacher-forced loss per real token in nats, without dropout."""
    sums = [
        [float(value) for value in loss_step(*batch)]
        for batch in evaluation_batches(pairs, EVALUATION_BATCH_SIZE)
    ]
    total, tokens = np.sum(sums, axis=0)
    return float(total / tokens)


def _samples(pairs: list[Pair], seed: int) -> list[Pair]:
    """The same few validation pairs in every epoch."""
    rows = np.random.default_rng(seed).permutation(len(pairs))[:SAMPLES]
    return [pairs[row] for row in rows]


def _sample_lines(samples: list[Pair], translations: list[Translation]) -> list[str]:
    lines = []
    for pair, translation in zip(samples, translations, strict=True):
        right = translation.text == pair.target
        verdict = "right" if right else f"wrong, expected {pair.target}"
        lines.append(f"{pair.source} → {translation.text} ({verdict})")
    return lines


def _log_start(log: Log, seen: Survey, splits: Splits, model: keras.Model) -> None:
    log(
        f"{seen.pairs} training, {len(splits.valid)} validation, {len(splits.test)} test "
        f"pairs; {len(seen.source.tokens)} source and {len(seen.target.tokens)} target tokens; "
        f"{model.count_params()} parameters"
    )
