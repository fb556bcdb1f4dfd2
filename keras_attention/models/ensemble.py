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
        self.has_attention = all(member.has_attention for member in members)

    def prepare(self, source_ids, copies):
        steps, states, widths = zip(
            *(member.prepare(source_ids, copies) for member in self._members), strict=True
        )
        counts = [len(part) for part in states]

        def step(token_ids, states):
            said, new_states, looked = [], [], []
            for member_step, count in zip(steps, counts, strict=True):
                own, states = states[:count], states[count:]
                log_probabilities, own, weights = member_step(token_ids, own)
                said.append(log_probabilities)
                new_states += own
                looked.append(weights)
            mean = tf.reduce_logsumexp(tf.stack(said), axis=0) - math.log(len(said))
            if not self.has_attention:
                return mean, new_states, tf.zeros([tf.shape(token_ids)[0], 0])
            return mean, new_states, tf.reduce_mean(tf.stack(looked), axis=0)

        width = widths[0] if self.has_attention else tf.constant(0)
        return step, [state for part in states for state in part], width
