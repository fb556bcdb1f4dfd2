"""Other models trained for comparison: is attention needed, and is it the same from other seeds?

Uniform attention from the first step of training on, no attention, and the same model from other
seeds (Wiegreffe and Pinter 2019), each by the run's own recipe.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_attention.batching.batches import encode_pairs, training_batches
from keras_attention.config import Config
from keras_attention.explanation.measures.distances import jensen_shannon
from keras_attention.explanation.measures.examples import Examples
from keras_attention.explanation.measures.interventions import attention_of
from keras_attention.explanation.measures.subject import SequenceSubject
from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import build_training_model
from keras_attention.pairs.pair import Pair
from keras_attention.readers.run import Run
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from keras_attention.training.step import make_optimizer, make_training_step

OTHER_SEEDS = 2
# The options that a model without attention has to leave out with it.
NO_ATTENTION = {
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
    train: Sequence[Pair],
    examples: Examples,
    attention: np.ndarray,
    pairs: Sequence[Pair],
    progress: Callable[[int, int], None],
) -> Baselines:
    """Trains all baselines of a run on its training pairs.

    Args:
        run: The run under audit.
        train: Its training pairs.
        examples: The audited examples; `pairs` are the same as text.
        attention: What `attention_of` returns for run and examples.
        progress: Is told how much of all trainings is done.
    """
    config = run.config
    other_seeds = [config.seed + 1 + number for number in range(OTHER_SEEDS)]
    kinds = {
        "uniform_trained": (config, True),
        "no_attention": (dataclasses.replace(config, **NO_ATTENTION), False),
    } | {f"seed_{seed}": (dataclasses.replace(config, seed=seed), False) for seed in other_seeds}
    right, others = {}, []
    for place, (name, (config, uniform)) in enumerate(kinds.items()):

        def of_all(percent: int, place: int = place) -> None:
            progress(100 * place + percent, 100 * len(kinds))

        baseline = train_once(config, run, train, uniform, of_all)
        right[name] = _right(baseline, pairs)
        if name.startswith("seed_"):
            others.append(attention_of(SequenceSubject(baseline), examples))
    return Baselines(right, between_seeds(attention, others))


def between_seeds(attention: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Divergence `[E, T, len(others)]` of other models' attention `[E, T, S]` at the same steps."""
    own = tf.constant(np.nan_to_num(attention))
    divergences = [
        jensen_shannon(own, tf.constant(np.nan_to_num(other))).numpy() for other in others
    ]
    steps = ~np.isnan(attention).all(axis=-1, keepdims=True)
    return np.where(steps, np.stack(divergences, axis=-1), np.nan)


def train_once(
    config: Config,
    run: Run,
    train: Sequence[Pair],
    uniform: bool,
    progress: Callable[[int], None],
) -> Run:
    """One model by the run's recipe and with its vocabularies, after the last epoch.

    Args:
        config: Of the model to train.
        run: Whose vocabularies to use.
        train: Training pairs.
        uniform: Whether attention is uniform, in training, too: a general score whose matrix is 0
            and stays so.
        progress: Takes per cent of the training done.
    """
    keras.utils.set_random_seed(config.seed)
    if uniform:
        config = dataclasses.replace(config, attention="general")
    model = build_training_model(config, len(run.source), len(run.target))
    if uniform:
        attention = model.get_layer("attention")
        attention.kernel.assign(np.zeros(attention.kernel.shape, np.float32))
        attention.trainable = False
    pairs = encode_pairs(train, run.source, run.target)
    steps = math.ceil(len(train) / config.batch_size)
    optimizer = make_optimizer(config, steps * config.epochs)
    optimizer.build(model.trainable_variables)
    training_step = make_training_step(model, optimizer, config)
    for epoch in range(config.epochs):
        batches = training_batches(
            pairs, config.batch_size, config.unknown_rate, config.seed, epoch
        )
        for step, batch in enumerate(batches, 1):
            training_step(*batch)
            done = (epoch * steps + step) / (config.epochs * steps)
            progress(min(100, int(100 * done)))
    return Run(config, run.source, run.target, model)


def _right(run: Run, pairs: Sequence[Pair]) -> np.ndarray:
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    translator = Translator(RunReader(model, run.source, run.target))
    translations = translator.translate([pair.source for pair in pairs])
    return np.array(
        [result.text == pair.target for result, pair in zip(translations, pairs, strict=True)]
    )
