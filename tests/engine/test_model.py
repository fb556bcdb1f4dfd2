"""The same as Keras for every kind of model: tokens, scores and attention weights."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from keras_attention.engine import search, weights
from keras_attention.engine.architecture import Architecture
from keras_attention.engine.attention import MASKED, NORMALIZERS, Attention, largest, mask_of
from keras_attention.engine.decoder import END, NEG_INF, PADDING, START, UNKNOWN, Model
from keras_attention.engine.ensemble import Ensemble
from keras_attention.models.ensemble import Ensemble as KerasEnsemble
from keras_attention.models.inference import InferenceModel
from tests.models.test_training_model import (
    KINDS,
    SOURCE_SIZE,
    TARGET_SIZE,
    _name,
    config_of,
    model_of,
)

LONGEST = 7
TOLERANCE = 1e-5


def both(config):
    """The model in Keras and in NumPy; its outputs end early, late and not at all."""
    model = model_of(config)
    affine = model.get_layer("affine")
    affine.bias.assign(np.where(np.arange(TARGET_SIZE) < 4, [20, 20, 1.5, 20, *[0] * 4], 0))
    ours = Model(
        Architecture.of(config, LONGEST), weights.of_keras_model(model), SOURCE_SIZE, TARGET_SIZE
    )
    return InferenceModel.from_training_model(model, config, LONGEST), ours


_IDS = tf.TensorSpec([None, None], tf.int32)
BEAMS = {(5, 0.7), (30, 0.0)}


class Traced(NamedTuple):
    """A Keras model's ways to decode, as graphs."""

    greedy: Callable
    beams: dict[tuple[int, float], Callable]


def case_of(request):
    kind, attentional = request.param
    keras_model, model = both(config_of(kind, attentional_layer=attentional))
    greedy = tf.function(keras_model.greedy, input_signature=[_IDS], autograph=False)
    beams = {
        (width, penalty): tf.function(
            functools.partial(keras_model.beam, beam_width=width, length_penalty=penalty),
            input_signature=[_IDS],
            autograph=False,
        )
        for width, penalty in BEAMS
    }
    return Traced(greedy, beams), model


cases = [(kind, False) for kind in KINDS] + [(kind, True) for kind in KINDS[:8]]
case = pytest.fixture(
    case_of,
    params=cases,
    ids=[f"{_name(kind)}{'-attentional' * layer}" for kind, layer in cases],
    scope="module",
    name="case",
)

batches = strategies.lists(
    strategies.lists(strategies.integers(UNKNOWN, SOURCE_SIZE - 1), max_size=12),
    min_size=1,
    max_size=9,
)


def padded(rows):
    """Ids and lengths, the longest first."""
    rows = sorted(rows, key=len, reverse=True)
    ids = np.zeros((len(rows), len(rows[0])), np.int32)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    return ids, np.array([len(row) for row in rows])


def assert_same(ours: search.Decoded, theirs) -> None:
    """Tokens alike, numbers within the tolerance; `theirs` has more steps, all empty."""
    tokens, lengths, scores, attention, gains = (np.asarray(part) for part in theirs)
    steps = ours.token_ids.shape[-1]
    np.testing.assert_array_equal(ours.token_ids, tokens[..., :steps])
    assert not tokens[..., steps:].any()
    np.testing.assert_array_equal(ours.lengths, lengths)
    np.testing.assert_allclose(ours.log_probability, scores, atol=TOLERANCE, rtol=1e-6)
    each = ours.token_log_probability
    np.testing.assert_allclose(each, gains[..., :steps], atol=3 * TOLERANCE)
    exists = ours.log_probability > NEG_INF / 2
    np.testing.assert_allclose(
        each.sum(axis=-1)[exists], ours.log_probability[exists], atol=3 * TOLERANCE, rtol=1e-6
    )
    if ours.attention_weights is None:
        assert not attention.size
    else:
        np.testing.assert_allclose(
            ours.attention_weights, attention[..., :steps, :], atol=TOLERANCE
        )


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (400, 7), (2, 300, 5)])
def test_the_largest_is_found_in_few_rows_and_in_many(shape):
    scores = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    scores[..., -1] = MASKED
    np.testing.assert_array_equal(largest(scores), scores.max(axis=-1, keepdims=True))


