"""The vocabulary inside a TensorFlow graph, by core operators only.

Letters in shape comments: n texts, S and T tokens of the longest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attention.text.normal_form_graph import NORMALISERS
from keras_attention.text.subwords import NO_PIECE, SPACE
from keras_attention.text.subwords_graph import SubwordGraph
from keras_attention.text.tokens import VocabularyKind
from keras_attention.text.vocabulary import RESERVED, UNKNOWN, Vocabulary


class EncodedTexts(NamedTuple):
    """Texts cut into tokens and numbered, right-padded with 0 and "".

    Attributes:
        ids: int32 `[n, S]`.
        tokens: string `[n, S]`, as they stand in the text's normal form.
        lengths: int32 `[n]`.
    """

    ids: tf.Tensor
    tokens: tf.Tensor
    lengths: tf.Tensor


class SourceGraph(tf.Module):
    """Texts into token ids in the graph, as `Vocabulary.encode` does it outside."""

    def __init__(self, vocabulary: Vocabulary):
        super().__init__()
        self._kind = vocabulary.kind
        self._normal_form = vocabulary.normal_form
        if self._kind == "char":
            self._code_points = code_points_of(vocabulary)
        elif self._kind == "subword":
            self._subwords = SubwordGraph(vocabulary.tokens)
        else:
            # Created in the module so that saving finds and initialises the table.
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(vocabulary.tokens, tf.string, [len(vocabulary.tokens)]),
                    tf.range(len(RESERVED), len(vocabulary), dtype=tf.int32),
                ),
                UNKNOWN,
            )
            # Eagerly made, a table enters None into this collection, of which saving would warn.
            graph = tf.compat.v1.get_default_graph()
            graph.clear_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)

    def encode(self, texts: tf.Tensor) -> EncodedTexts:
        """Encodes string `[n]`; bytes that are not UTF-8 become U+FFFD."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        points = tf.strings.unicode_decode(texts, "UTF-8")  # ragged [n, (S)]
        points = NORMALISERS[self._normal_form](points)
        if self._kind == "subword":
            return self._encode_subwords(points)
        if self._kind == "char":
            tokens = points.with_flat_values(
                tf.strings.unicode_encode(points.flat_values[:, None], "UTF-8")
            )
            ids = points.with_flat_values(self._ids_of(points.flat_values))
        else:
            texts = tf.strings.unicode_encode(points, "UTF-8")
            tokens = tf.strings.split(texts)  # at ASCII white space, as `tokens.split_tokens`
            ids = tokens.with_flat_values(self._table.lookup(tokens.flat_values))
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        return EncodedTexts(ids.to_tensor(0), tokens.to_tensor(""), lengths)

    def _encode_subwords(self, points: tf.RaggedTensor) -> EncodedTexts:
        """Encodes ragged code points `[n, (S)]`."""
        some = tf.cast(points.row_lengths() > 0, tf.int32)
        space = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(some)], ord(SPACE)), some
        ).with_row_splits_dtype(points.row_splits.dtype)
        numbers, tokens = self._subwords.cut(tf.concat([space, points], axis=1))
        ids = tf.where(numbers == NO_PIECE, UNKNOWN, numbers + len(RESERVED))
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        return EncodedTexts(ids.to_tensor(0), tokens.to_tensor(""), lengths)

    def _ids_of(self, points: tf.Tensor) -> tf.Tensor:
        if not len(self._code_points):
            return tf.fill(tf.shape(points), UNKNOWN)
        known = tf.constant(self._code_points, tf.int32)
        place = tf.minimum(tf.searchsorted(known, points), len(self._code_points) - 1)
        return tf.where(tf.equal(tf.gather(known, place), points), place + len(RESERVED), UNKNOWN)


class TargetGraph:
    """Token ids into texts in the graph, as `Vocabulary.join` does it outside."""

    def __init__(self, vocabulary: Vocabulary):
        self._tokens = [""] * len(RESERVED) + list(vocabulary.tokens)
        self._kind = vocabulary.kind

    def decode(self, ids: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Decodes int32 `[..., T]` of the given lengths `[...]`.

        Returns:
            Texts, string `[...]`, and their tokens, string `[..., T]`, "" behind the last.
        """
        tokens = tf.gather(tf.constant(self._tokens), ids)
        shape = tf.shape(lengths)
        rows = tf.reshape(tokens, [tf.size(lengths), ids.shape[-1]])
        texts = joined(rows, tf.reshape(lengths, [-1]), self._kind)
        return tf.reshape(texts, shape), tokens


def joined(tokens: tf.Tensor, lengths: tf.Tensor, kind: VocabularyKind) -> tf.Tensor:
    """string `[n]`, the texts that tokens make together, as `Vocabulary.join` does it outside.

    Args:
        tokens: string `[n, T]`.
        lengths: int32 `[n]`.
        kind: Of the tokens.
    """
    ragged = tf.RaggedTensor.from_tensor(tokens, lengths)
    separator = Vocabulary(kind, ()).join(["", ""])
    texts = tf.strings.reduce_join(ragged, axis=-1, separator=separator)
    if kind == "subword":
        texts = tf.strings.regex_replace(texts, "^ ", "", replace_global=False)
    return texts


def code_points_of(vocabulary: Vocabulary) -> np.ndarray:
    """Unicode code points of a character vocabulary in id order, int32, sorted."""
    return np.array([ord(token) for token in vocabulary.tokens], np.int32)
