"""One step of training, compiled: loss over real tokens, gradients, clipping, Adam."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

import keras
import tensorflow as tf

from keras_attention._runtime.threads import INTER_OP
from keras_attention.config import Config
from keras_attention.training.distribution import AdamOfSums, rows_of_replica, summed
from keras_attention.training.fast_dropout import fast_dropout, rows_in_parts
from keras_attention.training.fused_lstm import can_be_fused, fused_lstms, lstm_layers
from keras_attention.training.losses import global_norm, real_tokens, token_losses

BATCH_PARTS = 2  # that are computed side by side, one on each half of the cores

# From here on a batch is worth computing in parts: rows times units where layers are fused, rows
# where they are Keras' own. Both figures: docs/scaling.md.
WORTH_PARTS = 8192
WORTH_PARTS_UNFUSED = 256

_IDS = tf.TensorSpec([None, None], tf.int32)


class CompiledStep:
    """A compiled function of batches, called without TensorFlow's look at the arguments' types.

    That look takes a third of a millisecond. Tracing waits for the first call.

    Args:
        function: A `tf.function` with an input signature.
    """

    def __init__(self, function: tf.types.experimental.PolymorphicFunction):
        self._function = function

    @functools.cached_property
    def concrete(self) -> tf.types.experimental.ConcreteFunction:
        """The function, traced."""
        return self._function.get_concrete_function()

    def __call__(self, *batch):
        return self.concrete(*map(tf.convert_to_tensor, batch))


def make_optimizer(config: Config, total_steps: int) -> keras.optimizers.Optimizer:
    """Adam whose learning rate falls to 0 along a cosine, with the config's clipping rule.

    Keras' `clipnorm` bounds each variable's gradient by itself, `global_clipnorm` all together.
    """
    rising = round(config.warmup * total_steps)
    return AdamOfSums(
        keras.optimizers.schedules.CosineDecay(
            config.learning_rate / rising if rising else config.learning_rate,
            total_steps - rising,
            warmup_target=config.learning_rate if rising else None,
            warmup_steps=rising,
        ),
        clipnorm=config.clipnorm or None,
        global_clipnorm=config.global_clipnorm or None,
    )


def make_training_step(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, config: Config
) -> CompiledStep:
    """A compiled function that trains on one batch.

    On a processor the layers compute in faster ways while the function is traced, and a batch is
    computed in parts side by side where TensorFlow may run two operations at a time. Dropout is
    drawn as for parts in any case, so that the results are the same but for rounding. The model is
    left as it was.

    Under a `tf.distribute` strategy it is called in the strategy's scope and on every worker with
    the same batch; each replica takes its rows of it.

    Returns:
        From `source_ids`, `decoder_ids`, `target_ids`, int32 each, to the summed loss in nats, the
        number of real tokens, and the global norm of the gradients before clipping; float32
        scalars. The gradient is that of the mean loss over the batch's real tokens.
    """
    draws = _parts_worth_while(model, config)
    parts = draws if _operations_side_by_side() else 1
    strategy = tf.distribute.get_strategy()

    def loss_of(source_ids, decoder_ids, target_ids):
        inputs = {"source_ids": source_ids, "decoder_ids": decoder_ids}
        with _faster_layers(model, draws // parts):
            logits = model(inputs, training=True)
        return tf.reduce_sum(token_losses(target_ids, logits, config.label_smoothing))

    def replica_step(source_ids, decoder_ids, target_ids):
        batch = rows_of_replica(source_ids, decoder_ids, target_ids)
        with tf.GradientTape() as tape:
            columns = [rows_in_parts(column, parts) for column in batch]
            total = tf.add_n([loss_of(*rows) for rows in zip(*columns, strict=True)])
        gradients = [
            tf.convert_to_tensor(gradient)  # an embedding's are slices, which may repeat a row
            for gradient in tape.gradient(total, model.trainable_variables)
        ]
        # Summed over the replicas before they are divided and clipped: as if there were one.
        tokens = tf.reduce_sum(real_tokens(batch[-1]))
        total, tokens, *gradients = summed([total, tokens, *gradients])
        gradients = [gradient / tokens for gradient in gradients]
        norm = global_norm(gradients)
        optimizer.apply(gradients, model.trainable_variables)
        return total, tokens, norm

    @tf.function(input_signature=[_IDS, _IDS, _IDS], autograph=False)
    def training_step(*batch):
        results = strategy.run(replica_step, args=batch)
        return [strategy.experimental_local_results(result)[0] for result in results]

    return CompiledStep(training_step)


def make_loss_step(model: keras.Model) -> CompiledStep:
    """A compiled function from one batch to its summed loss and its number of real tokens."""

    @tf.function(input_signature=[_IDS, _IDS, _IDS], autograph=False)
    def loss_step(source_ids, decoder_ids, target_ids):
        inputs = {"source_ids": source_ids, "decoder_ids": decoder_ids}
        losses = token_losses(target_ids, model(inputs, training=False))
        return tf.reduce_sum(losses), tf.reduce_sum(real_tokens(target_ids))

    return CompiledStep(loss_step)


@contextlib.contextmanager
def _faster_layers(model: keras.Model, draws: int) -> Iterator[None]:
    """Where the layers of a model compute faster when they are trained on this machine."""
    if _has_gpu():  # which has operations of its own
        yield
    else:
        with fused_lstms(model), fast_dropout(model, draws):
            yield


def _parts_worth_while(model: keras.Model, config: Config) -> int:
    """In how many parts a batch would best be computed, whatever TensorFlow may run at a time."""
    lstms = lstm_layers(model)
    if _has_gpu():
        return 1
    if lstms and all(map(can_be_fused, lstms)):
        worth_parts = config.batch_size * config.units >= WORTH_PARTS
    else:
        worth_parts = config.batch_size >= WORTH_PARTS_UNFUSED
    return BATCH_PARTS if worth_parts else 1


def _has_gpu() -> bool:
    return bool(tf.config.list_logical_devices("GPU"))


def _operations_side_by_side() -> bool:
    """Whether TensorFlow may run several operations at a time."""
    told = tf.config.threading.get_inter_op_parallelism_threads()
    return told != 1 if told else os.environ.get(INTER_OP) != "1"
