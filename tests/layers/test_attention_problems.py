"""A test for each kind of problem that users of attention layers reported: docs/layer.md lists all.

Those about saving are in test_attention_saving.py, those about masks in test_attention_masks.py.
"""

import keras
import numpy as np
import pytest
from keras import layers

from keras_attention import Attention
from keras_attention.layers.attention import SCORES
from tests.support.attention_backend import compilers, to_numpy

IDS = np.array([[3, 4, 5, 0, 0], [6, 0, 0, 0, 0]])
TARGETS = np.array([[1, 2, 0], [3, 4, 5]])


@pytest.fixture
def mixed_float16():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    yield
    keras.config.set_dtype_policy(before)


def tiny_seq2seq(score="dot"):
    """Source and target ids in; logits and weights out; masks are tensors made from the ids."""
    source, target = layers.Input((None,), dtype="int32"), layers.Input((None,), dtype="int32")
    states, h, c = layers.LSTM(4, return_sequences=True, return_state=True)(
        layers.Embedding(9, 4)(source), mask=source != 0
    )
    queries = layers.LSTM(4, return_sequences=True)(
        layers.Embedding(9, 4)(target), initial_state=[h, c]
    )
    context, weights = Attention(score)(queries, states, mask=source != 0)
    logits = layers.Dense(9, dtype="float32")(layers.Concatenate()([context, queries]))
    return keras.Model([source, target], {"logits": logits, "weights": weights})


