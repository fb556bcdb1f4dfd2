"""A model with the layer as a SavedModel of TensorFlow."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_attention import Attention
from keras_attention.layers.normalizers import NORMALIZERS

IDS = np.array([[3, 4, 5, 0], [6, 0, 0, 0], [7, 8, 2, 1]], "int32")


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_export_and_map_a_data_set_through_it(normalizer, tmp_path):
    ids = keras.Input((None,), dtype="int32", name="ids")
    states = layers.Embedding(9, 6)(ids)
    context, weights = Attention("general", normalizer=normalizer)(states, states, mask=ids != 0)
    model = keras.Model(ids, {"context": context, "weights": weights})
    model.export(tmp_path / "model", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "model")  # keep it: it holds the variables
    serve = loaded.signatures["serving_default"]
    for batch in (1, 2):  # of other sizes than at export
        data = tf.data.Dataset.from_tensor_slices(IDS).batch(batch)
        parts = list(data.map(lambda ids: serve(ids=ids)))
        for name, expected in model(IDS).items():
            got = np.concatenate([part[name] for part in parts])
            np.testing.assert_allclose(got, expected, atol=1e-6)
