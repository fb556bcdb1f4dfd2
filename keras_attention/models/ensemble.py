"""Several models that decode as one: the mean of what they say at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attention.models.inference import GreedyModel, InferenceModel


@keras.saving.register_keras_serializable(package="keras_attention")
class Ensemble(GreedyModel):
    """Decodes by the mean of its members' probabilities; its attention is the mean of theirs.

    It takes and returns what an `InferenceModel` does, and is saved and loaded like one.

    Args:
        members: At least one model; all number their tokens alike. They have attention, or none.
        name: Of the Keras model.
        kwargs: Other arguments of `keras.Model`, such as `dtype`.
    """

    def __init__(self, members: Sequence[InferenceModel], name: str = "ensemble", **kwargs):
        super().__init__(name=name, **kwargs)
        self.members = list(members)
        self.longest_output = max(member.longest_output for member in members)

    @property
    def has_attention(self) -> bool:
        """Whether the members have attention weights."""
        return all(member.has_attention for member in self.members)

    def build(self, source_shape):
        self.built = True  # the members have their weights

    def prepare(self, source_ids, copies):
        steps, states, source_lengths = zip(
            *(member.prepare(source_ids, copies) for member in self.members), strict=True
        )
        counts = [len(part) for part in states]

        def step(token_ids, states):
            member_log_probs, new_states, member_weights = [], [], []
            for member_step, count in zip(steps, counts, strict=True):
                own, states = states[:count], states[count:]
                log_probabilities, own, weights = member_step(token_ids, own)
                member_log_probs.append(log_probabilities)
                new_states += own
                member_weights.append(weights)
            mean = _log_of_mean(member_log_probs)
            if not self.has_attention:
                return mean, new_states, tf.zeros([tf.shape(token_ids)[0], 0])
            return mean, new_states, tf.add_n(member_weights) / len(member_weights)

        source_length = source_lengths[0] if self.has_attention else tf.constant(0)
        return step, [state for part in states for state in part], source_length

    def get_config(self):
        return {
            **super().get_config(),
            "name": self.name,
            "members": [keras.saving.serialize_keras_object(member) for member in self.members],
        }

    @classmethod
    def from_config(cls, config):
        members = [keras.saving.deserialize_keras_object(part) for part in config["members"]]
        return cls(**{**config, "members": members})


def _log_of_mean(log_probabilities: list[tf.Tensor]) -> tf.Tensor:
    """Logarithm of the mean of probabilities `[n, V]` each, given as finite logarithms.

    `tf.reduce_logsumexp` also allows for infinities, by an operator that LiteRT does not have.
    """
    stacked = tf.stack(log_probabilities)  # [members, n, V]
    most = tf.reduce_max(stacked, axis=0)
    total = tf.reduce_sum(tf.exp(stacked - most), axis=0)
    return tf.math.log(total) + most - math.log(len(log_probabilities))
