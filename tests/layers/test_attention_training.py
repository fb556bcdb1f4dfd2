"""What people do to a model with the layer in it, one test each: docs/layer.md has the table."""

import copy
import pickle

import keras
import numpy as np
import pytest
from keras import layers, ops

from keras_attention import Attention
from keras_attention.layers.normalizers import NORMALIZERS
from tests.support.attention_backend import BACKEND, gradients, to_numpy

IDS = np.array([[3, 4, 5, 0], [6, 0, 0, 0], [7, 8, 2, 1]])
TAGS = np.array([[1, 2, 3, 0], [2, 0, 0, 0], [1, 1, 2, 2]])
REAL = IDS != 0
# Each token should look at itself; rows of padding are empty.
WANTED = np.eye(4, dtype="float32")[None] * REAL[:, :, None]
# Keras compiles PyTorch with another compiler, which needs more than its wheel.
JIT_COMPILE = [False] if BACKEND == "torch" else [False, pytest.param(True, marks=pytest.mark.slow)]


def labeller(normalizer="softmax", **options):
    """Tags of every token, and the map: two outputs that are trained together."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    real = ids != 0
    states = layers.Embedding(9, 6)(ids)
    layer = Attention("general", normalizer=normalizer, name="attention", **options)
    context, weights = layer(states, states, mask=real, query_mask=real)
    tags = layers.Dense(4, dtype="float32", name="tags")(ops.concatenate([states, context], -1))
    return keras.Model(ids, {"tags": tags, "weights": weights})


def compiled(model, **options):
    tags = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Adam(0.03),
        {"tags": tags, "weights": "mse"},
        loss_weights={"tags": 1.0, "weights": 2.0},
        **options,
    )
    return model


def repeated(array):
    """One epoch of many steps: cheaper than many epochs."""
    return np.tile(array, (20, *[1] * (array.ndim - 1)))


def fit(model, **options):
    targets = {"tags": repeated(TAGS), "weights": repeated(WANTED)}
    return model.fit(repeated(IDS), targets, batch_size=3, verbose=0, **options)


def outputs_of(model):
    return {name: to_numpy(output) for name, output in model(IDS).items()}


def assert_same(model, other):
    for name, output in outputs_of(model).items():
        np.testing.assert_array_equal(outputs_of(other)[name], output)


@pytest.mark.parametrize("jit_compile", JIT_COMPILE)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_fit_with_several_outputs(normalizer, jit_compile):
    model = compiled(labeller(normalizer), jit_compile=jit_compile)
    targets = {"tags": TAGS, "weights": WANTED}
    before = model.evaluate(IDS, targets, verbose=0, return_dict=True)
    fit(model)
    after = model.evaluate(IDS, targets, verbose=0, return_dict=True)
    assert after["loss"] < before["loss"] and np.isfinite(after["loss"])
    predicted = model.predict(IDS, verbose=0)["weights"]
    np.testing.assert_allclose(predicted.sum(-1), REAL.astype(float), atol=1e-6)


def test_fit_with_sample_weights_for_each_output_and_step():
    """A weight of 0 takes a step out of the loss: other targets there train the same model.

    Keras wants weights of one axis less than the loss has: (B, Tq) or (B, 1) for the map.
    """
    weights = {"tags": repeated(REAL.astype("float32")), "weights": np.ones((60, 1), "float32")}
    results = []
    for tags in (TAGS, np.where(REAL, TAGS, 3)):
        keras.utils.set_random_seed(1)
        model = compiled(labeller())
        targets = {"tags": repeated(tags), "weights": repeated(WANTED)}
        model.fit(
            repeated(IDS), targets, batch_size=3, sample_weight=weights, shuffle=False, verbose=0
        )
        results.append(outputs_of(model)["tags"])
    np.testing.assert_array_equal(*results)
    keras.utils.set_random_seed(1)
    model = compiled(labeller())
    fit(model, shuffle=False)
    assert np.abs(outputs_of(model)["tags"] - results[0]).max() > 1e-3


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_fit_in_mixed_precision(normalizer, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = compiled(labeller(normalizer), jit_compile=False)
    finally:
        keras.config.set_dtype_policy(before)
    history = fit(model)
    assert np.isfinite(history.history["loss"]).all()
    weights = outputs_of(model)["weights"]
    assert weights.dtype == "float32"
    np.testing.assert_allclose(weights.sum(-1), REAL.astype(float), atol=1e-6)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_clone_model(normalizer):
    model = labeller(normalizer, dropout=0.3, seed=5)
    clone = keras.models.clone_model(model)
    theirs, ours = (each.get_layer("attention") for each in (clone, model))
    assert theirs is not ours and theirs.get_config() == ours.get_config()
    clone.set_weights(model.get_weights())
    assert_same(clone, model)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["copy", "pickle"]
)
def test_copies_answer_alike_and_share_nothing(duplicate):
    model = compiled(labeller("entmax15", dropout=0.3, seed=5))
    fit(model)
    twin = duplicate(model)
    assert_same(twin, model)
    kept = outputs_of(twin)
    fit(model)
    for name, output in outputs_of(twin).items():
        np.testing.assert_array_equal(output, kept[name])
    fit(twin)  # it is compiled as well

    layer = model.get_layer("attention")
    single = duplicate(layer)
    states = np.random.default_rng(0).normal(size=(2, 3, 6)).astype("float32")
    np.testing.assert_array_equal(
        to_numpy(single(states, states)[1]), to_numpy(layer(states, states)[1])
    )


BEAR_EMPTY_ROWS = (
    "MeanSquaredError",
    "MeanAbsoluteError",
    "Huber",
    "LogCosh",
    "KLDivergence",
    "BinaryCrossentropy",
    "CosineSimilarity",
)
DO_NOT = ("CategoricalCrossentropy", "CategoricalFocalCrossentropy")


def loss_on_the_map(name, sample_weight=None):
    """The loss between the wanted map and the layer's, and its gradient by the states."""
    states = np.random.default_rng(0).normal(size=(3, 4, 6)).astype("float32")
    loss = getattr(keras.losses, name)()

    def call(tensor):
        weights = Attention()(tensor, tensor, mask=REAL, query_mask=REAL)[1]
        return loss(WANTED, weights, sample_weight=sample_weight)

    value = float(to_numpy(call(ops.convert_to_tensor(states))))
    return value, gradients(call, [states])[0]


@pytest.mark.parametrize("name", BEAR_EMPTY_ROWS)
def test_these_losses_bear_empty_rows(name):
    value, gradient = loss_on_the_map(name)
    assert np.isfinite(value) and np.isfinite(gradient).all() and (gradient != 0).any()
    assert (gradient[~REAL] == 0).all()


@pytest.mark.parametrize("sample_weight", [None, REAL.astype("float32")], ids=["plain", "weights"])
@pytest.mark.parametrize("name", DO_NOT)
def test_these_losses_do_not(name, sample_weight):
    """They divide each row by its sum, 0 / 0; a sample weight of 0 does not help, 0 * NaN."""
    assert not np.isfinite(loss_on_the_map(name, sample_weight)[0])
