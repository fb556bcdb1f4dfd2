"""Epoch after epoch: train, validate, keep the best weights, save; until nothing gets better."""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections.abc import Callable, Sequence

import keras
import numpy as np

from keras_attention._runtime.progress import ProgressLines
from keras_attention.batching.batches import (
    POSITIONS_PER_BATCH,
    EncodedPairs,
    evaluation_batches,
    training_batches,
)
from keras_attention.batching.training_data import TrainingData
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.evaluation.evaluation import Evaluation, evaluate
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Reader, Translator
from keras_attention.training.checkpoint import Progress
from keras_attention.training.cluster import ALONE, Task
from keras_attention.training.distribution import from_chief
from keras_attention.training.selection import selection_score
from keras_attention.training.step import CompiledStep, make_loss_step, make_training_step

SAMPLES = 5
EVALUATION_BATCH_SIZE = 1024
# Validation computes no more logits at a time, 64 MB of them, however large the vocabulary is.
LOGITS_PER_BATCH = 2**24
# An untrained model's loss is about log V; an epoch whose mean is this many times that diverges.
DIVERGED = 3.0

Log = Callable[[str], None]


@dataclasses.dataclass
class TrainingState:
    """What changes in the course of a training.

    Attributes:
        model, optimizer: In training.
        progress: How far it has come.
        best: Weights of the best epoch so far.
        best_valid: Their evaluation on the validation pairs; None where it was made by an earlier
            process, which was interrupted.
    """

    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    progress: Progress
    best: list[np.ndarray]
    best_valid: Evaluation | None = None


@dataclasses.dataclass(frozen=True)
class EpochLoop:
    """What stays the same in the course of a training.

    Attributes:
        config: With all numbers filled in.
        data: The pairs as numbers.
        valid_pairs: The validation pairs as texts.
        reader: Makes a reader of the model in training, with the weights as they are.
        save: Called with the state behind each epoch.
        log: Takes each line that is to be shown.
        task: Which of several processes this is.
    """

    config: Config
    data: TrainingData
    valid_pairs: Sequence[Pair]
    reader: Callable[[], Reader]
    save: Callable[[TrainingState], None] = lambda state: None
    log: Log = print
    task: Task = ALONE

    def run(self, state: TrainingState) -> None:
        """Trains until the last epoch, or until nothing has got better for a while.

        Raises:
            UserError: the loss is no longer a number, or training diverges.
        """
        training_step = make_training_step(state.model, state.optimizer, self.config)
        loss_step = make_loss_step(state.model)
        samples = _samples(self.valid_pairs, self.config.seed)
        progress, patience = state.progress, self.config.patience
        epochs = self.config.filled_in("epochs")
        batches = self.data.survey.batches
        lines = ProgressLines(batches * epochs, self.log, batches * progress.epochs_done)
        for epoch in range(progress.epochs_done, epochs):
            if progress.best_epoch and epoch - progress.best_epoch >= patience:
                self.log(f"stopped: no better validation result for {patience} epochs")
                break
            started = time.monotonic()
            self.log(f"Epoch {epoch + 1}/{epochs}")
            loss, norm = train_one_epoch(self.config, self.data, training_step, epoch, lines)
            row = {"epoch": epoch + 1, "loss": loss, "gradient_norm": norm}
            translator = Translator(self.reader())
            better = self._validate(state, loss_step, translator, row)
            row["learning_rate"] = float(state.optimizer.learning_rate)
            seconds = time.monotonic() - started
            row["seconds"] = round(seconds, 2)
            progress.history.append(row)
            progress.epochs_done = epoch + 1
            progress.seconds += seconds
            self.save(state)
            self.log(
                f"  valid: exact match {row['valid_exact_match']:.4f}, "
                f"loss {row['valid_loss']:.4f}, "
                f"token error rate {row['valid_token_error_rate']:.4f}, "
                f"BLEU {row['valid_bleu']:.1f}, chrF {row['valid_chrf']:.1f}"
                + (" (best so far)" if better else "")
            )
            translations = translator.translate([pair.source for pair in samples])
            for line in _sample_lines(samples, translations):
                self.log("  " + line)

    def _validate(
        self, state: TrainingState, loss_step: CompiledStep, translator: Translator, row: dict
    ) -> bool:
        """Adds the validation result to an epoch's row; keeps the weights if it is the best."""
        valid_loss = mean_loss(loss_step, self.data.valid, len(self.data.survey.target))
        valid = evaluate(translator, self.valid_pairs)
        spread = valid.attention_spread()
        row |= {
            "valid_loss": valid_loss,
            "valid_exact_match": valid.exact_match,
            # Empty for a model without attention.
            "mean_largest_weight": spread and spread.mean_largest_weight,
            "one_position": spread and spread.one_position,
            "valid_token_error_rate": valid.token_error_rate,
            "valid_bleu": valid.bleu(),
            "valid_chrf": valid.chrf(),
        }
        # All workers see the same but for rounding; they must also decide the same.
        own = selection_score(row, self.config.select_by)
        (score,) = from_chief(self.task, [np.array(own)])
        better = score.tolist() > state.progress.best_score
        if better:
            state.best, state.best_valid = state.model.get_weights(), valid
            state.progress.best_epoch = row["epoch"]
            state.progress.best_score = score.tolist()
        return better


