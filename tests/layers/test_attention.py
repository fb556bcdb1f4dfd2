"""The layer's contract: equations, shapes, dtypes, dropout, errors; on whichever backend runs."""

import keras
import numpy as np
import pytest

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import compilers, to_numpy

B, TQ, TV, H, D = 2, 3, 5, 4, 6  # all different, so that no axis stands in for another
QUERY = np.random.default_rng(1).normal(size=(B, TQ, H)).astype("float32")
KEY = np.random.default_rng(2).normal(size=(B, TV, H)).astype("float32")
VALUE = np.random.default_rng(3).normal(size=(B, TV, D)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]], bool)


def numpy_softmax(scores):
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def test_hand_computed_dot():
    query = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    value = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    context, weights = Attention()(query, value)
    # scores [[1, 0], [0, 2]]; softmax(1, 0) = 0.7311, 0.2689; softmax(0, 2) = 0.1192, 0.8808
    expected = [[[0.731059, 0.268941], [0.119203, 0.880797]]]
    np.testing.assert_allclose(to_numpy(weights), expected, atol=1e-6)
    np.testing.assert_allclose(to_numpy(context), expected, atol=1e-6)  # the values are one-hot


def test_hand_computed_scaled_dot():
    query, value = np.full((1, 1, 4), 1.0), np.array([[[1.0] * 4, [0.0] * 4]])
    weights = Attention("scaled_dot")(query, value)[1]  # scores 4 / sqrt(4) = 2 and 0
    np.testing.assert_allclose(to_numpy(weights), [[[0.880797, 0.119203]]], atol=1e-6)


def test_hand_computed_general():
    layer = Attention("general")
    layer.build((1, 1, 1), (1, 2, 2))
    layer.set_weights([np.array([[2.0, 3.0]])])
    scores = layer.compute_scores(np.array([[[5.0]]]), np.array([[[1.0, 0.0], [0.0, -1.0]]]))
    np.testing.assert_allclose(to_numpy(scores), [[[10.0, -15.0]]])  # 5·2·1 and 5·3·(-1)


def test_hand_computed_additive():
    layer = Attention("additive", units=1)
    layer.build((1, 1, 1), (1, 2, 1))
    layer.set_weights([np.array([[1.0]]), np.array([[2.0]]), np.array([3.0])])
    scores = layer.compute_scores(np.array([[[0.5]]]), np.array([[[-0.25], [0.25]]]))
    np.testing.assert_allclose(to_numpy(scores), [[[0.0, 3 * np.tanh(1.0)]]], atol=1e-6)


@pytest.mark.parametrize("score", SCORES)
def test_call_is_the_three_equations(score):
    layer = Attention(score)
    context, weights = layer(QUERY, VALUE, key=KEY, mask=MASK)
    by_hand = layer.compute_weights(layer.compute_scores(QUERY, KEY), MASK)
    np.testing.assert_array_equal(to_numpy(weights), to_numpy(by_hand))
    by_hand = layer.compute_context(by_hand, VALUE)
    np.testing.assert_array_equal(to_numpy(context), to_numpy(by_hand))


@pytest.mark.parametrize("score", SCORES)
def test_one_step_is_a_step_of_many(score):
    layer = Attention(score)
    context, weights = layer(QUERY, VALUE, key=KEY, mask=MASK)
    one_context, one_weights = layer(QUERY[:, 1], VALUE, key=KEY, mask=MASK)
    np.testing.assert_allclose(to_numpy(one_weights), to_numpy(weights)[:, 1], atol=1e-6)
    np.testing.assert_allclose(to_numpy(one_context), to_numpy(context)[:, 1], atol=1e-6)


@pytest.mark.parametrize("score", SCORES)
def test_the_methods_take_one_step(score):
    layer = Attention(score)
    context, weights = layer(QUERY[:, 1], VALUE, key=KEY, mask=MASK)
    scores = layer.compute_scores(QUERY[:, 1], KEY)
    assert tuple(scores.shape) == (B, TV)
    for mask in (MASK, MASK[:, None]):
        by_hand = layer.compute_weights(scores, mask)
        np.testing.assert_allclose(to_numpy(by_hand), to_numpy(weights), atol=1e-6)
    by_hand = layer.compute_context(by_hand, VALUE)
    np.testing.assert_allclose(to_numpy(by_hand), to_numpy(context), atol=1e-6)


def test_any_weights_can_be_injected():
    shifted = np.roll(np.eye(TV, dtype="float32")[None], 1, axis=-1).repeat(B, 0)
    context = Attention().compute_context(shifted, VALUE)
    np.testing.assert_allclose(to_numpy(context), np.roll(VALUE, -1, axis=1))


