"""Several processes or devices train one model: each takes its rows of every batch.

Keras 3's `fit` does not work with `MultiWorkerMirroredStrategy`, and its optimizers clip gradients
before they add them up over the workers. So the training step adds up first, by `summed`, and
leaves clipping and the update to an optimizer of the class `AdamOfSums`: then any number of
workers computes what one process with the same global batch does, dropout aside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_attention._runtime.undocumented import require_method
from keras_attention.errors import UserError
from keras_attention.training.cluster import Task


class AdamOfSums(keras.optimizers.Adam):
    """Adam for gradients that are already the same on all replicas.

    A variable that lies on one device is updated by one operation. Every row of an embedding is,
    also those that a batch did not use: their moments decay and go on moving them, and an update of
    the used rows alone would be another method (TensorFlow's and PyTorch's "lazy" Adam).

    Raises:
        RuntimeError: this Keras adds up gradients in another place, so they would be added twice.
    """

    def __init__(self, *args, **kwargs):
        require_method(keras.optimizers.Adam, "_all_reduce_sum_gradients")
        require_method(keras.optimizers.Adam, "update_step")
        super().__init__(*args, **kwargs)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return list(grads_and_vars)

    def update_step(self, gradient, variable, learning_rate):
        """As Keras' Adam, whose ten operations each pass over the whole variable."""
        index = self._get_variable_index(variable)
        moments = [self._momentums[index].value, self._velocities[index].value]
        held = [variable, *moments]
        if any(isinstance(each, tf.distribute.DistributedValues) for each in held) or self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        dtype = variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            **dict(zip(("var", "m", "v"), (each.handle for each in held), strict=True)),
            beta1_power=tf.pow(tf.constant(self.beta_1, dtype), step),
            beta2_power=tf.pow(tf.constant(self.beta_2, dtype), step),
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.constant(self.beta_1, dtype),
            beta2=tf.constant(self.beta_2, dtype),
            epsilon=tf.constant(self.epsilon, dtype),
            grad=tf.cast(gradient, dtype),
        )


def make_strategy(task: Task) -> tf.distribute.Strategy:
    """How this process trains: with the other workers, on all its GPUs, or on its one device.

    Must be called before any other use of TensorFlow where there are several workers.
    """
    if task.count > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def rows_of_replica(*columns: tf.Tensor) -> list[tf.Tensor]:
    """Every n-th row of each tensor: what this one of n replicas takes of a global batch.

    Rows lie sorted by length, so each replica gets rows of all lengths.
    """
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if replicas == 1:
        return list(columns)
    first = tf.distribute.get_replica_context().replica_id_in_sync_group
    return [column[first::replicas] for column in columns]


def summed(values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Sums over all replicas, in one exchange; called on each of them."""
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, list(values))


def from_chief(task: Task, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The chief's arrays, on every worker; all call it together, with arrays of the same shapes.

    Values travel as float64, which float32 and integers below 2**53 pass through unchanged.
    """
    arrays = [np.asarray(array) for array in arrays]
    if task.count == 1:
        return arrays
    flat = np.concatenate([array.ravel().astype(np.float64) for array in arrays])
    own = tf.constant(flat if task.is_chief else np.zeros_like(flat))
    strategy = tf.distribute.get_strategy()
    (received,) = strategy.run(tf.function(lambda: summed([own]), autograph=False))
    received = strategy.experimental_local_results(received)[0].numpy()
    parts = np.split(received, np.cumsum([array.size for array in arrays])[:-1])
    return [
        part.reshape(array.shape).astype(array.dtype)
        for part, array in zip(parts, arrays, strict=True)
    ]


@contextlib.contextmanager
def telling_of_lost_workers(task: Task) -> Iterator[None]:
    """Turns what TensorFlow raises when another worker is gone into one line.

    Raises:
        UserError: a worker was lost.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if task.count == 1 or isinstance(error, tf.errors.ResourceExhaustedError):
            raise
        raise UserError(
            f"TF_CONFIG: another worker was lost ({type(error).__name__}), so this one ends too; "
            "start all workers again with --resume"
        ) from None
