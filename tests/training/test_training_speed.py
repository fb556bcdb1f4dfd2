"""The faster ways to compute a training step: that they compute the same, and only in training."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_attention._runtime.threads import AT_A_TIME, BETWEEN
from keras_attention.batching.batches import Batch
from keras_attention.config import Config
from keras_attention.models.training_model import build_training_model
from keras_attention.training.fast_dropout import LEVELS, shorten_dropout
from keras_attention.training.fused_lstm import fuse_lstm, lstm_layers
from keras_attention.training.step import (
    WORTH_PARTS,
    WORTH_PARTS_UNFUSED,
    make_loss_step,
    make_optimizer,
    make_training_step,
)

UNITS, INPUTS, STEPS = 8, 5, 6
# Rows of all lengths, one of a single token and one of none.
LENGTHS = [6, 3, 5, 1, 0]
NO_DROPOUT = {"dropout": 0.0, "decoder_input_dropout": 0.0}


def operations_of(step) -> list[str]:
    """The types of all operations in a compiled step and in what it calls."""
    graph = step.concrete.graph.as_graph_def()
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    return [node.op for node in nodes]


def loops_in(operations: list[str]) -> int:
    return operations.count("While") + operations.count("StatelessWhile")


def model_and_step(**options):
    keras.utils.set_random_seed(1)
    config = Config(**options)
    model = build_training_model(config, 20, 20)
    return model, make_training_step(model, make_optimizer(config, 20), config)


def batch_of(rows: int) -> Batch:
    rng = np.random.default_rng(rows)
    lengths = rng.integers(1, 8, (rows, 1))
    ids = np.where(np.arange(7) < lengths, rng.integers(4, 20, (rows, 7)), 0).astype(np.int32)
    return Batch(ids, ids, ids)


# --- the LSTM


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_outputs_states_and_gradients_are_those_of_keras_loop(go_backwards, masked):
    keras.utils.set_random_seed(1)
    layer = layers.LSTM(UNITS, return_sequences=True, return_state=True, go_backwards=go_backwards)
    layer.build((None, None, INPUTS))
    layer.cell.bias.assign(tf.random.normal([4 * UNITS]))
    fuse_lstm(layer)
    x = tf.random.normal([len(LENGTHS), STEPS, INPUTS])
    h, c = (tf.random.normal([len(LENGTHS), UNITS]) for _ in range(2))
    mask = tf.sequence_mask(LENGTHS, STEPS) if masked else None
    counted = tf.ones([len(LENGTHS), STEPS]) if mask is None else tf.cast(mask, tf.float32)
    if go_backwards:
        counted = tf.reverse(counted, [1])  # Keras' outputs are in the order of reading
    wanted = tf.random.normal([len(LENGTHS), STEPS, UNITS])

    seen = []
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch([x, h, c])
            outputs, *states = layer(x, initial_state=[h, c], mask=mask, training=training)
            outputs *= counted[:, :, None]
            loss = tf.reduce_sum(wanted * outputs)
            loss += tf.reduce_sum(tf.sin(states[0])) + tf.reduce_sum(tf.cos(2 * states[1]))
        weights = [variable.value for variable in layer.trainable_variables]
        seen.append([outputs, *states, *tape.gradient(loss, [x, h, c, *weights])])
    assert float(tf.reduce_max(tf.abs(seen[0][3]))) > 0.1
    for loop, fused in zip(*seen, strict=True):
        np.testing.assert_allclose(loop, fused, atol=5e-6)


@pytest.mark.parametrize(
    "units_in_a_batch, threads, parts",
    [(WORTH_PARTS - 8, "2", 1), (WORTH_PARTS, "2", AT_A_TIME), (WORTH_PARTS, "1", 1)],
)
def test_only_training_holds_the_operation_and_the_layer_stays_keras_own(
    units_in_a_batch, threads, parts, monkeypatch
):
    monkeypatch.setenv(BETWEEN, threads)
    model, step = model_and_step(units=8, embedding_size=4, batch_size=units_in_a_batch // 8)
    assert len(lstm_layers(model)) == 3  # two directions and the decoder
    assert {type(layer) for layer in lstm_layers(model)} == {layers.LSTM}
    operations = operations_of(step)
    assert operations.count("BlockLSTMV2") == loops_in(operations) == 3 * parts
    assert "BlockLSTMGradV2" not in operations
    others = operations_of(make_loss_step(model))
    assert loops_in(others) == 3
    assert not any("BlockLSTM" in name for name in others)
    reloaded = keras.Model.from_config(model.get_config())
    assert {type(layer) for layer in lstm_layers(reloaded)} == {layers.LSTM}


@pytest.mark.parametrize("encoder, policy", [("gru", "float32"), ("lstm", "mixed_bfloat16")])
def test_grus_and_other_number_types_are_left_as_they_are(encoder, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        _, step = model_and_step(units=8, encoder=encoder)
        operations = operations_of(step)
    finally:
        keras.config.set_dtype_policy(before)
    assert not any("BlockLSTM" in name for name in operations)
    assert "StatelessRandomUniformFullIntV2" not in operations


def test_tensorflow_still_has_another_gradient_for_the_operation():
    """Red means that it was mended: then `_lstm` needs no gradient of its own."""
    x, kernel = tf.ones([1, 1, 1]), tf.constant([[0.5, 1.0, 1.5, 2.0]] * 2)
    none = tf.zeros([1])

    def last_state(kernel):
        state = tf.zeros([1, 1])
        others = {"wci": none, "wcf": none, "wco": none, "b": tf.zeros([4])}
        seen = tf.raw_ops.BlockLSTMV2(
            seq_len_max=tf.constant(1, tf.int64),
            x=x,
            cs_prev=state,
            h_prev=state,
            w=kernel,
            cell_clip=0.0,
            use_peephole=False,
            **others,
        )
        return tf.reduce_sum(seen.cs)

    with tf.GradientTape() as tape:
        tape.watch(kernel)
        state = last_state(kernel)
    gradient = tape.gradient(state, kernel)[0].numpy()
    # c = sigmoid(0.5) tanh(1.5): of the four gates, input and candidate matter.
    i, g = 1 / (1 + np.exp(-0.5)), np.tanh(1.5)
    np.testing.assert_allclose(float(state), i * g, atol=1e-6)
    assert not np.allclose(gradient, [g * i * (1 - i), 0, i * (1 - g * g), 0], atol=1e-3)


# --- dropout


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_values_are_dropped_at_the_rate_and_the_others_scaled(rate):
    layer = layers.Dropout(rate, seed=1)
    shorten_dropout(layer)
    x = tf.random.normal([101, 103])  # an odd number of values
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
    dropped = y.numpy() == 0
    # Four standard deviations of the share.
    assert abs(dropped.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / dropped.size)
    kept_share = 1 - round(rate * LEVELS) / LEVELS
    np.testing.assert_allclose(y.numpy()[~dropped], x.numpy()[~dropped] / kept_share, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, x), ~dropped / kept_share, rtol=1e-6)
    # Neighbours share 32 random bits: they must not fall together.
    pairs = dropped.reshape(-1)[:-1].reshape(-1, 2)
    both = pairs.all(axis=1).mean()
    assert abs(both - rate**2) < 4 * np.sqrt(rate**2 * (1 - rate**2) / len(pairs))


def test_every_call_drops_others_and_a_seed_repeats_them():
    def dropped():
        layer = layers.Dropout(0.5, seed=7)
        shorten_dropout(layer)
        return [layer(tf.ones([9, 9]), training=True).numpy() for _ in range(2)]

    first, second = dropped()
    assert (first != second).any()
    np.testing.assert_array_equal([first, second], dropped())


def test_without_training_nothing_is_dropped():
    layer = layers.Dropout(0.5, seed=7)
    shorten_dropout(layer)
    np.testing.assert_array_equal(layer(tf.ones([9, 9])), np.ones([9, 9]))
    np.testing.assert_array_equal(layer(tf.ones([9, 9]), training=False), np.ones([9, 9]))


# --- parts of a batch


# A lone row leaves a part empty.
ROWS = (5, 1, 2, 8)


@pytest.mark.parametrize(
    "encoder, worth", [("gru", WORTH_PARTS_UNFUSED), ("lstm", WORTH_PARTS // 8)]
)
def test_a_batch_in_parts_gives_what_the_whole_gives(encoder, worth, monkeypatch):
    monkeypatch.setenv(BETWEEN, "2")
    options = {"units": 8, "embedding_size": 4, "encoder": encoder} | NO_DROPOUT
    results, loops = [], []
    for batch_size in (worth - 1, worth):
        model, step = model_and_step(batch_size=batch_size, **options)
        numbers = [[float(value) for value in step(*batch_of(rows))] for rows in ROWS]
        results.append([numbers, *model.get_weights()])
        loops.append(loops_in(operations_of(step)))
    assert loops[1] == AT_A_TIME * loops[0]
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole, parts, atol=2e-4, rtol=1e-5)


def test_a_model_steps_as_keras_layers_do(monkeypatch):
    options = {"units": 8, "embedding_size": 4, "layers": 2} | NO_DROPOUT
    results = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr("keras_attention.training.step.lstm_layers", lambda model: [])
        _, step = model_and_step(**options)
        assert ("BlockLSTMV2" in operations_of(step)) == fused
        results.append([[float(value) for value in step(*batch_of(rows))] for rows in ROWS])
    np.testing.assert_allclose(*results, rtol=1e-5)
