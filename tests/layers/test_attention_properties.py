"""What holds for every input: permutation, removal, padding, sums, convexity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import BACKEND, to_numpy

# A few sizes only: JAX compiles once for each. They are (B, Tq, Tv, H, D).
SIZES = [(1, 1, 1, 1, 1), (2, 3, 5, 4, 2), (3, 3, 3, 3, 3)]
SETTINGS = settings(
    deadline=None, max_examples=25 if BACKEND == "tensorflow" else 8, derandomize=True
)
scores = pytest.mark.parametrize("score", SCORES)


@st.composite
def inputs(draw, least_visible=0):
    """Query, value and mask of drawn size and scale, with `least_visible` True in every row."""
    batch, tq, tv, width, depth = draw(st.sampled_from(SIZES))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.01, 1.0, 30.0]))
    mask = random.random((batch, tv)) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    mask[:, :least_visible] = True
    draw_array = lambda *shape: (scale * random.normal(size=shape)).astype("float32")  # noqa: E731
    return (
        draw_array(batch, tq, width),
        draw_array(batch, tv, width),
        draw_array(batch, tv, depth),
        random.permuted(mask, axis=1),
        random,
    )


def call(layer, query, key, value, mask):
    return tuple(to_numpy(output) for output in layer(query, value, key=key, mask=mask))


@scores
@SETTINGS
@given(drawn=inputs())
def test_permuting_the_source_permutes_the_weights(score, drawn):
    query, key, value, mask, random = drawn
    layer, order = Attention(score), random.permutation(value.shape[1])
    context, weights = call(layer, query, key, value, mask)
    moved = call(layer, query, key[:, order], value[:, order], mask[:, order])
    np.testing.assert_allclose(moved[1], weights[..., order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(moved[0], context, rtol=1e-4, atol=1e-4 * np.abs(value).max())


@scores
@SETTINGS
@given(drawn=inputs(least_visible=1))
def test_masking_equals_removal(score, drawn):
    query, key, value, mask, _ = drawn
    mask = np.repeat(mask[:1], len(mask), axis=0)  # one mask for all, so that rows stay as long
    layer = Attention(score)
    context, weights = call(layer, query, key, value, mask)
    kept = mask[0]
    removed = call(layer, query, key[:, kept], value[:, kept], None)
    np.testing.assert_allclose(weights[..., kept], removed[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(context, removed[0], rtol=1e-4, atol=1e-4 * np.abs(value).max())


@scores
@SETTINGS
@given(drawn=inputs(), padding=st.sampled_from([1, 4]), left=st.booleans())
def test_padding_changes_nothing(score, drawn, padding, left):
    query, key, value, mask, random = drawn
    layer = Attention(score)
    context, weights = call(layer, query, key, value, mask)
    rubbish = [100 * random.normal(size=(len(x), padding, x.shape[-1])) for x in (key, value)]
    padded = [
        np.concatenate([pad, x] if left else [x, pad], axis=1).astype("float32")
        for x, pad in zip((key, value), rubbish, strict=True)
    ]
    widths = (padding, 0) if left else (0, padding)
    padded_context, padded_weights = call(layer, query, *padded, np.pad(mask, ((0, 0), widths)))
    own = np.pad(np.ones(mask.shape[1], bool), widths)
    assert (padded_weights[..., ~own] == 0).all()
    np.testing.assert_allclose(padded_weights[..., own], weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(padded_context, context, rtol=1e-4, atol=1e-4 * np.abs(value).max())


@scores
@SETTINGS
@given(drawn=inputs())
def test_weights_sum_to_one_or_zero(score, drawn):
    query, key, value, mask, _ = drawn
    context, weights = call(Attention(score), query, key, value, mask)
    wanted = np.broadcast_to(mask.any(-1)[:, None], weights.shape[:-1]).astype(float)
    np.testing.assert_allclose(weights.sum(-1), wanted, atol=1e-5)
    assert (weights >= 0).all() and (
        weights[~np.broadcast_to(mask[:, None], weights.shape)] == 0
    ).all()
    assert (context[wanted == 0] == 0).all()


@scores
@SETTINGS
@given(drawn=inputs(least_visible=1))
def test_context_lies_in_the_hull_of_the_values(score, drawn):
    query, key, value, mask, random = drawn
    context, _ = call(Attention(score), query, key, value, mask)
    # A convex hull is bounded in every direction; look along a few, the axes among them.
    directions = np.concatenate([np.eye(value.shape[-1]), random.normal(size=(5, value.shape[-1]))])
    slack = 1e-4 * np.abs(value).max()
    for row in range(len(value)):
        seen, reached = value[row][mask[row]] @ directions.T, context[row] @ directions.T
        assert (reached <= seen.max(0) + slack).all() and (reached >= seen.min(0) - slack).all()