@hypothesis.given(rows=batches)
@hypothesis.settings(max_examples=8)
def test_greedy_decoding_is_that_of_keras(case, rows):
    keras_model, model = case
    ids, lengths = padded(rows)
    decoded = keras_model.greedy(ids)
    assert_same(search.greedy(model, ids, lengths), [part[:, None] for part in decoded])


@hypothesis.given(rows=batches, beam=strategies.sampled_from(sorted(BEAMS)))
@hypothesis.settings(max_examples=10)
def test_beam_search_is_that_of_keras(case, rows, beam):
    keras_model, model = case
    ids, lengths = padded(rows)
    assert_same(search.beam(model, ids, lengths, *beam), keras_model.beams[beam](ids))


@pytest.mark.parametrize("kinds", [(KINDS[0], KINDS[6]), (KINDS[8], KINDS[10], KINDS[11])])
def test_an_ensemble_is_that_of_keras(kinds):
    keras_models, models = zip(*(both(config_of(kind)) for kind in kinds), strict=True)
    ids, lengths = padded([[4, 5, 6], [7], [], [3, 3, 8, 8, 4, 5]])
    theirs, ours = KerasEnsemble(keras_models), Ensemble(models)
    decoded = theirs.greedy(tf.constant(ids))
    assert_same(search.greedy(ours, ids, lengths), [part[:, None] for part in decoded])
    decoded = theirs.beam(tf.constant(ids), 4, 0.5)
    assert_same(search.beam(ours, ids, lengths, 4, 0.5), decoded)


def test_a_row_is_answered_alone_as_among_others(case):
    _, model = case
    rng = np.random.default_rng(0)
    ids, lengths = padded([rng.integers(3, SOURCE_SIZE, n).tolist() for n in (9, 5, 5, 1, 0)])
    together = search.beam(model, ids, lengths, 3)
    for row, length in enumerate(lengths):
        alone = search.beam(model, ids[[row], :length], lengths[[row]], 3)
        steps = alone.token_ids.shape[-1]
        np.testing.assert_array_equal(alone.token_ids[0], together.token_ids[row, :, :steps])
        scores = together.log_probability[row]
        np.testing.assert_allclose(alone.log_probability[0], scores, atol=TOLERANCE, rtol=1e-6)
        if model.has_attention and length:
            looked = together.attention_weights[row, :, :steps, :length]
            np.testing.assert_allclose(alone.attention_weights[0], looked, atol=TOLERANCE)


def test_what_is_reserved_is_never_said(case):
    _, model = case
    ids, lengths = padded([[4, 5], [6]])
    for decoded in (search.greedy(model, ids, lengths), search.beam(model, ids, lengths, 3)):
        for row in decoded.token_ids.reshape(-1, decoded.token_ids.shape[-1]):
            said = row[: np.count_nonzero(row)]
            assert not set(said.tolist()) & {PADDING, START, END, UNKNOWN}


def test_two_calls_give_the_same_bits_and_own_their_arrays(case):
    _, model = case
    ids, lengths = padded([[4, 5, 6, 7], [6], []])
    first = search.beam(model, ids, lengths, 3)
    kept = [None if part is None else part.copy() for part in first]
    search.beam(model, ids[:, ::-1].copy(), lengths, 3)
    again = search.beam(model, ids, lengths, 3)
    for part, before, same in zip(first, kept, again, strict=True):
        np.testing.assert_array_equal(part, before)
        np.testing.assert_array_equal(part, same)


def test_rows_must_fall_in_length(case):
    _, model = case
    with pytest.raises(ValueError, match="of falling length. Received"):
        search.greedy(model, np.array([[4, 0], [4, 5]]), np.array([1, 2]))


