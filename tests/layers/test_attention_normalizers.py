"""Softmax, sparsemax and 1.5-entmax: values, exact zeros, gradients and masks, on every backend."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from keras_attention import Attention
from keras_attention.layers.normalizers import NORMALIZERS
from tests.support import normalizers as reference
from tests.support.attention_backend import BACKEND, compilers, gradients, to_numpy

SPARSE = ("sparsemax", "entmax15")
POLICIES = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
# On JAX and PyTorch, Keras' own operations round float64 to float32.
DTYPES = ["float32", "float64"] if BACKEND == "tensorflow" else ["float32"]
everyone = pytest.mark.parametrize("normalizer", NORMALIZERS)
sparse_ones = pytest.mark.parametrize("normalizer", SPARSE)


def weights_of(normalizer, scores, mask=None, **options):
    return to_numpy(Attention(normalizer=normalizer, **options).compute_weights(scores, mask))


def reference_of(normalizer, scores, mask=None):
    """The NumPy version of every row, over the positions that its mask leaves, in float64."""
    mask = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    weights = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        if mask[row].any():
            seen = scores[row][mask[row]].astype("float64")
            weights[row][mask[row]] = reference.NORMALIZERS[normalizer](seen)
    return weights


@pytest.mark.parametrize(
    ("normalizer", "scores", "expected"),
    [
        # t = (1 + 0.5 - 1) / 2 = 0.25; the third score lies below it.
        ("sparsemax", [1.0, 0.5, 0.0], [0.75, 0.25, 0.0]),
        ("sparsemax", [2.0, 0.0], [1.0, 0.0]),
        ("sparsemax", [3.0, 3.0, 3.0, 3.0], [0.25] * 4),
        # Halves 0.2 and 0: (0.2 - t)² + t² = 1 at t = 0.1 - sqrt(0.49) = -0.6: 0.8² and 0.6².
        ("entmax15", [0.4, 0.0], [0.64, 0.36]),
        ("entmax15", [2.0, 0.0, -1.0], [1.0, 0.0, 0.0]),
        ("entmax15", [-7.0] * 4, [0.25] * 4),
    ],
)
def test_hand_computed(normalizer, scores, expected):
    weights = weights_of(normalizer, np.array([[scores]]))
    np.testing.assert_allclose(weights, [[expected]], atol=1e-6)
    assert ((weights == 0) == (np.array([[expected]]) == 0)).all()


@st.composite
def rows_of_scores(draw):
    """Scores (1, S): of any size, often near each other, often tied."""
    length = draw(st.sampled_from([1, 2, 5, 40]))  # a few sizes only: JAX compiles for each
    width = {"width": 32, "allow_subnormal": False}
    numbers = st.one_of(
        st.floats(-1.0, 1.0, **width), st.floats(-1e6, 1e6, **width), st.sampled_from([0.0, 0.5])
    )
    row = draw(st_numpy.arrays("float32", (1, length), elements=numbers))
    return row + np.float32(draw(st.sampled_from([0.0, 100.0])))


@sparse_ones
@settings(deadline=None, max_examples=150 if BACKEND == "tensorflow" else 40, derandomize=True)
@given(scores=rows_of_scores())
def test_any_row_is_the_reference(normalizer, scores):
    weights, expected = weights_of(normalizer, scores), reference_of(normalizer, scores)
    np.testing.assert_allclose(weights, expected, atol=2e-6)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    assert (weights >= 0).all()
    # Exactly 0 where the reference is, but for a weight that one rounding of a score could move.
    assert (weights[expected == 0] < 1e-6).all()
    limit = {"sparsemax": 1.0, "entmax15": 2.0}[normalizer]
    assert (weights[scores <= scores.max() - limit] == 0).all()


@sparse_ones
@pytest.mark.parametrize("length", [1_000, 20_000])
def test_long_rows(normalizer, length):
    random = np.random.default_rng(0)
    for scores in (
        np.zeros((1, length)),
        random.normal(size=(1, length)) * 1e-3,
        random.normal(size=(1, length)),
    ):
        scores = scores.astype("float32")
        weights = weights_of(normalizer, scores)
        np.testing.assert_allclose(weights, reference_of(normalizer, scores), atol=1e-6)
        np.testing.assert_allclose(weights.sum(dtype="float64"), 1.0, atol=1e-4)


@everyone
def test_between_softmax_and_sparsemax(normalizer):
    scores = np.random.default_rng(0).normal(size=(50, 12)).astype("float32") * 2
    support = {name: (weights_of(name, scores) > 0).sum(-1) for name in NORMALIZERS}
    assert (support["softmax"] == 12).all()
    assert (support["sparsemax"] <= support["entmax15"]).all()
    assert (support["sparsemax"] < support["entmax15"]).any()
    order = np.argsort(scores, axis=-1)
    assert (np.diff(np.take_along_axis(weights_of(normalizer, scores), order, -1)) >= 0).all()


@everyone
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4, 1e30])
def test_masks(normalizer, size):
    random = np.random.default_rng(1)
    scores = (random.normal(size=(4, 3, 6)) * size).astype("float32")
    mask = random.random((4, 6)) < 0.6
    mask[0] = False
    mask[1] = np.arange(6) == 3
    weights = weights_of(normalizer, scores, mask)
    assert np.isfinite(weights).all()
    assert (weights[~np.broadcast_to(mask[:, None], weights.shape)] == 0).all()
    assert (weights[1, :, 3] == 1).all()
    if size < 1e30:  # beyond MASKED_SCORE a row may lose its weights, but is never NaN
        expected = reference_of(normalizer, scores, mask[:, None])
        np.testing.assert_allclose(weights, expected, atol=1e-6)


@everyone
def test_layer_is_the_reference(normalizer):
    random = np.random.default_rng(2)
    query, value = (random.normal(size=(2, t, 4)).astype("float32") for t in (3, 5))
    mask = np.array([[1, 1, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
    context, weights = map(to_numpy, Attention(normalizer=normalizer)(query, value, mask=mask))
    scores = np.einsum("bqh,bvh->bqv", query, value)
    expected = reference_of(normalizer, scores, mask[:, None])
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    np.testing.assert_allclose(context, expected @ value, atol=1e-5)
    one_step = to_numpy(Attention(normalizer=normalizer)(query[:, 1], value, mask=mask)[1])
    np.testing.assert_allclose(one_step, weights[:, 1], atol=1e-6)


@everyone
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy(normalizer, policy):
    random = np.random.default_rng(3)
    query, value = (random.normal(size=(2, t, 64)) * 30 for t in (3, 5))
    mask = np.array([[True] * 3 + [False] * 2, [False] * 5])
    layer = Attention(normalizer=normalizer, dtype=policy)
    context, weights = layer(query, value, mask=mask)
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    assert keras.backend.standardize_dtype(context.dtype) == layer.compute_dtype
    weights = to_numpy(weights)
    np.testing.assert_allclose(weights.sum(-1), [[1.0] * 3, [0.0] * 3], atol=1e-6)
    assert np.isfinite(to_numpy(context).astype("float32")).all() and (weights[0, :, 3:] == 0).all()


def draw_scores():
    """Scores whose support is a part of the row, and no score near its edge."""
    return np.random.default_rng(5).normal(size=(6, 7)) * 1.5


MASKS = {
    "none": None,
    "ragged": np.arange(7) < np.array([7, 5, 3, 2, 1, 0])[:, None],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask_name", MASKS)
@everyone
def test_gradients(normalizer, mask_name, dtype):
    """By the closed form of the Jacobian, and by differences of the float64 NumPy version."""
    scores, mask = draw_scores(), MASKS[mask_name]
    factors = np.random.default_rng(6).normal(size=scores.shape)
    layer = Attention(normalizer=normalizer, dtype=dtype)

    def loss(tensor):
        weights = layer.compute_weights(tensor, mask)
        return keras.ops.sum(weights * keras.ops.convert_to_tensor(factors, dtype))

    [got] = gradients(loss, [scores.astype(dtype)])
    seen = np.ones(scores.shape, bool) if mask is None else mask
    closed, differences = np.zeros_like(scores), np.zeros_like(scores)
    weights = reference_of(normalizer, scores, mask)
    for row in range(len(scores)):
        if seen[row].any():
            own = seen[row]
            jacobian = reference.jacobian(normalizer, weights[row][own])
            closed[row][own] = jacobian @ factors[row][own]
    for index in np.ndindex(scores.shape):
        above, below = scores.copy(), scores.copy()
        above[index] += 1e-6
        below[index] -= 1e-6
        change = reference_of(normalizer, above, mask) - reference_of(normalizer, below, mask)
        differences[index] = (change * factors).sum() / 2e-6
    np.testing.assert_allclose(got, closed, atol=2e-6 if dtype == "float32" else 1e-12)
    np.testing.assert_allclose(got, differences, atol=1e-5 if dtype == "float32" else 1e-8)
    if mask is not None:
        assert (got[~mask] == 0).all()


@everyone
@pytest.mark.parametrize("row", [[0.0], [1.0, 1.0, 1.0], [50.0, -50.0], [-1e6, 1e6, 0.0]])
def test_gradients_at_ties_and_extremes_are_those_of_the_closed_form(normalizer, row):
    scores = np.array([row], "float32")
    factors = np.arange(1, len(row) + 1, dtype="float32")
    layer = Attention(normalizer=normalizer)
    like = keras.ops.convert_to_tensor(factors)
    [got] = gradients(lambda s: keras.ops.sum(layer.compute_weights(s) * like), [scores])
    weights = reference_of(normalizer, scores)[0]
    wanted = reference.jacobian(normalizer, weights) @ factors
    np.testing.assert_allclose(got[0], wanted, atol=1e-6)


@pytest.mark.parametrize("way", compilers())
@sparse_ones
def test_compiled_equals_eager(normalizer, way):
    layer = Attention(normalizer=normalizer)
    scores, mask = draw_scores().astype("float32"), MASKS["ragged"]
    compiled = compilers()[way](lambda s, m: layer.compute_weights(s, m))
    got = compiled(*map(keras.ops.convert_to_tensor, (scores, mask)))
    np.testing.assert_allclose(to_numpy(got), weights_of(normalizer, scores, mask), atol=1e-6)


@sparse_ones
def test_unknown_lengths(normalizer):
    query, value = keras.Input((None, 4)), keras.Input((None, 4))
    model = keras.Model([query, value], Attention(normalizer=normalizer)(query, value))
    random = np.random.default_rng(7)
    for length in (1, 3, 6):
        arrays = [random.normal(size=(2, size, 4)).astype("float32") for size in (2, length)]
        weights = to_numpy(model(arrays)[1])
        expected = reference_of(normalizer, np.einsum("bqh,bvh->bqv", *arrays))
        np.testing.assert_allclose(weights, expected, atol=1e-6)


@sparse_ones
def test_training_moves_the_weights_to_what_a_loss_on_them_wants(normalizer):
    """A map of the wanted positions is learnt exactly: no other position keeps any weight."""
    random = np.random.default_rng(8)
    query, value = (random.normal(size=(1, t, 6)).astype("float32") for t in (3, 4))
    wanted = np.eye(4, dtype="float32")[None, :3]
    inputs = keras.Input((3, 6)), keras.Input((4, 6))
    layer = Attention("general", normalizer=normalizer)
    layer.build((1, 3, 6), (1, 4, 6))
    layer.kernel.assign(np.eye(6) * 0.1)
    model = keras.Model(inputs, layer(*inputs)[1])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    # One epoch of many equal steps: cheaper than many epochs.
    many = [np.repeat(array, 150, axis=0) for array in (query, value, wanted)]
    model.fit(many[:2], many[2], batch_size=1, verbose=0)
    np.testing.assert_allclose(model.predict([query, value], verbose=0), wanted, atol=1e-3)


def test_an_unknown_normalizer():
    with pytest.raises(ValueError, match=r"Expected one of .*'entmax15'.*normalizer='max'"):
        Attention(normalizer="max")


def test_a_config_from_before_the_argument_loads_as_softmax():
    config = Attention("general").get_config()
    del config["normalizer"]
    assert Attention.from_config(config).normalizer == "softmax"