def test_scores_can_be_replaced_by_a_subclass():
    class LooksAtTheFirst(Attention):
        def compute_scores(self, query, key):
            preference = keras.ops.arange(TV, 0, -1, dtype="float32")
            return super().compute_scores(query, key) * 0 + 100 * preference

    for query in (QUERY, QUERY[:, 0]):
        weights = to_numpy(LooksAtTheFirst()(query, VALUE, key=KEY)[1])
        np.testing.assert_allclose(weights[..., 0], 1.0)


@pytest.mark.parametrize("score", SCORES)
def test_key_and_query_of_other_widths(score):
    layer = Attention(score)
    key = np.concatenate([KEY, KEY], axis=-1)
    if score in ("dot", "scaled_dot"):
        with pytest.raises(ValueError, match=r"same last dimension.*general.*Received: query"):
            layer(QUERY, VALUE, key=key)
    else:
        context, weights = layer(QUERY, VALUE, key=key)
        assert tuple(context.shape) == (B, TQ, D) and tuple(weights.shape) == (B, TQ, TV)


def test_units_widen_the_additive_score():
    layer = Attention("additive", units=7)
    layer(QUERY, VALUE, key=KEY)
    assert [tuple(w.shape) for w in layer.weights] == [(H, 7), (H, 7), (7,)]


@pytest.mark.parametrize("score", SCORES)
def test_learned_query_is_one_more_weight(score):
    layer = Attention(score, learned_query=True)
    context, weights = layer(VALUE, mask=MASK)
    assert tuple(context.shape) == (B, D) and tuple(weights.shape) == (B, TV)
    vector = next(w for w in layer.weights if w.name == "query_vector")
    query = np.tile(vector.numpy(), (B, 1))
    same = layer.compute_weights(layer.compute_scores(query, VALUE), MASK)
    np.testing.assert_allclose(to_numpy(weights), to_numpy(same), atol=1e-6)
    by_name = layer(value=VALUE, mask=MASK)[0]
    np.testing.assert_array_equal(to_numpy(by_name), to_numpy(context))
    with_key = layer(VALUE, key=VALUE, value_mask=MASK)[0]
    np.testing.assert_array_equal(to_numpy(with_key), to_numpy(context))


POLICIES = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("score", SCORES)
def test_dtypes_under_every_policy(score, policy):
    layer = Attention(score, dtype=policy)
    context, weights = layer(QUERY, VALUE, key=KEY, mask=MASK)
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    assert keras.backend.standardize_dtype(context.dtype) == layer.compute_dtype
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1.0, atol=1e-6)
    # The same in float32 from what the policy left of inputs and weights: scores lose no more.
    half = [keras.ops.cast(array, layer.compute_dtype) for array in (QUERY, VALUE, KEY)]
    query, value, key = (to_numpy(tensor).astype("float32") for tensor in half)
    reference = Attention(score)
    reference.build(QUERY.shape, VALUE.shape, KEY.shape)
    reference.set_weights([to_numpy(w + 0) for w in layer.weights])
    expected = reference(query, value, key=key, mask=MASK)
    np.testing.assert_allclose(to_numpy(weights), to_numpy(expected[1]), atol=1e-6)
    np.testing.assert_allclose(to_numpy(context), to_numpy(expected[0]), atol=0.02)


@pytest.mark.parametrize("query_shape", [(B, TQ, H), (B, H)])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("score", SCORES)
def test_symbolic_and_concrete_calls_agree(score, policy, query_shape):
    layer = Attention(score, dtype=policy)
    query = QUERY if len(query_shape) == 3 else QUERY[:, 0]
    symbols = [keras.KerasTensor(array.shape) for array in (query, VALUE, KEY, MASK)]
    symbolic = layer(symbols[0], symbols[1], key=symbols[2], mask=symbols[3])
    concrete = layer(query, VALUE, key=KEY, mask=MASK)
    promised = layer.compute_output_shape(query.shape, VALUE.shape, KEY.shape)
    for symbol, tensor, shape in zip(symbolic, concrete, promised, strict=True):
        assert tuple(symbol.shape) == tuple(tensor.shape) == tuple(shape)
        assert symbol.dtype == keras.backend.standardize_dtype(tensor.dtype)


@pytest.mark.parametrize("way", compilers())
@pytest.mark.parametrize("score", SCORES)
def test_compiled_equals_eager(score, way):
    layer = Attention(score)
    expected = layer(QUERY, VALUE, key=KEY, mask=MASK)
    compiled = compilers()[way](lambda q, v, k, m: layer(q, v, key=k, mask=m))
    tensors = [keras.ops.convert_to_tensor(array) for array in (QUERY, VALUE, KEY, MASK)]
    for got, wanted in zip(compiled(*tensors), expected, strict=True):
        np.testing.assert_allclose(to_numpy(got), to_numpy(wanted), atol=1e-6)


