"""One step of training, compiled: loss over real tokens, gradients, clipping, Adam."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from keras_attention.config import Config
from keras_attention.distribution import AdamOfSums, rows_of_replica, summed
from keras_attention.metrics import global_norm, real_tokens, token_losses

_IDS = tf.TensorSpec([None, None], tf.int32)


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
    model: keras.Model, optimizer: keras.optimizers.Optimizer, label_smoothing: float
) -> Callable:
    """A compiled function that trains on one batch.

    Under a `tf.distribute` strategy it is called in the strategy's scope and on every worker with
    the same batch; each replica takes its rows of it.

    Returns:
        From `source_ids`, `decoder_ids`, `target_ids`, int32 each, to the summed loss in nats, the
        number of real tokens, and the global norm of the gradients before clipping; float32
        scalars. The gradient is that of the mean loss over the batch's real tokens.
    """

    strategy = tf.distribute.get_strategy()

    def replica_step(source_ids, decoder_ids, target_ids):
        source_ids, decoder_ids, target_ids = rows_of_replica(source_ids, decoder_ids, target_ids)
        with tf.GradientTape() as tape:
            inputs = {"source_ids": source_ids, "decoder_ids": decoder_ids}
            logits = model(inputs, training=True)
            total = tf.reduce_sum(token_losses(target_ids, logits, label_smoothing))
        gradients = [
            tf.convert_to_tensor(gradient)  # an embedding's are slices, which may repeat a row
            for gradient in tape.gradient(total, model.trainable_variables)
        ]
        # Summed over the replicas before they are divided and clipped: as if there were one.
        tokens = tf.reduce_sum(real_tokens(target_ids))
        total, tokens, *gradients = summed([total, tokens, *gradients])
        gradients = [gradient / tokens for gradient in gradients]
        norm = global_norm(gradients)
        optimizer.apply(gradients, model.trainable_variables)
        return total, tokens, norm

    @tf.function(input_signature=[_IDS, _IDS, _IDS], autograph=False)
    def training_step(*batch):
        results = strategy.run(replica_step, args=batch)
        return [strategy.experimental_local_results(result)[0] for result in results]

    return training_step


def make_loss_step(model: keras.Model) -> Callable:
    """A compiled function from one batch to its summed loss and its number of real tokens."""

    @tf.function(input_signature=[_IDS, _IDS, _IDS], autograph=False)
    def loss_step(source_ids, decoder_ids, target_ids):
        inputs = {"source_ids": source_ids, "decoder_ids": decoder_ids}
        losses = token_losses(target_ids, model(inputs, training=False))
        return tf.reduce_sum(losses), tf.reduce_sum(real_tokens(target_ids))

    return loss_step
