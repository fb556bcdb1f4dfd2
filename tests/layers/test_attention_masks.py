"""Masks: given or carried, exact whatever sizes coincide, and rows that see nothing."""

import keras
import numpy as np
import pytest

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import to_numpy

# (batch, Tq, Tv), alike in every way: what broadcasts by accident shows in one of them.
SIZES = [(2, 3, 4), (3, 3, 4), (3, 2, 3), (2, 3, 3), (3, 3, 3), (1, 2, 3), (2, 1, 3), (3, 2, 1)]
SIZES += [(1, 1, 1)]


def draw(batch, query_length, length, width=4, seed=0):
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(batch, query_length, width)).astype("float32"),
        random.normal(size=(batch, length, width)).astype("float32"),
    )


@pytest.mark.parametrize(("batch", "tq", "tv"), SIZES)
def test_two_axes_are_batch_and_length(batch, tq, tv):
    query, value = draw(batch, tq, tv)
    mask = np.random.default_rng(1).random((batch, tv)) < 0.5
    mask[:, 0] = True
    weights = to_numpy(Attention()(query, value, mask=mask)[1])
    for row in range(batch):  # the row alone, with its positions removed instead of masked
        alone = Attention()(query[row : row + 1], value[row : row + 1, mask[row]])[1]
        np.testing.assert_allclose(weights[row][:, mask[row]], to_numpy(alone)[0], atol=1e-6)
        assert (weights[row][:, ~mask[row]] == 0).all()


@pytest.mark.parametrize(("batch", "tq", "tv"), SIZES)
def test_three_axes_broadcast_over_batch_and_query(batch, tq, tv):
    query, value = draw(batch, tq, tv)
    full = np.random.default_rng(2).random((batch, tq, tv)) < 0.6
    for mask in (full, full[:1], full[:, :1], full[:1, :1]):
        weights = to_numpy(Attention()(query, value, mask=mask)[1])
        same = Attention()(query, value, mask=np.broadcast_to(mask, (batch, tq, tv)))[1]
        np.testing.assert_array_equal(weights, to_numpy(same))
        assert (weights[~np.broadcast_to(mask, weights.shape)] == 0).all()


def test_two_axes_with_one_row_hold_for_the_whole_batch():
    query, value = draw(3, 2, 4)
    mask = np.array([[True, False, True, True]])
    got = to_numpy(Attention()(query, value, mask=mask)[1])
    assert (got[:, :, 1] == 0).all() and (got[:, :, [0, 2, 3]] > 0).all()


@pytest.mark.parametrize("one_step", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_a_row_that_sees_nothing_is_zero(score, one_step):
    query, value = draw(2, 3, 4)
    mask = np.array([[False] * 4, [True] * 4])
    outputs = Attention(score)(query[:, 0] if one_step else query, value, mask=mask)
    for output in map(to_numpy, outputs):
        assert (output[0] == 0).all() and np.isfinite(output).all() and (output[1] != 0).all()


@pytest.mark.parametrize("kind", ["bool", "int32", "float32"])
def test_masks_of_numbers(kind):
    query, value = draw(2, 3, 4)
    mask = np.array([[1, 1, 0, 0], [1, 0, 1, 0]])
    weights = to_numpy(Attention()(query, value, mask=mask.astype(kind))[1])
    assert ((weights == 0) == (mask[:, None] == 0)).all()


def test_explicit_mask_beats_the_carried_one():
    ids = np.array([[3, 4, 0, 0], [5, 0, 0, 0]])
    value = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    query = draw(2, 3, 4)[0]
    carried = to_numpy(Attention()(query, value)[1])
    assert ((carried == 0) == (ids[:, None] == 0)).all()
    mask = np.array([[1, 1, 1, 0], [0, 1, 1, 1]], bool)
    explicit = to_numpy(Attention()(query, value, mask=mask)[1])
    assert ((explicit == 0) == ~mask[:, None]).all()
    by_name = to_numpy(Attention()(query, value, value_mask=mask)[1])
    np.testing.assert_array_equal(by_name, explicit)


def test_a_masked_query_step_is_zero():
    query, value = draw(2, 3, 4)
    query_mask = np.array([[True, True, False], [True, False, False]])
    plain = Attention()(query, value)
    for mask in (None, np.ones((2, 4), bool), np.ones((1, 3, 4), bool)):
        outputs = Attention()(query, value, mask=mask, query_mask=query_mask)
        for output, without in zip(map(to_numpy, outputs), map(to_numpy, plain), strict=True):
            assert (output[~query_mask] == 0).all()
            np.testing.assert_allclose(output[query_mask], without[query_mask], atol=1e-6)


def test_query_mask_of_one_step():
    query, value = draw(2, 1, 4)
    for mask in (None, np.ones((2, 4), bool)):
        context, weights = Attention()(
            query[:, 0], value, mask=mask, query_mask=np.array([True, False])
        )
        assert (to_numpy(weights)[1] == 0).all() and (to_numpy(context)[1] == 0).all()
        np.testing.assert_allclose(to_numpy(weights)[0].sum(), 1, atol=1e-6)


@pytest.mark.parametrize("score", SCORES)
def test_learned_query_takes_the_carried_mask(score):
    ids = np.array([[3, 4, 0, 0], [5, 0, 0, 0], [0, 0, 0, 0]])
    value = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    layer = Attention(score, learned_query=True)
    for outputs in (layer(value), layer(value=value), layer(value, key=value)):
        weights = to_numpy(outputs[1])
        assert ((weights == 0) == (ids == 0)).all()
        np.testing.assert_allclose(weights.sum(-1), [1, 1, 0], atol=1e-6)
    explicit = to_numpy(layer(value, mask=np.ones((3, 4), bool))[1])
    assert (explicit > 0).all()


def test_scores_of_any_size_leave_masked_positions_at_zero():
    query, value = draw(2, 3, 4)
    mask = np.array([[1, 0, 1, 0], [1, 0, 0, 0]], bool)
    for size in (1e-20, 1e8, -1e8):
        context, weights = map(to_numpy, Attention()(query * size, value * 1e3, mask=mask))
        assert (weights[~np.broadcast_to(mask[:, None], weights.shape)] == 0).all()
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
        assert np.isfinite(context).all()


def test_symbolic_mask_of_a_wrong_shape():
    query, value = keras.KerasTensor((None, 3, 4)), keras.KerasTensor((None, 5, 4))
    with pytest.raises(ValueError, match=r"expected shape \(None, 5\) or \(None, 3, 5\)"):
        Attention()(query, value, mask=keras.KerasTensor((None, 3), dtype="bool"))