def train_one_epoch(
    config: Config,
    data: TrainingData,
    training_step: CompiledStep,
    epoch: int,
    lines: ProgressLines | None = None,
) -> tuple[float, float]:
    """Mean loss per real token and mean gradient norm of one pass over the pairs.

    Progress is a bar on a terminal; elsewhere `lines` tells of it.
    """
    on_terminal = sys.stdout.isatty()
    bar = keras.utils.Progbar(
        data.survey.batches, verbose=1 if on_terminal else 2, stateful_metrics=["loss"]
    )
    total = tokens = norms = 0.0
    steps = 0
    for batch in training_batches(
        data.train, config.batch_size, config.unknown_rate, config.seed, epoch
    ):
        steps += 1
        batch_total, batch_tokens, norm = (float(value) for value in training_step(*batch))
        if not (math.isfinite(batch_total) and math.isfinite(norm)):
            raise UserError(
                f"--learning-rate: the loss is no longer a number in epoch {epoch + 1}, step "
                f"{steps}; use a lower one than {config.learning_rate:g}, or a smaller --clipnorm"
            )
        total, tokens, norms = total + batch_total, tokens + batch_tokens, norms + norm
        bar.update(steps, [("loss", total / tokens)], finalize=False)
        if lines is not None and not on_terminal:
            done = epoch * data.survey.batches + steps
            lines.tell(done, f"epoch {epoch + 1}, loss {total / tokens:.4f}")
    bar.update(steps, [("loss", total / tokens)], finalize=True)
    loss = total / tokens
    guessing = math.log(len(data.survey.target))
    if loss > DIVERGED * guessing:
        raise UserError(
            f"--learning-rate: training diverges: epoch {epoch + 1} has a mean loss of {loss:.2f}, "
            f"guessing one of {guessing:.2f}; use a lower one than "
            f"{config.learning_rate:g}, or a smaller --clipnorm"
        )
    return loss, norms / steps


def mean_loss(loss_step: CompiledStep, pairs: EncodedPairs, vocabulary_size: int) -> float:
    """Teacher-forced loss per real token in nats, without dropout."""
    positions = min(POSITIONS_PER_BATCH, LOGITS_PER_BATCH // vocabulary_size)
    sums = [
        [float(value) for value in loss_step(*batch)]
        for batch in evaluation_batches(pairs, EVALUATION_BATCH_SIZE, positions)
    ]
    total, tokens = np.sum(sums, axis=0)
    return float(total / tokens)


def _samples(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The same few validation pairs in every epoch."""
    rows = np.random.default_rng(seed).permutation(len(pairs))[:SAMPLES]
    return [pairs[row] for row in rows]


def _sample_lines(samples: Sequence[Pair], translations: Sequence[Translation]) -> list[str]:
    lines = []
    for pair, translation in zip(samples, translations, strict=True):
        right = translation.text == pair.target
        verdict = "right" if right else f"wrong, expected {pair.target}"
        lines.append(f"{pair.source} → {translation.text} ({verdict})")
    return lines
