"""Saving and loading: every argument, every kind of model, a new process, no custom_objects."""

import inspect
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import to_numpy

# Not the default of any argument.
ARGUMENTS = {
    "score": "additive",
    "dropout": 0.25,
    "seed": 3,
    "units": 5,
    "learned_query": True,
    "normalizer": "sparsemax",
    "kernel_initializer": keras.initializers.HeNormal(seed=4),
}


def test_every_argument_survives_the_round_trip():
    names = set(inspect.signature(Attention.__init__).parameters) - {"self", "kwargs"}
    assert set(ARGUMENTS) == names
    layer = Attention(**ARGUMENTS, name="reader", dtype="mixed_bfloat16", trainable=False)
    copy = Attention.from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    plain = names - {"kernel_initializer"}
    assert {name: getattr(copy, name) for name in plain} == {
        name: ARGUMENTS[name] for name in plain
    }
    initializer = copy.kernel_initializer.get_config()
    assert initializer == ARGUMENTS["kernel_initializer"].get_config()
    assert (copy.name, copy.dtype_policy.name, copy.trainable) == (
        "reader",
        "mixed_bfloat16",
        False,
    )
    value = np.random.default_rng(0).normal(size=(2, 4, 3))
    copy(value), layer(value)
    copy.set_weights(layer.get_weights())
    dropped = [to_numpy(each(value, training=True)[0]) for each in (layer, copy)]
    np.testing.assert_array_equal(*dropped)  # the seed too: the same positions are dropped


def test_is_registered_under_its_own_name():
    assert keras.saving.get_registered_name(Attention) == "keras_attention>Attention"
    query, value = layers.Input((3, 4)), layers.Input((5, 4))
    model = keras.Model(
        [query, value], [layers.Attention()([query, value]), Attention()(query, value)]
    )
    copy = keras.Model.from_config(model.get_config())
    assert [type(layer) for layer in copy.layers[-2:]] == [layers.Attention, Attention]


@pytest.mark.parametrize("learned_query", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_build_creates_all_weights(score, learned_query):
    layer = Attention(score, learned_query=learned_query)
    value, query = np.ones((2, 4, 3)), np.ones((2, 5, 3))
    layer.build(value_shape=value.shape) if learned_query else layer.build(query.shape, value.shape)
    built = [w.path for w in layer.weights]
    assert len(built) == {"general": 1, "additive": 3}.get(score, 0) + learned_query
    layer(value) if learned_query else layer(query, value)
    assert [w.path for w in layer.weights] == built
    copy = Attention.from_config(layer.get_config())
    copy.build_from_config(layer.get_build_config())
    assert [tuple(w.shape) for w in copy.weights] == [tuple(w.shape) for w in layer.weights]


@keras.saving.register_keras_serializable(package="test_attention_saving")
class Subclassed(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embed = layers.Embedding(9, 4, mask_zero=True)
        self.attend = Attention("general", learned_query=True)
        self.classify = layers.Dense(2)

    def call(self, ids):
        return self.classify(self.attend(self.embed(ids))[0])


def sequential():
    return keras.Sequential(
        [
            layers.Input((None,), dtype="int32"),
            layers.Embedding(9, 4, mask_zero=True),
            Attention("additive", learned_query=True),
        ]
    )


def functional():
    ids = layers.Input((None,), dtype="int32")
    states = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(
        layers.Embedding(9, 4)(ids)
    )
    outputs = [Attention(score)(states, states, mask=ids != 0) for score in SCORES]
    return keras.Model(ids, outputs)


@pytest.mark.parametrize("make", [sequential, functional, Subclassed])
def test_reloads_from_every_kind_of_model(make, tmp_path):
    model, ids = make(), np.array([[1, 2, 3], [4, 0, 0]])
    expected = keras.tree.flatten(model(ids))
    model.save(tmp_path / "model.keras")
    got = keras.tree.flatten(keras.saving.load_model(tmp_path / "model.keras")(ids))
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


NEW_PROCESS = """
import sys
import keras, numpy as np
from keras_attention import Attention

ids = np.array([[1, 2, 3], [4, 0, 0]])
model = keras.saving.load_model("model.keras")
again = keras.Model.from_config(model.get_config())
again.load_weights("model.weights.h5")
for each in (model, again):
    outputs = keras.tree.flatten(each(ids))
    for index, output in enumerate(outputs):
        wanted = np.load(f"{index}.npy")
        assert (keras.ops.convert_to_numpy(output) == wanted).all(), index
print("equal", len(outputs))
"""


def test_reloads_in_a_new_process(tmp_path):
    model = functional()
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    outputs = keras.tree.flatten(model(np.array([[1, 2, 3], [4, 0, 0]])))
    for index, output in enumerate(outputs):
        np.save(tmp_path / f"{index}.npy", to_numpy(output))
    result = subprocess.run(
        [sys.executable, "-c", NEW_PROCESS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.stdout.split() == ["equal", str(len(outputs))], result.stderr


def test_a_seq2seq_with_initial_state_reloads_and_still_reads_the_source(tmp_path):
    source, target = layers.Input((None,), dtype="int32"), layers.Input((None,), dtype="int32")
    states, *last = layers.LSTM(4, return_sequences=True, return_state=True)(
        layers.Embedding(9, 4)(source)
    )
    queries = layers.LSTM(4, return_sequences=True)(
        layers.Embedding(9, 4)(target), initial_state=last
    )
    context, weights = Attention("scaled_dot")(queries, states, mask=source != 0)
    model = keras.Model([source, target], [layers.Dense(9)(context), weights])
    model.save(tmp_path / "model.keras")
    copy = keras.saving.load_model(tmp_path / "model.keras")
    ids = [np.array([[1, 2, 3], [4, 5, 0]]), np.array([[1, 2], [3, 4]])]
    for one, other in zip(copy(ids), model(ids), strict=True):
        np.testing.assert_array_equal(to_numpy(one), to_numpy(other))
    changed = copy([ids[0][:, ::-1].copy(), ids[1]])[0]
    assert np.abs(to_numpy(changed) - to_numpy(copy(ids)[0])).max() > 1e-6


def test_matrices_begin_as_they_are_told_to():
    """The general score from the identity is the dot product; the initializer is kept."""
    rng = np.random.default_rng(0)
    query, value = (rng.normal(size=(2, n, 4)).astype("float32") for n in (3, 5))
    general = Attention("general", kernel_initializer="identity")
    expected = Attention("dot")(query, value)[1]
    np.testing.assert_allclose(general(query, value)[1], expected, atol=1e-6)
    copy = Attention.from_config(general.get_config())
    np.testing.assert_allclose(copy(query, value)[1], expected, atol=1e-6)
    # Without it, random matrices; and a config from before the argument has none.
    config = Attention("general").get_config()
    del config["kernel_initializer"]
    assert not np.allclose(Attention.from_config(config)(query, value)[1], expected, atol=1e-3)
