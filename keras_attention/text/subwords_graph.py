"""Subwords inside a TensorFlow graph, by core operators only: the rule of `subwords`.

All texts are cut at once, end to end. Letters in shape comments: n texts, S characters and T tokens
of the longest, N characters and K tokens of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from keras_attention.text.normal_form_graph import find
from keras_attention.text.subwords import NO_PIECE, edge_key, trie_of


class SubwordGraph:
    """Cuts texts into pieces, given as code points.

    Args:
        pieces: In the order in which they are numbered.
    """

    def __init__(self, pieces: Sequence[str]):
        self._pieces = list(pieces)
        self._trie = trie_of(pieces)

    def cut(self, points: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """The tokens of texts.

        Args:
            points: int32 `[n, (S)]`, code points of texts with a space before each that is not
                empty.

        Returns:
            For each token the number of its piece, int32 `[n, (T)]`, `NO_PIECE` where it is an
            unknown character; and the tokens, string `[n, (T)]`.
        """
        lengths, numbers = self._longest_pieces(points)
        starts = _starts_of_tokens(points, lengths)  # bool [N]
        row_of = tf.boolean_mask(points.value_rowids(), starts)  # [K]
        numbers = tf.boolean_mask(numbers, starts)  # [K]
        characters = tf.boolean_mask(points.flat_values, starts)  # [K]
        known = numbers != NO_PIECE
        texts = tf.where(
            known,
            tf.gather(tf.constant(self._pieces or [""], tf.string), tf.maximum(numbers, 0)),
            tf.strings.unicode_encode(characters[:, None], "UTF-8"),
        )
        rows = points.nrows()
        return (
            tf.RaggedTensor.from_value_rowids(numbers, row_of, rows),
            tf.RaggedTensor.from_value_rowids(texts, row_of, rows),
        )

    def _longest_pieces(self, points: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Of each place, characters (at least 1) and number of the longest piece; int32 `[N]`."""
        flat = tf.cast(points.flat_values, tf.int64)
        count = tf.size(flat)
        place = tf.range(count)
        end = tf.gather(tf.cast(points.row_limits(), tf.int32), points.value_rowids())
        length = tf.ones([count], tf.int32)
        number = tf.fill([count], NO_PIECE)
        if not self._pieces:
            return length, number
        trie = self._trie
        children, piece_at = tf.constant(trie.children), tf.constant(trie.piece_at)

        def step(offset, node, length, number):
            ahead = place + offset
            inside = tf.logical_and(node >= 0, ahead < end)
            point = tf.gather(flat, tf.minimum(ahead, count - 1))
            edge, found = find(trie.edges, edge_key(tf.cast(node, tf.int64), point))
            node = tf.where(tf.logical_and(inside, found), tf.gather(children, edge), -1)
            piece = tf.where(node >= 0, tf.gather(piece_at, tf.maximum(node, 0)), NO_PIECE)
            ends = piece != NO_PIECE
            return (
                offset + 1,
                node,
                tf.where(ends, offset + 1, length),
                tf.where(ends, piece, number),
            )

        _, _, length, number = tf.while_loop(
            lambda offset, node, *_: tf.logical_and(offset < trie.depth, tf.reduce_any(node >= 0)),
            step,
            [tf.constant(0), tf.zeros([count], tf.int32), length, number],
        )
        return length, number


def _starts_of_tokens(points: tf.RaggedTensor, lengths: tf.Tensor) -> tf.Tensor:
    """Whether a token begins at each place, bool `[N]`.

    From a token's start, `lengths` leads to the next one. In rounds: the starts that are known lead
    to others as many tokens ahead as were covered before, so that each round doubles what is known.
    """
    count = tf.size(lengths)
    # The place behind the last leads to itself; no piece reaches into the next text, so that what
    # follows a text's last token is the next text's first.
    following = tf.concat([tf.range(count) + lengths, [count]], axis=0)  # [N + 1]
    firsts = tf.cast(tf.boolean_mask(points.row_starts(), points.row_lengths() > 0), tf.int32)
    known = tf.scatter_nd(firsts[:, None], tf.ones_like(firsts), [count + 1]) > 0
    most = tf.cast(tf.reduce_max(tf.concat([points.row_lengths(), [1]], axis=0)), tf.int32)

    def double(covered, following, known):
        led_to = tf.math.unsorted_segment_max(tf.cast(known, tf.int32), following, count + 1) > 0
        return 2 * covered, tf.gather(following, following), tf.logical_or(known, led_to)

    _, _, known = tf.while_loop(
        lambda covered, *_: covered < most, double, [tf.constant(1), following, known]
    )
    return known[:count]
