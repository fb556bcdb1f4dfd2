"""A trained model's weights in a new one: what both know stays exactly, new tokens start fresh."""

import keras
import numpy as np
import pytest

from keras_attention.config import FREEZABLE, Config
from keras_attention.models.training_model import build_training_model
from keras_attention.models.warm_start import copy_weights, freeze, rows_of
from keras_attention.text.vocabulary import Vocabulary

OLD = Vocabulary("char", ("b", "d")), Vocabulary("word", ("x", "z"))
NEW = Vocabulary("char", ("a", "b", "c", "d")), Vocabulary("word", ("w", "x", "y", "z"))
OPTIONS = {"units": 8, "embedding_size": 4}


def model_of(vocabularies, seed, **options):
    keras.utils.set_random_seed(seed)
    return build_training_model(Config(**OPTIONS | options), *(len(side) for side in vocabularies))


def logits(model, vocabularies, source, target):
    ids = [
        side.encode([text]).padded(np.arange(1))
        for side, text in zip(vocabularies, (source, target), strict=True)
    ]
    return np.array(model({"source_ids": ids[0], "decoder_ids": ids[1]}))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder": "gru", "bidirectional": False, "layers": 2},
        {"attention": "additive", "attentional_layer": True},
        {"attention": "peeky"},
    ],
)
def test_logits_of_known_tokens_stay_to_the_last_bit(options):
    old, new = model_of(OLD, 1, **options), model_of(NEW, 2, **options)
    copy_weights(old, new, OLD, NEW)
    before = logits(old, OLD, "bdda", "x z")
    now = logits(new, NEW, "bdd?", "x z")  # what is unknown to both
    np.testing.assert_array_equal(now[..., rows_of(OLD[1], NEW[1])], before)


def test_the_same_vocabulary_gives_the_same_weights():
    old, new = model_of(OLD, 1), model_of(OLD, 2)
    copy_weights(old, new, OLD, OLD)
    for a, b in zip(old.get_weights(), new.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_new_tokens_start_as_untrained_with_the_mean_bias():
    old, new = model_of(OLD, 1), model_of(NEW, 2)
    old.get_layer("affine").bias.assign([9.0, 9, 9, 9, 1.0, 5.0])
    fresh = {layer.name: layer.get_weights() for layer in new.layers}
    copy_weights(old, new, OLD, NEW)
    source, affine = new.get_layer("source_embedding"), new.get_layer("affine")
    for row in (4, 6):  # a and c
        np.testing.assert_array_equal(
            source.get_weights()[0][row], fresh["source_embedding"][0][row]
        )
    kernel, bias = affine.get_weights()
    np.testing.assert_array_equal(kernel[:, [4, 6]], fresh["affine"][0][:, [4, 6]])
    np.testing.assert_array_equal(bias, [9, 9, 9, 9, 3, 1, 3, 5])


def test_rows_follow_the_tokens():
    assert rows_of(OLD[0], NEW[0]).tolist() == [0, 1, 2, 3, 5, 7]
    with pytest.raises(ValueError, match="'a'"):
        rows_of(NEW[0], OLD[0])


def test_models_of_other_layers_are_refused():
    with pytest.raises(ValueError, match="same layers"):
        copy_weights(model_of(OLD, 1), model_of(NEW, 1, layers=2), OLD, NEW)


@pytest.mark.parametrize("part", FREEZABLE)
def test_every_part_is_frozen_by_its_name(part):
    model = model_of(OLD, 1, layers=2, attention="general", attentional_layer=True)
    freeze(model, (part,))
    frozen = {layer.name for layer in model.layers if layer.weights and not layer.trainable}
    expected = {part, f"{part}_1", f"{part}_2"} & {layer.name for layer in model.layers}
    assert frozen == expected and frozen


def test_a_part_without_weights_is_refused():
    with pytest.raises(ValueError, match="attention"):
        freeze(model_of(OLD, 1, attention="dot"), ("attention",))
