"""Tiny models whose explanations are known by construction, as the audit sees models."""

import numpy as np
import tensorflow as tf

from keras_attention.explanation.measures.attribution_model import LinearizedReadout
from keras_attention.explanation.measures.examples import Examples
from keras_attention.pairs.alignment import Link
from keras_attention.text.vocabulary import RaggedIds

TOKENS = 8  # source ids are 1 to 8, answer ids likewise: token i is emitted as id i


class HandBuilt:
    """A model of as many steps as its source has tokens; see `attribution_model.AttributionModel`.

    Args:
        weights_of: From ids `[B, S]` to attention weights `[B, T, S]`.
        value_scale: How strongly a source token votes for itself.
        state_scale: How strongly the state votes for token 1.
    """

    column_offset = 1
    feature_dim = TOKENS
    replacement_id = TOKENS

    def __init__(self, weights_of, value_scale=0.0, state_scale=0.0, constant_values=False):
        self.weights_of = weights_of
        self.value_scale = value_scale
        self.state_scale = state_scale
        self.constant_values = constant_values

    def embed(self, source_ids):
        return tf.one_hot(source_ids - 1, TOKENS)

    def linearize(self, embeddings, source_ids, answer_ids):
        weights = self.weights_of(source_ids)[:, : tf.shape(answer_ids)[1]]
        values = self.value_scale * embeddings
        if self.constant_values:
            mask = tf.cast(source_ids != 0, tf.float32)
            values = self.value_scale * mask[..., None] * tf.one_hot([[0]], TOKENS)
        shape = tf.stack([tf.shape(weights)[0], tf.shape(weights)[1], TOKENS])
        return LinearizedReadout(
            weights, values, tf.fill(shape, self.state_scale) * tf.one_hot(0, TOKENS)
        )

    def shuffled(self, rng):
        """It has no weights that could be shuffled."""
        return self

    def answer(self, source_ids, change, given):
        readout = self.linearize(self.embed(source_ids), source_ids, source_ids)
        shape = tf.shape(readout.attention_weights)
        flat = [shape[0] * shape[1], shape[2]]
        mask = tf.broadcast_to((source_ids != 0)[:, None], shape)
        weights = change(
            tf.reshape(readout.attention_weights, flat),
            tf.reshape(mask, flat),
            tf.reshape(given[:, : shape[1]], flat),
        )
        logits = readout.logits(tf.reshape(weights, shape))
        answers = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return tf.where(source_ids != 0, answers + 1, 0)


def looks_at_own_position(source_ids):
    """Step t looks at token t alone."""
    mask = tf.cast(source_ids != 0, tf.float32)
    width = tf.shape(source_ids)[1]
    return tf.eye(width, batch_shape=tf.shape(source_ids)[:1]) * mask[:, None]


def looks_around(source_ids):
    """Different weights everywhere, and different ones at each step."""
    width = tf.shape(source_ids)[1]
    numbers = tf.cast(tf.range(width), tf.float32)
    scores = tf.sin(1.7 * numbers[None, :, None] + 0.9 * numbers[None, None, :] + 0.3)
    return tf.nn.softmax(tf.where((source_ids != 0)[:, None], scores, -1e30))


def looks_at_the_first(source_ids):
    """One position at every step of every example."""
    return frozen(source_ids, lambda length: tf.zeros_like(length))


def looks_at_the_last(source_ids):
    return frozen(source_ids, lambda length: length - 1)


def frozen(source_ids, place_of):
    length = tf.reduce_sum(tf.cast(source_ids != 0, tf.int32), axis=1)
    row = tf.one_hot(place_of(length), tf.shape(source_ids)[1])
    return tf.tile(row[:, None], [1, tf.shape(source_ids)[1], 1])


def looks_everywhere(source_ids):
    """All positions alike."""
    mask = tf.cast(source_ids != 0, tf.float32)
    even = mask / tf.reduce_sum(mask, axis=1, keepdims=True)
    return tf.tile(even[:, None], [1, tf.shape(source_ids)[1], 1])


def copier(value_scale=12.0):
    """Copies its source by attention alone."""
    return HandBuilt(looks_at_own_position, value_scale)


def ignorer():
    """Says token 1 at each step, whatever the source."""
    return HandBuilt(looks_around, state_scale=3.0)


def equal_valued():
    """Looks around, but all source positions say the same."""
    return HandBuilt(looks_around, value_scale=2.0, constant_values=True)


def examples_of(subject, sources, references=None) -> Examples:
    """Examples of sources given as lists of ids 1 to 8; the gold links token t with step t."""
    ids = RaggedIds(
        np.concatenate(sources).astype(np.int32),
        np.cumsum([0, *(len(source) for source in sources)]),
    )
    padded = tf.constant(ids.padded(np.arange(len(sources))))
    nothing = tf.zeros([*padded.shape, padded.shape[1]])
    answers = subject.answer(padded, lambda weights, mask, given: weights, nothing).numpy()
    tokens = tuple(tuple(str(i) for i in source) for source in sources)
    references = sources if references is None else references
    return Examples(
        source=ids,
        source_tokens=tokens,
        answer_ids=answers,
        answer_tokens=tuple(tuple(str(i) for i in row if i) for row in answers),
        reference=RaggedIds(
            np.concatenate(references).astype(np.int32),
            np.cumsum([0, *(len(reference) for reference in references)]),
        ),
        reference_tokens=tuple(tuple(str(i) for i in row) for row in references),
        compared=np.array([len(source) for source in sources]),
        alignments=tuple(tuple(Link(i, i, True) for i in range(len(source))) for source in sources),
        fields=(None,) * len(sources),
        groups=(None,) * len(sources),
        output_names=tuple(str(number) for number in range(1, TOKENS + 1)),
    )
