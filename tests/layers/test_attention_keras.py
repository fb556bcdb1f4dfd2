"""Agreement with Keras' own layers, and where ours differs on purpose: docs/keras-layers.md."""

import keras
import numpy as np
import pytest

from keras_attention import Attention
from tests.support.attention_backend import to_numpy

B, TQ, TV, H = 4, 5, 7, 6


def draw(seed):
    """Query, key, value and a random ragged mask with at least one position in each row."""
    random = np.random.default_rng(seed)
    arrays = [random.normal(size=(B, t, H)).astype("float32") for t in (TQ, TV, TV)]
    lengths = random.integers(1, TV + 1, size=B)
    return *arrays, np.arange(TV) < lengths[:, None]


def agree(ours, theirs, query, key, value, mask, query_mask=None):
    context, weights = ours(query, value, key=key, mask=mask, query_mask=query_mask)
    their_context, their_weights = theirs(
        [query, value, key], mask=[query_mask, mask], return_attention_scores=True
    )
    np.testing.assert_allclose(to_numpy(context), to_numpy(their_context), atol=1e-6)
    rows = np.ones((B, TQ), bool) if query_mask is None else query_mask
    np.testing.assert_allclose(to_numpy(weights)[rows], to_numpy(their_weights)[rows], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_dot_is_keras_attention(seed):
    agree(Attention(), keras.layers.Attention(), *draw(seed))


@pytest.mark.parametrize("seed", range(5))
def test_scaled_dot_is_keras_attention_with_that_scale(seed):
    theirs = keras.layers.Attention(use_scale=True)
    theirs.build([(B, TQ, H), (B, TV, H), (B, TV, H)])
    theirs.scale.assign(H**-0.5)
    agree(Attention("scaled_dot"), theirs, *draw(seed))


def additive(score_vector):
    """Our additive score with W = U = identity, which is what Keras' additive scores have."""
    layer = Attention("additive")
    layer.build((B, TQ, H), (B, TV, H), (B, TV, H))
    layer.set_weights([np.eye(H), np.eye(H), score_vector])
    return layer


@pytest.mark.parametrize("seed", range(5))
def test_additive_is_keras_concat_with_identity_kernels(seed):
    theirs = keras.layers.Attention(score_mode="concat")
    theirs.build([(B, TQ, H), (B, TV, H), (B, TV, H)])
    theirs.concat_score_weight.assign(0.7)
    agree(additive(np.full(H, 0.7)), theirs, *draw(seed))


@pytest.mark.parametrize("seed", range(5))
def test_additive_is_keras_additive_attention_with_identity_kernels(seed):
    theirs = keras.layers.AdditiveAttention()
    theirs.build([(B, TQ, H), (B, TV, H), (B, TV, H)])
    vector = np.random.default_rng(seed).normal(size=H)
    theirs.scale.assign(vector)
    agree(additive(vector), theirs, *draw(seed))


def test_query_mask_zeroes_the_context_as_in_keras():
    query_mask = np.arange(TQ) < np.array([[5], [1], [3], [2]])
    agree(Attention(), keras.layers.Attention(), *draw(0), query_mask=query_mask)


def test_causal_mask_is_keras_use_causal_mask():
    query, key, value, mask = draw(0)
    causal = np.tril(np.ones((TQ, TV), bool))[None] & mask[:, None]
    got = Attention()(query, value, key=key, mask=causal)[0]
    wanted = keras.layers.Attention()([query, value, key], mask=[None, mask], use_causal_mask=True)
    np.testing.assert_allclose(to_numpy(got), to_numpy(wanted), atol=1e-6)


def one_plain_head():
    """Keras' MultiHeadAttention with one head and projections that change nothing."""
    layer = keras.layers.MultiHeadAttention(1, H, use_bias=False)
    layer.build((B, TQ, H), (B, TV, H), (B, TV, H))
    layer.set_weights([np.eye(H)[:, None]] * 3 + [np.eye(H)[None]])
    return layer


def test_scaled_dot_is_multi_head_attention_with_one_plain_head():
    query, key, value, mask = draw(0)
    context, weights = Attention("scaled_dot")(query, value, key=key, mask=mask)
    their_context, their_weights = one_plain_head()(
        query, value, key=key, attention_mask=mask[:, None], return_attention_scores=True
    )
    np.testing.assert_allclose(to_numpy(context), to_numpy(their_context), atol=1e-6)
    np.testing.assert_allclose(to_numpy(weights), to_numpy(their_weights)[:, 0], atol=1e-6)


def test_masked_rows_are_those_of_multi_head_attention():
    query, key, value, mask = draw(0)
    rows = np.arange(TQ) < np.array([[5], [1], [0], [2]])
    mask = rows[:, :, None] & mask[:, None]
    outputs = Attention("scaled_dot")(query, value, key=key, mask=mask)
    theirs = one_plain_head()(
        query, value, key=key, attention_mask=mask, return_attention_scores=True
    )
    for output, their in zip(outputs, (theirs[0], theirs[1][:, 0]), strict=True):
        np.testing.assert_allclose(to_numpy(output), to_numpy(their), atol=1e-6)
        assert (to_numpy(output)[~rows] == 0).all()


def test_a_fully_masked_row_differs_from_keras_on_purpose():
    query, key, value, mask = draw(0)
    mask[0] = False
    theirs = keras.layers.Attention()(
        [query, value, key], mask=[None, mask], return_attention_scores=True
    )[1]
    assert (to_numpy(theirs)[0] > 0).any()  # they weigh padding
    assert (to_numpy(Attention()(query, value, key=key, mask=mask)[1])[0] == 0).all()


def test_dropout_differs_from_keras_on_purpose():
    query, key, value, mask = draw(0)
    theirs = keras.layers.Attention(dropout=0.5, seed=1)(
        [query, value, key], mask=[None, mask], return_attention_scores=True, training=True
    )[1]
    assert np.abs(to_numpy(theirs).sum(-1) - 1).max() > 0.1  # they return what dropout left
    ours = Attention(dropout=0.5, seed=1)(query, value, key=key, mask=mask, training=True)[1]
    np.testing.assert_allclose(to_numpy(ours).sum(-1), 1, atol=1e-6)


def test_half_precision_scores_differ_from_keras_on_purpose():
    random = np.random.default_rng(0)
    query, value = (random.normal(size=(1, t, 512)) * 60 for t in (4, 6))  # scores beyond 65504
    theirs = keras.layers.Attention(dtype="float16")([query, value])
    context, weights = Attention(dtype="float16")(query, value)
    assert not np.isfinite(to_numpy(theirs)).all()
    assert np.isfinite(to_numpy(context)).all()
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1, atol=1e-6)
