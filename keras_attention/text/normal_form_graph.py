"""Unicode normal forms inside a TensorFlow graph, by core operators and tables.

Exact: what comes out is what `unicodedata.normalize` of the exporting Python gives, for every
sequence of code points. Letters in shape comments: n texts, N code points of all texts together,
L code points of the longest.
"""

from __future__ import annotations

import tensorflow as tf

from keras_attention.text.normal_form import pair_key, tables

# Hangul syllables are arithmetic (Unicode Standard, section 3.12).
SYLLABLE, LEADING, VOWEL, TRAILING = 0xAC00, 0x1100, 0x1161, 0x11A7
LEADINGS, VOWELS, TRAILINGS = 19, 21, 28
SYLLABLES = LEADINGS * VOWELS * TRAILINGS
NOTHING = -1


def decompose(points: tf.RaggedTensor) -> tf.RaggedTensor:
    """Code points, int32 ragged `[n, (length)]`, in NFD, likewise."""
    decomposed = _decompositions(points.flat_values)  # [N, 4]
    exists = tf.not_equal(decomposed, NOTHING)
    counts = tf.reduce_sum(tf.cast(exists, tf.int64), axis=1)  # [N]
    ends = tf.concat([[0], tf.cumsum(counts)], axis=0)
    splits = tf.gather(ends, points.row_splits)
    flat = tf.boolean_mask(decomposed, exists)
    return _in_canonical_order(tf.RaggedTensor.from_row_splits(flat, splits))


def compose(points: tf.RaggedTensor) -> tf.RaggedTensor:
    """Code points, int32 ragged `[n, (length)]`, in NFC, likewise."""
    decomposed = decompose(points)
    columns = tf.transpose(decomposed.to_tensor(NOTHING))  # [L, n]
    classes = tf.reshape(_classes(tf.reshape(columns, [-1])), tf.shape(columns))
    rows = tf.range(tf.shape(columns)[1])
    nobody = tf.fill(tf.shape(rows), NOTHING)

    def step(t, starter, place, last_class, result):
        """Joins column t to the last starter of its row, or leaves it."""
        point, own_class = columns[t], classes[t]
        # Nothing may stand between the two that combines as strongly.
        reachable = tf.logical_or(tf.less(last_class, own_class), tf.equal(last_class, 0))
        composite = tf.where(reachable, _composites(starter, point), NOTHING)
        joined = tf.not_equal(composite, NOTHING)
        begins = tf.logical_and(tf.equal(own_class, 0), tf.logical_not(joined))
        result = tf.tensor_scatter_nd_update(
            result,
            tf.stack([tf.where(joined, place, t), rows], axis=1),
            tf.where(joined, composite, point),
        )
        starter = tf.where(joined, composite, tf.where(begins, point, starter))
        place = tf.where(begins, t, place)
        last_class = tf.where(joined, last_class, own_class)
        return t + 1, starter, place, last_class, result

    length = tf.shape(columns)[0]
    start = (tf.constant(0), nobody, nobody, tf.zeros_like(rows), tf.fill(tf.shape(columns), -1))
    *_, result = tf.while_loop(lambda t, *_: t < length, step, start)
    result = tf.transpose(result)  # [n, L]
    return tf.ragged.boolean_mask(result, tf.not_equal(result, NOTHING))


NORMALISERS = {"none": lambda points: points, "NFC": compose, "NFD": decompose}


def _decompositions(points: tf.Tensor) -> tf.Tensor:
    """Full decompositions int32 `[N, 4]` of code points `[N]`, -1 behind the end of each."""
    itself = tf.stack([points] + [tf.fill(tf.shape(points), NOTHING)] * 3, axis=1)
    index = points - SYLLABLE
    trailing = index % TRAILINGS
    syllable = tf.stack(
        [
            LEADING + index // (VOWELS * TRAILINGS),
            VOWEL + index // TRAILINGS % VOWELS,
            tf.where(tf.equal(trailing, 0), NOTHING, TRAILING + trailing),
            tf.fill(tf.shape(points), NOTHING),
        ],
        axis=1,
    )
    is_syllable = tf.logical_and(index >= 0, index < SYLLABLES)
    place, found = find(tables().decomposable, points)
    from_table = tf.gather(tf.constant(tables().decompositions), place)
    plain = tf.where(found[:, None], from_table, itself)
    return tf.where(is_syllable[:, None], syllable, plain)


def _in_canonical_order(points: tf.RaggedTensor) -> tf.RaggedTensor:
    """Sorts each run of combining characters by class, equal ones staying as they were."""
    flat = points.flat_values
    classes = tf.cast(_classes(flat), tf.int64)
    # A run ends at the next starter and at the end of its text.
    starters = tf.cumsum(tf.cast(tf.equal(classes, 0), tf.int64))
    run = starters + points.value_rowids()
    key = (run * 256 + classes) * tf.size(flat, tf.int64) + tf.range(tf.size(flat, tf.int64))
    return points.with_flat_values(tf.gather(flat, tf.argsort(key)))


def _classes(points: tf.Tensor) -> tf.Tensor:
    """Combining classes, int32 of the shape `[N]` of the code points."""
    place, found = find(tables().combining, points)
    return tf.where(found, tf.gather(tf.constant(tables().classes), place), 0)


def _composites(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """What two code points `[n]` each become together, int32 `[n]`, -1 where nothing."""
    keys = pair_key(tf.cast(first, tf.int64), tf.cast(second, tf.int64))
    place, found = find(tables().pairs, keys)
    from_table = tf.where(found, tf.gather(tf.constant(tables().composites), place), NOTHING)
    leading, vowel = first - LEADING, second - VOWEL
    two = SYLLABLE + (leading * VOWELS + vowel) * TRAILINGS
    makes_two = _within(leading, 0, LEADINGS) & _within(vowel, 0, VOWELS)
    index, trailing = first - SYLLABLE, second - TRAILING
    open_syllable = _within(index, 0, SYLLABLES) & tf.equal(index % TRAILINGS, 0)
    makes_three = open_syllable & _within(trailing, 1, TRAILINGS)
    return tf.where(makes_two, two, tf.where(makes_three, first + trailing, from_table))


def _within(values: tf.Tensor, least: int, end: int) -> tf.Tensor:
    return tf.logical_and(values >= least, values < end)


def find(known, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Places of values `[N]` in a sorted table, and whether they are there."""
    known = tf.constant(known)
    place = tf.minimum(tf.searchsorted(known, values), tf.size(known) - 1)
    return place, tf.equal(tf.gather(known, place), values)