def test_weights_must_be_those_of_the_architecture():
    config = config_of(KINDS[4])
    arrays = weights.of_keras_model(model_of(config))
    architecture = Architecture.of(config, LONGEST)
    wider = dataclasses.replace(architecture, units=8)
    with pytest.raises(ValueError, match="'affine/kernel' must have the shape"):
        Model(wider, arrays, SOURCE_SIZE, TARGET_SIZE)
    with pytest.raises(ValueError, match=r"'attention/kernel' must have .* Received: None"):
        missing = {name: a for name, a in arrays.items() if name != "attention/kernel"}
        Model(architecture, missing, SOURCE_SIZE, TARGET_SIZE)
    with pytest.raises(ValueError, match=r"'more' must have the shape None"):
        Model(architecture, arrays | {"more": arrays["affine/bias"]}, SOURCE_SIZE, TARGET_SIZE)
    with pytest.raises(ValueError, match="attention must be one of .* Received: attention='x'"):
        dataclasses.replace(architecture, attention="x")
    with pytest.raises(ValueError, match="units must be a positive integer"):
        dataclasses.replace(architecture, units=0)


def test_attention_of_two_positions_by_hand():
    """Scores ln 3 and 0 give weights 3/4 and 1/4; a masked position gets exactly nothing."""
    architecture = Architecture.of(config_of(KINDS[0], units=2), LONGEST)
    attention = Attention(architecture, {})
    query = 2 * np.array([[1, 0]], np.float32)
    keys = 2 * np.array([[[np.log(3), 5], [0, 7], [9, 9]]], np.float32)
    looked = attention.weights(query, keys, mask_of(np.array([2]), 3))
    np.testing.assert_allclose(looked, [[[0.75, 0.25, 0.0]]], atol=1e-6)
    assert looked[0, 0, 2] == 0.0


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
@hypothesis.given(
    seed=strategies.integers(0, 2**32 - 1),
    length=strategies.integers(1, 9),
    masked=strategies.booleans(),
)
@hypothesis.settings(max_examples=30)
def test_sparse_weights_are_those_of_the_layer(name, seed, length, masked):
    from keras_attention.layers.normalizers import NORMALIZERS as KERAS

    scores = np.random.default_rng(seed).normal(scale=2, size=(2, 3, length)).astype(np.float32)
    if masked and length > 1:
        scores[..., -1] = MASKED
    ours = NORMALIZERS[name](scores.copy())
    np.testing.assert_allclose(ours, np.asarray(KERAS[name](scores)), atol=1e-6)
    np.testing.assert_allclose(ours.sum(axis=-1), 1, atol=1e-6)
    assert not (masked and length > 1) or not ours[..., -1].any()


def test_sparse_weights_by_hand():
    """Sparsemax of (1, 0.5, -1): t = 0.25; 1.5-entmax of (0, 0): halves of 2 · (1/2)²."""
    three = np.array([[1, 0.5, -1]], np.float32)
    np.testing.assert_allclose(NORMALIZERS["sparsemax"](three), [[0.75, 0.25, 0]], atol=1e-7)
    np.testing.assert_allclose(
        NORMALIZERS["entmax15"](np.zeros((1, 2), np.float32)), [[0.5, 0.5]], atol=1e-7
    )


def test_a_beam_wider_than_all_outputs_holds_what_there_is(case):
    _, model = case
    once = Model.__new__(Model)
    once.__dict__ = model.__dict__ | {"longest_output": 1}
    decoded = search.beam(once, np.array([[4, 5]]), np.array([2]), 30)
    real = decoded.log_probability[0] > NEG_INF / 2
    assert real.sum() == TARGET_SIZE - 3  # every token, and the end at once
    assert np.exp(decoded.log_probability[0][real]).sum() == pytest.approx(1, abs=1e-5)
    assert not decoded.token_ids[0, ~real].any()
