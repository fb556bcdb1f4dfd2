"""The trained attention model of "Deep Learning from Scratch 2" (K. Saitoh) as a run of ours.

The book's NumPy program and ours compute the same where the options are these: one LSTM layer that
reads the source from its end, a decoder that starts from the encoder's hidden state alone, dot
attention. What differs is bookkeeping, and is translated here: the order of an LSTM's gates, the
order of the characters, and that the book has no end symbol and always says ten characters.
"""

from __future__ import annotations

import os
import pathlib

import numpy as np

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.models.training_model import build_training_model
from keras_attention.readers.run import Run
from keras_attention.text.vocabulary import END, RESERVED, START, Vocabulary

WEIGHTS = "attention_weights.npz"

# The book begins each answer with this character, in place of a start symbol.
_START_CHARACTER = "_"
_ANSWER_LENGTH = 10
_NEVER = -1e9


def load_book_run(folder: str | os.PathLike) -> Run:
    """Reads the book's weights into our training model.

    Its sources are padded with spaces to 29 characters, which the model reads:
    `dates.read_book_dates(path, keep_padding=True)`.

    Args:
        folder: Holds `attention_weights.npz`, float arrays named as in `_weights_of`, and
            `characters` in the order of the book's ids; LSTM gates in its order f, g, i, o.

    Raises:
        UserError: the file is missing or another.
    """
    path = pathlib.Path(folder) / WEIGHTS
    try:
        with np.load(path) as arrays:
            book = {name: arrays[name] for name in arrays.files}
        characters = [str(character) for character in book.pop("characters")]
        book = {name: value.astype(np.float32) for name, value in book.items()}
        units, embedding_size = (
            len(book["encoder_lstm_recurrent_kernel"]),
            book["encoder_embedding"].shape[1],
        )
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"{path}: is not the book's weights: {error}") from None
    config = Config(
        reverse_source=True,
        bidirectional=False,
        initial_state="hidden",
        units=units,
        embedding_size=embedding_size,
        longest_output=_ANSWER_LENGTH,
        dropout=0.0,
        decoder_input_dropout=0.0,
        unknown_rate=0.0,
        global_clipnorm=5.0,
    )
    vocabulary = Vocabulary("char", tuple(sorted(characters)))
    model = build_training_model(config, len(vocabulary), len(vocabulary))
    for name, weights in _weights_of(book, characters, vocabulary).items():
        model.get_layer(name).set_weights(weights)
    return Run(config, vocabulary, vocabulary, model)


def _weights_of(book: dict, characters: list[str], vocabulary: Vocabulary) -> dict:
    """Our layers' weights, by the layers' names."""
    order = [characters.index(token) for token in vocabulary.tokens]
    source = _with_reserved_rows(book["encoder_embedding"][order])
    target = _with_reserved_rows(book["decoder_embedding"][order])
    target[START] = book["decoder_embedding"][characters.index(_START_CHARACTER)]
    kernel = _with_reserved_rows(book["output_kernel"].T[order]).T
    bias = _with_reserved_rows(book["output_bias"][order])
    bias[END] = _NEVER
    lstms = {
        side: [
            _gates_in_our_order(book[f"{side}_lstm_{part}"])
            for part in ("kernel", "recurrent_kernel", "bias")
        ]
        for side in ("encoder", "decoder")
    }
    return {
        "source_embedding": [source],
        "target_embedding": [target],
        "encoder_1": lstms["encoder"],
        "decoder_1": lstms["decoder"],
        "affine": [kernel, bias],
    }


def _with_reserved_rows(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(RESERVED), *rows.shape[1:]), rows.dtype), rows])


def _gates_in_our_order(array: np.ndarray) -> np.ndarray:
    """The book's gates f, g, i, o along the last axis into Keras' i, f, c, o."""
    forget, candidate, input_gate, output = np.split(array, 4, axis=-1)
    return np.concatenate([input_gate, forget, candidate, output], axis=-1)
