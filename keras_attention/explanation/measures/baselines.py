"""Other models trained for comparison: is attention needed, and is it the same from other seeds?

Uniform attention from the first step of training on, no attention, and the same model from other
seeds (Wiegreffe and Pinter 2019). Each is trained as `train` would train it: all options of the
run, stopped by validation, the best weights kept.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_attention.batching.survey import survey
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.explanation.measures.attribution_model import SequenceAttributionModel
from keras_attention.explanation.measures.distances import jensen_shannon
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.interventions import attention_of
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.pairs.splits import Splits, StreamedSplits
from keras_attention.readers.run import Run, load_run
from keras_attention.training.trainer import train

OTHER_SEEDS = 2
# The options that a model without attention has to leave out with it.
NO_ATTENTION: dict[str, Any] = {
    "attention": "none",
    "attentional_layer": False,
    "attention_normalizer": "softmax",
}


@dataclasses.dataclass(frozen=True)
class Baselines:
    """What the other models do on the audited examples.

    Attributes:
        right: For "uniform_trained", "no_attention" and each other seed, bool `[E]`: whether its
            answer equals the reference.
        between_seeds: float `[E, T, OTHER_SEEDS]`, Jensen–Shannon divergence of the attention of
            each other seed from the model's, at the model's own answers.
    """

    right: dict[str, np.ndarray]
    between_seeds: np.ndarray


def train_baselines(
    run: Run,
    splits: Splits | StreamedSplits,
    examples: Examples,
    attention: np.ndarray,
    progress: Callable[[int, int], None],
) -> Baselines:
    """Trains all baselines of a run on its own data.

    Args:
        run: The run under audit.
        splits: Its training and validation pairs, and the audited pairs in place of the test pairs.
        examples: The audited pairs as examples, in the same order.
        attention: What `attention_of` returns for run and examples.
        progress: Is told how much of all trainings is done.

    Raises:
        UserError: the training pairs hold other tokens than those that the run was trained on.
    """
    _check_vocabularies(run, splits)
    kinds = baseline_configs(run.config)
    right, others = {}, []
    for place, (name, config) in enumerate(kinds.items()):

        def of_all(percent: int, place: int = place) -> None:
            progress(100 * place + percent, 100 * len(kinds))

        baseline, right[name] = train_once(config, splits, name == "uniform_trained", of_all)
        if name.startswith("seed_"):
            others.append(attention_of(SequenceAttributionModel(baseline), examples))
    return Baselines(right, between_seeds(attention, others))


def baseline_configs(config: Config) -> dict[str, Config]:
    """The options of each baseline by its name; they differ from the run's in one thing each."""
    none = dataclasses.replace(config, **NO_ATTENTION)
    # Uniform attention is a general score whose matrix is 0 and stays so.
    configs = {
        "uniform_trained": dataclasses.replace(config, attention="general"),
        "no_attention": none,
    }
    for number in range(1, OTHER_SEEDS + 1):
        seed = config.seed + number
        configs[f"seed_{seed}"] = dataclasses.replace(config, seed=seed)
    return configs


def between_seeds(attention: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Divergence `[E, T, len(others)]` of other models' attention `[E, T, S]` at the same steps."""
    own = tf.constant(np.nan_to_num(attention))
    divergences = [
        jensen_shannon(own, tf.constant(np.nan_to_num(other))).numpy() for other in others
    ]
    steps = ~np.isnan(attention).all(axis=-1, keepdims=True)
    return np.where(steps, np.stack(divergences, axis=-1), np.nan)


def train_once(
    config: Config, splits: Splits | StreamedSplits, uniform: bool, progress: Callable[[int], None]
) -> tuple[Run, np.ndarray]:
    """One training in a folder of its own, which is removed afterwards.

    Args:
        config: Of the model to train.
        splits: Training, validation and audited pairs.
        uniform: Whether the general score's matrix is set to 0 and frozen there.
        progress: Takes per cent of the training done.

    Returns:
        The trained run, and bool `[E]`: which of `splits.test` it answers right.
    """

    def log(line: str) -> None:
        if epoch := re.fullmatch(r"Epoch (\d+)/(\d+)", line):
            progress(100 * (int(epoch[1]) - 1) // int(epoch[2]))

    with tempfile.TemporaryDirectory(prefix="baseline-") as folder:
        out = str(pathlib.Path(folder) / "run")
        config = dataclasses.replace(config, out=out, resume=False, overwrite=False)
        trained = train(config, splits, log=log, adjust=_make_uniform if uniform else None)
        run = load_run(out)
    progress(100)
    return run, np.array(trained.test.right)


def _make_uniform(model: keras.Model) -> None:
    attention = model.get_layer("attention")
    attention.kernel.assign(np.zeros(attention.kernel.shape, np.float32))
    attention.trainable = False


def _check_vocabularies(run: Run, splits: Splits | StreamedSplits) -> None:
    pairs = splits.train
    block_size = run.config.shuffle_buffer if isinstance(pairs, PairStream) else len(pairs)
    found = survey(pairs, run.config, block_size)
    if (found.source, found.target) != (run.source, run.target):
        raise UserError(
            f"--train-baselines: {run.config.data} holds other tokens than the run was trained "
            "with, so it is not the run's data; restore them, or leave the option out"
        )
