"""Masks whose sizes are known only when a TensorFlow graph runs: wrong ones fail, right ones pass.

JAX and PyTorch know all sizes at each call; test_attention.py::test_call_errors runs there too.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from keras_attention import Attention
from keras_attention.layers.attention_masks import trusted_masks

B, T, H = 3, 4, 2
STATES = np.random.default_rng(0).normal(size=(B, T, H)).astype("float32")
REAL = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], bool)

# Each is broadcast in silence where nobody checks: query and value are equally long.
WRONG_MASKS = {
    "(B, Tv, 1)": REAL[..., None],
    "(1, Tv, 1)": REAL[:1, :, None],
    "(B, 1)": REAL[:, :1],
    "(B, 1, 1)": REAL[:, :1, None],
    "(1, 1)": REAL[:1, :1],
}
RIGHT_MASKS = {
    "(B, Tv)": REAL,
    "(1, Tv)": REAL[:1],
    "(B, Tq, Tv)": np.repeat(REAL[:, None], T, 1),
    "(B, 1, Tv)": REAL[:, None],
    "(1, Tq, Tv)": np.tril(np.ones((1, T, T), bool)),
    "(1, 1, Tv)": REAL[:1, None],
}


def open_spec(array):
    return tf.TensorSpec([None] * array.ndim, array.dtype)


def attend(mask, name="mask", query=STATES, jit_compile=False):
    """The weights that a graph of open sizes gives with this mask; the batch is open as well."""
    layer = Attention()

    @tf.function(
        input_signature=[
            tf.TensorSpec((*[None] * (query.ndim - 1), H)),
            tf.TensorSpec((None, None, H)),
            open_spec(mask),
        ],
        jit_compile=jit_compile,
    )
    def call(query, value, mask):
        return layer(query, value, **{name: mask})[1]

    return call(query, STATES, mask).numpy()


@pytest.mark.parametrize("name", ["mask", "value_mask"])
@pytest.mark.parametrize("which", WRONG_MASKS)
def test_a_wrong_mask_fails_when_the_graph_runs(which, name):
    message = r"mask is \(B, Tv\) or \(B, Tq, Tv\).*give mask\[\.\.\., 0\].*Received"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        attend(WRONG_MASKS[which], name)


def test_a_mask_of_more_rows_than_the_batch_fails():
    layer = Attention()
    call = tf.function(lambda value, mask: layer(value, value, mask=mask)[1]).get_concrete_function(
        tf.TensorSpec((None, None, H)), tf.TensorSpec((None, None), tf.bool)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="mask is"):
        call(tf.constant(STATES[:1]), tf.constant(REAL))


@pytest.mark.parametrize("which", WRONG_MASKS)
def test_a_wrong_mask_fails_under_xla(which):
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
        attend(WRONG_MASKS[which], jit_compile=True)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("which", RIGHT_MASKS)
def test_a_right_mask_passes(which, jit_compile):
    mask = RIGHT_MASKS[which]
    weights = attend(mask, jit_compile=jit_compile)
    expected = Attention()(STATES, STATES, mask=mask)[1]
    np.testing.assert_allclose(weights, expected, atol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("wrong", [REAL[:, :1], REAL[:1, :1]], ids=["(B, 1)", "(1, 1)"])
def test_a_query_mask_of_another_length_fails(wrong, jit_compile):
    message = "reshape" if jit_compile else r"query_mask has one value for each query step.*"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        attend(wrong, "query_mask", jit_compile=jit_compile)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_query_mask_of_one_step(jit_compile):
    weights = attend(np.array([True, False, True]), "query_mask", STATES[:, 0], jit_compile)
    assert (weights[1] == 0).all() and (weights[[0, 2]] > 0).all()
    with pytest.raises(tf.errors.InvalidArgumentError):
        attend(np.array([True]), "query_mask", STATES[:, 0], jit_compile)


def test_one_position_may_have_a_mask_of_one():
    value, mask = STATES[:, :1], np.array([[[1], [0], [1], [1]]] * B, bool)
    layer = Attention()
    call = tf.function(lambda q, v, m: layer(q, v, mask=m)[1]).get_concrete_function(
        tf.TensorSpec((None, None, H)),
        tf.TensorSpec((None, None, H)),
        tf.TensorSpec((None, None, None), tf.bool),
    )
    weights = call(*map(tf.constant, (STATES, value, mask))).numpy()
    np.testing.assert_array_equal(weights, mask.astype("float32"))


def test_a_model_with_a_trailing_axis_is_refused_where_it_is_built():
    ids = keras.Input((None,), dtype="int32")
    states = layers.Embedding(9, H)(ids)
    with pytest.raises(ValueError, match=r"give mask\[\.\.\., 0\].*mask.shape=\(None, None, 1\)"):
        Attention()(states, states, mask=ops.expand_dims(ids != 0, -1))
    with pytest.raises(ValueError, match=r"query_mask has one value.*\(None, None, 1\)"):
        Attention()(states, states, query_mask=ops.expand_dims(ids != 0, -1))


def model_of(mask_shape):
    """Ids and a mask, both of open lengths, into one number for each source."""
    ids = keras.Input((None,), dtype="int32")
    mask = keras.Input(mask_shape, dtype="bool")
    states = layers.Embedding(9, H)(ids)
    context, _ = Attention()(states, states, mask=mask)
    return keras.Model([ids, mask], layers.Dense(1)(ops.max(context, axis=1)))


def padded_batches(mask_of):
    """Batches of a source of 4 tokens and one of 2, of open lengths, with their mask."""
    sources = tf.data.Dataset.from_generator(
        lambda: iter([[1, 2, 3, 4], [5, 6]]), output_signature=tf.TensorSpec([None], tf.int32)
    )
    batches = sources.padded_batch(2).apply(tf.data.experimental.assert_cardinality(1))
    return batches.map(lambda ids: ((ids, mask_of(ids != 0)), tf.zeros((2, 1))))


@pytest.mark.parametrize(
    ("axes", "wrong", "right", "error"),
    [
        # The last axis is known to be 1, so that no graph is needed to see it.
        (3, lambda mask: mask[:, :, None], lambda mask: mask[:, None], ValueError),
        (2, lambda mask: mask[:, :1], lambda mask: mask, tf.errors.InvalidArgumentError),
    ],
    ids=["(B, Tv, 1)", "(B, 1)"],
)
def test_fit_on_padded_data_fails(axes, wrong, right, error):
    model = model_of([None] * (axes - 1))
    model.compile("sgd", "mse")
    with pytest.raises(error, match="mask is"):
        model.fit(padded_batches(wrong), shuffle=False, verbose=0)
    model.fit(padded_batches(right), shuffle=False, verbose=0)


def test_an_exported_model_fails(tmp_path):
    model_of((None,)).export(tmp_path / "model", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "model")  # holds the variables of `serve`
    serve = loaded.serve
    ids = tf.constant([[1, 2, 3, 4], [5, 6, 0, 0]])
    assert serve([ids, ids != 0]).shape == (2, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="mask is"):
        serve([ids, (ids != 0)[:, :1]])


def operators(call, *specs):
    return [
        op.type for op in tf.function(call).get_concrete_function(*specs).graph.get_operations()
    ]


def test_known_sizes_and_trusted_masks_add_nothing_to_the_graph():
    layer = Attention()
    known = tf.TensorSpec((B, T, H)), tf.TensorSpec((B, T), tf.bool)
    opened = tf.TensorSpec((None, None, H)), tf.TensorSpec((None, None), tf.bool)

    def call(value, mask):
        return layer(value, value, mask=mask)

    def trusting(value, mask):
        with trusted_masks():
            return call(value, mask)

    assert "Assert" in operators(call, *opened)
    assert "Assert" not in operators(call, *known)
    assert operators(trusting, *opened) == operators(call, *known)