@pytest.mark.parametrize("score", SCORES)
def test_no_query_attends_to_padding(score):
    weights = to_numpy(tiny_seq2seq(score)([IDS, TARGETS])["weights"])
    assert (weights.transpose(0, 2, 1)[IDS == 0] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


def test_padding_does_not_change_the_answer():
    model = tiny_seq2seq()
    padded = model([IDS[:1], TARGETS[:1]])
    alone = model([IDS[:1, :3], TARGETS[:1]])
    np.testing.assert_allclose(to_numpy(padded["logits"]), to_numpy(alone["logits"]), atol=1e-6)
    assert (to_numpy(padded["weights"])[..., 3:] == 0).all()


def test_mask_zero_arrives_by_itself_and_trains():
    query, value = layers.Input((None,), dtype="int32"), layers.Input((None,), dtype="int32")
    embed = layers.Embedding(9, 4, mask_zero=True)
    context, weights = Attention("general")(embed(query), layers.Dropout(0.1)(embed(value)))
    model = keras.Model([query, value], [layers.Dense(9)(context), weights])
    weights = to_numpy(model([TARGETS, IDS])[1])
    assert ((weights == 0) == ((TARGETS == 0)[:, :, None] | (IDS == 0)[:, None])).all()
    trained = keras.Model(model.inputs, model.outputs[0])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trained.compile("adam", loss)
    history = trained.fit([TARGETS, IDS], TARGETS, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_context_carries_the_query_mask_and_the_loss_ignores_padded_targets():
    embed = layers.Embedding(9, 4, mask_zero=True)
    mask = np.ones(IDS.shape, bool)  # an explicit source mask must not be mistaken for it
    for given in (None, mask):
        context, weights = Attention()(embed(TARGETS), embed(IDS), mask=given)
        carried = keras.ops.convert_to_numpy(context._keras_mask)
        np.testing.assert_array_equal(carried, TARGETS != 0)
        assert getattr(weights, "_keras_mask", None) is None


def test_unknown_batch_and_lengths():
    query, value = layers.Input((None, 4)), layers.Input((None, 4))
    for score in SCORES:
        model = keras.Model([query, value], Attention(score)(query, value))
        assert model.output_shape == [(None, None, 4), (None, None, None)]
        for batch, tq, tv in [(1, 1, 1), (2, 3, 5), (4, 2, 2)]:
            context, weights = model([np.ones((batch, tq, 4)), np.ones((batch, tv, 4))])
            assert tuple(context.shape) == (batch, tq, 4)
            np.testing.assert_allclose(to_numpy(weights), 1 / tv, atol=1e-6)


def test_symbolic_call_gives_context_and_weights_again_and_again():
    layer = Attention()
    query, value = keras.Input((3, 4), batch_size=2), keras.Input((5, 6), batch_size=2)
    key = keras.Input((5, 4), batch_size=2)
    for _ in range(2):  # one call must not change what the next returns
        context, weights = layer(query, value, key=key)
        assert context.shape == (2, 3, 6) and weights.shape == (2, 3, 5)
    context, weights = layer(np.ones((2, 3, 4)), np.ones((2, 5, 6)), key=np.ones((2, 5, 4)))
    assert tuple(context.shape) == (2, 3, 6) and tuple(weights.shape) == (2, 3, 5)


def test_works_on_symbolic_slices():
    ids = layers.Input((None,), dtype="int32")
    states = layers.Embedding(9, 4)(ids)
    model = keras.Model(ids, Attention()(states[:, -1], states[:, :-1], mask=ids[:, :-1] != 0))
    context, weights = model(IDS)
    assert tuple(context.shape) == (2, 4) and tuple(weights.shape) == (2, 4)
    assert ((to_numpy(weights) == 0) == (IDS[:, :-1] == 0)).all()


def test_a_model_of_the_weights_alone():
    model = tiny_seq2seq()
    viewer = keras.Model(model.inputs, model.output["weights"])
    expected = to_numpy(model([IDS, TARGETS])["weights"])
    np.testing.assert_allclose(to_numpy(viewer([IDS, TARGETS])), expected, atol=1e-6)


@pytest.mark.parametrize("policy", ["float16", "mixed_float16", "bfloat16", "mixed_bfloat16"])
def test_half_precision_masked_softmax_is_finite(policy):
    random = np.random.default_rng(0)
    query, value = (random.normal(size=(2, t, 64)) * 30 for t in (3, 5))
    mask = np.array([[True] * 3 + [False] * 2, [False] * 5])
    context, weights = map(to_numpy, Attention(dtype=policy)(query, value, mask=mask))
    assert np.isfinite(context.astype("float32")).all()
    np.testing.assert_allclose(weights.sum(-1), [[1.0] * 3, [0.0] * 3], atol=1e-6)
    assert (weights[0, :, 3:] == 0).all() and (context[1] == 0).all()


def test_mixed_precision_trains(mixed_float16):
    model = tiny_seq2seq("additive")
    trained = keras.Model(model.inputs, model.output["logits"])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trained.compile("adam", loss)
    history = trained.fit([IDS, TARGETS], TARGETS, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    weights = to_numpy(model([IDS, TARGETS])["weights"])
    assert weights.dtype == "float32"
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("way", compilers())
@pytest.mark.parametrize("score", SCORES)
def test_no_variables_are_made_in_a_compiled_call(score, way):
    layer = Attention(score)
    layer.build((2, 3, 4), (2, 5, 4))
    call = compilers()[way](lambda query, value: layer(query, value)[0])
    for tv in (5, 6):
        call(*(keras.ops.ones((2, t, 4)) for t in (3, tv)))


def test_true_means_look_here():
    mask = np.array([[True, False, False]])
    weights = Attention()(np.ones((1, 1, 2)), np.ones((1, 3, 2)), mask=mask)[1]
    assert to_numpy(weights).tolist() == [[[1.0, 0.0, 0.0]]]


def test_causal_mask_hides_the_future():
    states = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    causal = np.tril(np.ones((1, 5, 5), bool))
    before = to_numpy(Attention()(states, states, mask=causal)[0])
    states[:, 3:] += 7
    after = to_numpy(Attention()(states, states, mask=causal)[0])
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert np.abs(after[:, 3:] - before[:, 3:]).max() > 0.1


def test_a_value_of_four_axes_is_refused_clearly():
    with pytest.raises(ValueError, match=r"Expected a query.*value.shape=\(2, 3, 5, 4\)"):
        Attention()(np.ones((2, 3, 4)), np.ones((2, 3, 5, 4)))


def test_attention_over_words_in_time_distributed_sentences():
    words = layers.Input((None,), dtype="int32")
    states = layers.Bidirectional(layers.GRU(2, return_sequences=True))(
        layers.Embedding(9, 4)(words)
    )
    reader = keras.Model(words, Attention(learned_query=True)(states, mask=words != 0)[0])
    text = layers.Input((None, 5), dtype="int32")
    model = keras.Model(text, layers.TimeDistributed(reader)(text))
    got = to_numpy(model(IDS[None]))
    np.testing.assert_allclose(got[0], to_numpy(reader(IDS)), atol=1e-6)


def test_a_single_token_source_warns_of_nothing(recwarn):
    weights = Attention()(np.ones((2, 3, 4)), np.ones((2, 1, 4)))[1]
    assert not recwarn.list
    assert (to_numpy(weights) == 1).all()


@pytest.mark.parametrize("policy", ["float16", "mixed_float16", "bfloat16", "mixed_bfloat16"])
def test_scores_of_the_compute_dtype_get_float32_weights(policy):
    """The public equation 2, and a subclass whose scores are in half precision."""

    class HalfScores(Attention):
        def compute_scores(self, query, key):
            return keras.ops.cast(super().compute_scores(query, key), self.compute_dtype)

    layer = HalfScores(dtype=policy)
    mask = np.array([[True, True, False], [False, False, False]])
    scores = keras.ops.cast(np.array([[[1.0, 1.0, 9.0]], [[1.0, 2.0, 3.0]]]), layer.compute_dtype)
    expected = [[[0.5, 0.5, 0.0]], [[0.0, 0.0, 0.0]]]
    value = np.ones((2, 3, 2), "float32")
    for weights in (
        layer.compute_weights(scores, mask),
        layer(np.zeros((2, 1, 2)), value, mask=mask)[1],
    ):
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
        np.testing.assert_allclose(to_numpy(weights), expected, atol=1e-6)
