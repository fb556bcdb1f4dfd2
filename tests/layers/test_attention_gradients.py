"""Values and gradients against an independent float64 NumPy version and its finite differences."""

import keras
import numpy as np
import pytest

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import BACKEND, gradients, to_numpy

B, TQ, TV, H, K, D = 2, 3, 4, 3, 5, 2
# The second source is shorter; in the third mask no query of the first row sees anything.
RAGGED = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
EMPTY_ROW = np.array([[0, 0, 0, 0], [1, 0, 1, 1]], bool)
PER_QUERY = np.random.default_rng(5).random((B, TQ, TV)) < 0.6
# On JAX and PyTorch, Keras' own operations round float64 to float32.
DTYPES = ["float32", "float64"] if BACKEND == "tensorflow" else ["float32"]
MASKS = {"none": None, "ragged": RAGGED, "empty row": EMPTY_ROW, "per query": PER_QUERY}


def reference(score, query, key, value, weights, mask):
    """The three equations with loops, in float64: (context, attention weights)."""
    context, attention = np.zeros((B, TQ, D)), np.zeros((B, TQ, TV))
    mask = np.ones((B, TV), bool) if mask is None else mask
    mask = np.broadcast_to(mask[:, None] if mask.ndim == 2 else mask, (B, TQ, TV))
    for b, t in np.ndindex(B, TQ):
        seen = np.flatnonzero(mask[b, t])
        if len(seen):
            e = np.array([_score(score, query[b, t], key[b, s], weights) for s in seen])
            exponents = np.exp(e - e.max())
            attention[b, t, seen] = exponents / exponents.sum()
            context[b, t] = attention[b, t] @ value[b]
    return context, attention


def _score(score, q, k, weights):
    if score == "general":
        return q @ weights[0] @ k
    if score == "additive":
        return weights[2] @ np.tanh(q @ weights[0] + k @ weights[1])
    return q @ k / (np.sqrt(len(q)) if score == "scaled_dot" else 1)


def draw(score):
    """Query, key, value and the layer's weights in float64, from a fixed seed."""
    random = np.random.default_rng(11)
    key_width = H if score in ("dot", "scaled_dot") else K
    shapes = [(B, TQ, H), (B, TV, key_width), (B, TV, D)]
    shapes += {"general": [(H, K)], "additive": [(H, H), (K, H), (H,)]}.get(score, [])
    return [random.normal(size=shape) for shape in shapes]


def loss_of(context, weights, like):
    """A scalar that depends on every number of both outputs, each in its own way."""
    return (context * like[0]).sum() + (weights * like[1]).sum()


def finite_differences(function, arrays, step=1e-5):
    found = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + step
            above = function()
            array[index] = kept - step
            gradient[index] = (above - function()) / (2 * step)
            array[index] = kept
        found.append(gradient)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_values_and_gradients(score, mask_name, dtype):
    mask, arrays = MASKS[mask_name], draw(score)
    random = np.random.default_rng(13)
    like = random.normal(size=(B, TQ, D)), random.normal(size=(B, TQ, TV))
    expected = reference(score, *arrays[:3], arrays[3:], mask)
    expected_gradients = finite_differences(
        lambda: loss_of(*reference(score, *arrays[:3], arrays[3:], mask), like), arrays
    )
    layer = Attention(score, dtype=dtype)
    layer.build(arrays[0].shape, arrays[2].shape, arrays[1].shape)

    def call(query, key, value, *weights):
        return layer.stateless_call(weights, [], query, value, key=key, mask=mask)[0]

    def loss(*tensors):
        outputs = call(*tensors)
        weighed = [
            keras.ops.sum(output * keras.ops.cast(factor, output.dtype))
            for output, factor in zip(outputs, like, strict=True)
        ]
        return weighed[0] + weighed[1]

    arrays = [array.astype(dtype) for array in arrays]
    tolerance = 1e-6 if dtype == "float32" else 1e-12
    got = call(*(keras.ops.convert_to_tensor(array, dtype) for array in arrays))
    for tensor, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(to_numpy(tensor), wanted, atol=tolerance)
    tolerance = 1e-5 if dtype == "float32" else 1e-8
    for gradient, wanted in zip(gradients(loss, arrays), expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted, atol=tolerance)


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("score", SCORES)
def test_gradients_are_finite_under_full_masks(score, policy, size):
    arrays = [array.astype("float32") for array in draw(score)]
    arrays[:2] = [array * size for array in arrays[:2]]
    nothing = np.zeros((B, TV), bool)
    layer = Attention(score, dtype=policy)
    layer.build(arrays[0].shape, arrays[2].shape, arrays[1].shape)

    def loss(query, key, value, *weights):
        (context, attention), _ = layer.stateless_call(
            weights, [], query, value, key=key, mask=nothing
        )
        context = keras.ops.cast(context, "float32")
        return keras.ops.sum(context**2) + keras.ops.sum(attention**2)

    assert all((gradient == 0).all() for gradient in gradients(loss, arrays))


def test_masked_positions_get_no_gradient():
    arrays = [array.astype("float32") for array in draw("dot")]
    layer = Attention()

    def loss(query, key, value):
        context, weights = layer(query, value, key=key, mask=RAGGED)
        return keras.ops.sum(context**2) + keras.ops.sum(weights**2)

    for gradient in gradients(loss, arrays)[1:]:
        assert (gradient[1, 2:] == 0).all() and (gradient[1, :2] != 0).all()
