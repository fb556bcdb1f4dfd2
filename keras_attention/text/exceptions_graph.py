"""The dictionary beside a model inside a TensorFlow graph, read from an asset by core operators.

Letters in shape comments: n texts, T longest output.
"""

from __future__ import annotations

import pathlib

import tensorflow as tf

from keras_attention.text.vocabulary import Vocabulary
from keras_attention.text.vocabulary_graph import EncodedTexts, SourceGraph, joined


class ExceptionsGraph(tf.Module):
    """Answers by source, as `pairs.exceptions.Exceptions` has them outside.

    Args:
        path: The file; saving copies it into the folder `assets` under the same name, from where
            loading reads it.
        source, target: The vocabularies of the model.
        longest: T.
    """

    def __init__(self, path: pathlib.Path, source: Vocabulary, target: Vocabulary, longest: int):
        super().__init__()
        self._asset = tf.saved_model.Asset(str(path))
        # A remark, and a text that is in no line, both have the answer "".
        columns = tf.lookup.TextFileInitializer(
            self._asset, tf.string, 0, tf.string, 1, delimiter="\t"
        )
        self._table = tf.lookup.StaticHashTable(columns, "")
        # Eagerly made, a table enters None into this collection, of which saving would warn.
        graph = tf.compat.v1.get_default_graph()
        graph.clear_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
        self._kind = source.kind
        self._target = SourceGraph(target)
        self._longest = longest

    def answers(self, encoded: EncodedTexts) -> tf.Tensor:
        """string `[n]`: the answers to texts, "" where there is no exception."""
        return self._table.lookup(joined(encoded.tokens, encoded.lengths, self._kind))

    def tokens(self, answers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The tokens of answers `[n]`: string `[n, T]`, "" behind the last, and int32 `[n]`."""
        encoded = self._target.encode(answers)
        tokens = encoded.tokens[:, : self._longest]  # more, only if somebody changed the file
        missing = self._longest - tf.shape(tokens)[1]
        tokens = tf.pad(tokens, [[0, 0], [0, missing]], constant_values="")
        tokens = tf.ensure_shape(tokens, [None, self._longest])
        return tokens, tf.minimum(encoded.lengths, self._longest)