def test_dropout_acts_on_the_context_not_on_the_returned_weights():
    layer = Attention(dropout=0.5, seed=7)
    plain_context, plain_weights = Attention()(QUERY, VALUE, key=KEY)
    context, weights = layer(QUERY, VALUE, key=KEY, training=True)
    np.testing.assert_array_equal(to_numpy(weights), to_numpy(plain_weights))
    assert np.abs(to_numpy(context) - to_numpy(plain_context)).max() > 0.01
    context, _ = layer(QUERY, VALUE, key=KEY, training=False)
    np.testing.assert_array_equal(to_numpy(context), to_numpy(plain_context))


def test_dropout_keeps_the_expected_context():
    layer = Attention(dropout=0.3, seed=7)
    query = np.repeat(QUERY[:1, :1], 20_000, axis=1)
    context = to_numpy(layer(query, VALUE[:1], key=KEY[:1], training=True)[0])
    plain = to_numpy(layer(query[:, :1], VALUE[:1], key=KEY[:1], training=False)[0])
    np.testing.assert_allclose(context.mean(1), plain[:, 0], atol=0.03)


def test_same_seed_same_dropout():
    first, second, other = (Attention(dropout=0.5, seed=seed) for seed in (7, 7, 8))
    got = [to_numpy(layer(QUERY, VALUE, key=KEY, training=True)[0]) for layer in (first, second)]
    np.testing.assert_array_equal(*got)
    assert np.abs(to_numpy(other(QUERY, VALUE, key=KEY, training=True)[0]) - got[0]).max() > 0.01


def test_nothing_is_remembered_between_calls():
    layer = Attention("general")
    layer(QUERY, VALUE, key=KEY)
    before = dict(vars(layer))
    layer(QUERY[:1, 0], VALUE[:1], key=KEY[:1], mask=MASK[:1])
    layer(keras.KerasTensor((None, None, H)), keras.KerasTensor((None, None, H)))
    after = {name: value for name, value in vars(layer).items() if name != "_inbound_nodes"}
    assert all(after[name] is before[name] for name in after)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "luong"}, r"Unknown score. Expected one of .*'dot'.*Received: score='luong'"),
        ({"dropout": 1.0}, r"at least 0 and below 1. Received: dropout=1.0"),
        ({"dropout": -0.1}, r"Received: dropout=-0.1"),
        ({"units": 3}, r"score='additive'.*Received: units=3, score='dot'"),
        ({"score": "additive", "units": 0}, r"positive.*Received: units=0"),
    ],
)
def test_constructor_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Attention(**arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a(QUERY), r"needs a query and a value.*learned_query"),
        (lambda a: a(QUERY[None], VALUE, key=KEY), r"Expected a query \(B, Tq, H\) or \(B, H\)"),
        (lambda a: a(QUERY, VALUE[:, 0], key=KEY), r"Received: .*value.shape=\(2, 6\)"),
        (lambda a: a(QUERY, VALUE, key=KEY[:, :4]), r"same length Tv. Received: key.shape=\(2, 4"),
        (lambda a: a(QUERY[:1], VALUE, key=KEY), r"same batch size of query, value and key"),
        (lambda a: a(QUERY, VALUE, key=KEY, mask=MASK[:, :4]), r"Received: mask.shape=\(2, 4\)"),
        (lambda a: a(QUERY, VALUE, key=KEY, mask=MASK[:, :1]), r"Received: mask.shape=\(2, 1\)"),
        (lambda a: a(QUERY, VALUE, key=KEY, mask=MASK[..., None]), r"give mask\[\.\.\., 0\]"),
        (lambda a: a(VALUE, VALUE, mask=MASK[..., None]), r"Received: mask.shape=\(2, 5, 1\)"),
        (lambda a: a(VALUE, VALUE, query_mask=MASK[:, :1]), r"query_mask.shape=\(2, 1\)"),
        (lambda a: a(QUERY, VALUE, key=KEY, mask=MASK[0]), r"mask is \(B, Tv\) or \(B, Tq, Tv\)"),
        (lambda a: a(QUERY, VALUE, key=KEY, query_mask=MASK), r"query_mask has one value for each"),
    ],
)
def test_call_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(Attention())


def test_learned_query_refuses_a_given_one():
    with pytest.raises(ValueError, match=r"its own query: expected layer\(value\)"):
        Attention(learned_query=True)(QUERY, VALUE)


def test_other_widths_than_built_for():
    layer = Attention("general")
    layer(QUERY, VALUE, key=KEY)
    with pytest.raises(ValueError, match=r"built for .* Received: query.shape"):
        layer(QUERY[..., :2], VALUE, key=KEY)


def test_unknown_width():
    with pytest.raises(ValueError, match=r"must be known to build the layer"):
        Attention("general")(keras.KerasTensor((None, 3, None)), keras.KerasTensor((None, 5, 4)))
