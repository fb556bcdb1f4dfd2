"""The weights of a trained model into a new one that knows more tokens.

Everything that both models have is copied, exactly: of embeddings and of the affine layer the rows
of the tokens that both know. A token that only the new model knows starts

- with the embedding of an untrained model,
- with the affine kernel of an untrained model and the mean of the known tokens' biases.

So nothing changes in what the old model computes of known tokens: the features are the same, and so
is every logit of a known token.
"""

from __future__ import annotations

import keras
import numpy as np

from keras_attention.config import FREEZABLE
from keras_attention.text.vocabulary import RESERVED, Vocabulary

Vocabularies = tuple[Vocabulary, Vocabulary]

# The layers of a part begin with its name; all that a layer has is in no other part.
_WITH_ROWS = {"source_embedding": 0, "target_embedding": 1, "affine": 1}


def copy_weights(
    old: keras.Model, new: keras.Model, before: Vocabularies, now: Vocabularies
) -> None:
    """Copies all weights, and of embeddings and the affine layer the rows of known tokens.

    A token that only `now` has keeps the embedding and the kernel that `new` has for it, and its
    bias becomes the mean of the known tokens' biases.

    Args:
        old, new: Training models of the same options, see `training_model.build_training_model`;
            `new` is untrained.
        before, now: Their vocabularies, of source and target; `now` has all tokens of `before`.

    Raises:
        ValueError: the models have other layers, or a token is missing in `now`.
    """
    names = [layer.name for layer in old.layers if layer.weights]
    if names != [layer.name for layer in new.layers if layer.weights]:
        raise ValueError(f"old and new must have the same layers. Received: {names} in old")
    for name in names:
        source, target = old.get_layer(name), new.get_layer(name)
        weights = source.get_weights()
        if name in _WITH_ROWS:
            side = _WITH_ROWS[name]
            rows = rows_of(before[side], now[side])
            weights = _with_new_tokens(weights, target.get_weights(), rows)
        target.set_weights(weights)


def rows_of(before: Vocabulary, now: Vocabulary) -> np.ndarray:
    """int `[len(before)]`: where the ids of one vocabulary are in another.

    Raises:
        ValueError: a token is missing in `now`.
    """
    places = {token: number for number, token in enumerate(now.tokens, len(RESERVED))}
    missing = [token for token in before.tokens if token not in places]
    if missing:
        raise ValueError(f"now must have all tokens of before. Received: no {missing[0]!r}")
    return np.array([*range(len(RESERVED)), *(places[token] for token in before.tokens)])


def _with_new_tokens(
    old: list[np.ndarray], fresh: list[np.ndarray], rows: np.ndarray
) -> list[np.ndarray]:
    """The fresh arrays with the old ones in their place; tokens are along the embeddings' first
    axis, and along the last of the affine layer's kernel and bias."""
    if len(old) == 1:
        (embedding,), (found,) = old, fresh
        found[rows] = embedding
        return [found]
    (kernel, bias), (found, found_bias) = old, fresh
    found[:, rows] = kernel
    found_bias[:] = bias[len(RESERVED) :].mean() if len(bias) > len(RESERVED) else 0.0
    found_bias[rows] = bias
    return [found, found_bias]


def freeze(model: keras.Model, parts: tuple[str, ...]) -> None:
    """Keeps the weights of some parts of a model from being trained.

    Args:
        model: A training model.
        parts: Of `FREEZABLE`.

    Raises:
        ValueError: the model has no such part.
    """
    for part in parts:
        layers = [layer for layer in model.layers if _part_of(layer.name) == part]
        if not any(layer.weights for layer in layers):
            raise ValueError(f"part must be one that the model has weights of. Received: {part!r}")
        for layer in layers:
            layer.trainable = False


def unfreeze(model: keras.Model) -> None:
    """Lets all parts of a model be trained."""
    for layer in model.layers:  # the model's own switch does not reach them
        layer.trainable = True


def _part_of(name: str) -> str | None:
    """The part of a layer: `decoder_1` is of the decoder, `decoder_input_dropout` of none."""
    stem, _, number = name.rpartition("_")
    part = stem if number.isdecimal() else name
    return part if part in FREEZABLE else None
