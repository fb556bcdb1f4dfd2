"""Several models that decode as one: the mean of what they say at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tensorflow as tf

from keras_attention.models.inference import StepDecoder


class Ensemble(StepDecoder):
    """Decodes by the mean of its members' probabilities; its attention is the mean of theirs.

    Args:
        members: At least one model; all number their tokens alike. They have attention, or none.
    """

    def __init__(self, members: Sequence[StepDecoder]):
        self._members = list(members)
        self.longest_output = max(member.longest_output for member in members)

    @property
    def has_attention(self) -> bool:
        """Whether the members have attention weights."""
        return all(member.has_attention for member in self._members)

    def prepare(self, source_ids, copies):
        steps, states, source_lengths = zip(
            *(member.prepare(source_ids, copies) for member in self._members), strict=True
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
            total = tf.reduce_logsumexp(tf.stack(member_log_probs), axis=0)
            mean = total - math.log(len(member_log_probs))
            if not self.has_attention:
                return mean, new_states, tf.zeros([tf.shape(token_ids)[0], 0])
            return mean, new_states, tf.reduce_mean(tf.stack(member_weights), axis=0)

        source_length = source_lengths[0] if self.has_attention else tf.constant(0)
        return step, [state for part in states for state in part], source_length
