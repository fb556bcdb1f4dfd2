"""The faster ways to compute a training step: that they compute the same, and only in training."""

import contextlib
import types
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_attention._runtime.threads import INTER_OP
from keras_attention.batching.batches import Batch
from keras_attention.config import Config
from keras_attention.models.training_model import build_training_model
from keras_attention.training.distribution import AdamOfSums
from keras_attention.training.fast_dropout import LEVELS, can_be_faster, fast_dropout, rows_in_parts
from keras_attention.training.fused_lstm import TIME_LOOP, can_be_fused, fused_lstms, lstm_layers
from keras_attention.training.losses import composed_cross_entropy, fused_cross_entropy
from keras_attention.training.step import (
    BATCH_PARTS,
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


def alone(layer):
    """A model as far as the contexts look: what has layers."""
    return types.SimpleNamespace(layers=[layer])


# Rows of which any positions are real: before, behind and between padding, all and none.
HOLES = [[0, 0, 1, 1, 0], [1, 0, 1, 0, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]
MASKS = {
    "no mask": None,
    "padding behind": np.arange(STEPS) < np.array(LENGTHS)[:, None],
    "holes": np.array(HOLES, bool)[:, [0, 1, 2, 3, 4, 4]],
}


def computed_by(layer, mask, training):
    """Outputs, states, and the gradients of something of them by all that they depend on."""
    keras.utils.set_random_seed(1)
    x = tf.random.normal([len(LENGTHS), STEPS, INPUTS])
    h, c = (tf.random.normal([len(LENGTHS), UNITS]) for _ in range(2))
    with tf.GradientTape() as tape:
        tape.watch([x, h, c])
        outputs, *states = layer(x, initial_state=[h, c], mask=mask, training=training)
        wanted = tf.random.normal(tf.shape(outputs))
        loss = tf.reduce_sum(wanted * outputs)
        loss += tf.reduce_sum(tf.sin(states[0])) + tf.reduce_sum(tf.cos(2 * states[1]))
    weights = [variable.value for variable in layer.trainable_variables]
    return [outputs, *states, *tape.gradient(loss, [x, h, c, *weights])]


def lstm(**options):
    layer = layers.LSTM(UNITS, **({"return_sequences": True, "return_state": True} | options))
    layer.build((len(LENGTHS), None, INPUTS))
    if layer.cell.use_bias:
        layer.cell.bias.assign(tf.random.normal([4 * UNITS]))
    return layer


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("sequences", [False, True])
def test_outputs_states_and_gradients_are_those_of_keras_loop(go_backwards, mask, zeros, sequences):
    layer = lstm(go_backwards=go_backwards, zero_output_for_mask=zeros, return_sequences=sequences)
    keras_own = computed_by(layer, MASKS[mask], training=True)
    assert float(tf.reduce_max(tf.abs(keras_own[3]))) > 0.1
    with fused_lstms(alone(layer)):
        for loop, fused in zip(keras_own, computed_by(layer, MASKS[mask], True), strict=True):
            np.testing.assert_allclose(loop, fused, atol=5e-6)


def test_a_model_is_left_as_it_was_also_after_an_error():
    model, _ = model_and_step(units=8)
    before = [dict(vars(layer)) for layer in (*model.layers, *lstm_layers(model))]
    for error in (None, ZeroDivisionError):
        with contextlib.suppress(ZeroDivisionError), fused_lstms(model), fast_dropout(model):
            assert all(TIME_LOOP in vars(layer) for layer in lstm_layers(model))
            if error:
                raise error
        assert [dict(vars(layer)) for layer in (*model.layers, *lstm_layers(model))] == before


UNFUSED = {
    "no bias": {"use_bias": False},
    "activation": {"activation": "relu"},
    "recurrent activation": {"recurrent_activation": "hard_sigmoid"},
    "dropout": {"dropout": 0.5},
    "recurrent dropout": {"recurrent_dropout": 0.5},
    "stateful": {"stateful": True},
    "unroll": {"unroll": True},
    "other numbers": {"dtype": "mixed_bfloat16"},
}


@pytest.mark.parametrize("setting", UNFUSED)
def test_other_settings_of_an_lstm_are_computed_by_keras(setting):
    layer = lstm(**UNFUSED[setting])
    assert not can_be_fused(layer)
    with fused_lstms(alone(layer)):
        assert TIME_LOOP not in vars(layer)


@pytest.mark.parametrize(
    "options",
    [
        {"unit_forget_bias": False},
        {"kernel_constraint": "max_norm", "recurrent_regularizer": "l2"},
        {"kernel_initializer": "ones"},
    ],
)
def test_settings_that_do_not_concern_the_steps_are_fused(options):
    layer = lstm(**options)
    keras_own = computed_by(layer, None, training=True)
    with fused_lstms(alone(layer)):
        assert TIME_LOOP in vars(layer)
        for loop, fused in zip(keras_own, computed_by(layer, None, True), strict=True):
            np.testing.assert_allclose(loop, fused, atol=5e-6)


def test_a_class_derived_from_keras_lstm_keeps_its_own_steps():
    class Other(layers.LSTM):
        pass

    assert not can_be_fused(Other(UNITS))


def test_a_keras_without_the_method_is_told(monkeypatch):
    monkeypatch.delattr(layers.LSTM, TIME_LOOP)
    monkeypatch.delattr(layers.RNN, TIME_LOOP)
    layer = types.SimpleNamespace(layers=[lstm_without_loop()])
    with pytest.raises(RuntimeError, match="no method LSTM.inner_loop.*Received: keras"):
        with fused_lstms(layer):
            pass


def lstm_without_loop():
    layer = layers.LSTM(UNITS)
    layer.cell.build((None, INPUTS))
    return layer


def test_a_loaded_model_trains_as_fast_as_a_built_one(tmp_path):
    model, _ = model_and_step(units=8)
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as file:
        text = file.read("config.json").decode()
    assert '"class_name": "LSTM"' in text and '"class_name": "Dropout"' in text
    assert "fused" not in text.lower() and "fast" not in text.lower()
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    config = Config(units=8)
    operations = operations_of(make_training_step(loaded, make_optimizer(config, 20), config))
    assert operations.count("BlockLSTMV2") == len(lstm_layers(loaded)) == 3


@pytest.mark.parametrize(
    "units_in_a_batch, threads, parts",
    [(WORTH_PARTS - 8, "2", 1), (WORTH_PARTS, "2", BATCH_PARTS), (WORTH_PARTS, "1", 1)],
)
def test_only_training_holds_the_operation_and_the_layer_stays_keras_own(
    units_in_a_batch, threads, parts, monkeypatch
):
    monkeypatch.setenv(INTER_OP, threads)
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


def test_other_number_types_are_left_to_keras():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        _, step = model_and_step(units=8)
        operations = operations_of(step)
    finally:
        keras.config.set_dtype_policy(before)
    assert not any("BlockLSTM" in name for name in operations)
    assert "StatelessRandomUniformFullIntV2" not in operations


def test_the_decoder_of_one_direction_and_its_encoder_are_fused():
    _, step = model_and_step(units=8, bidirectional=False)
    assert operations_of(step).count("BlockLSTMV2") == loops_in(operations_of(step)) == 2


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
    x = tf.random.normal([101, 103])  # an odd number of values
    with tf.GradientTape() as tape:
        tape.watch(x)
        with fast_dropout(alone(layer)):
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
        with fast_dropout(alone(layer)):
            return [layer(tf.ones([9, 9]), training=True).numpy() for _ in range(2)]

    first, second = dropped()
    assert (first != second).any()
    np.testing.assert_array_equal([first, second], dropped())


def test_without_training_nothing_is_dropped():
    layer = layers.Dropout(0.5, seed=7)
    with fast_dropout(alone(layer)):
        np.testing.assert_array_equal(layer(tf.ones([9, 9])), np.ones([9, 9]))
        np.testing.assert_array_equal(layer(tf.ones([9, 9]), training=False), np.ones([9, 9]))


SLOW_DROPOUT = {
    "a rate that 16 bits round to 1": layers.Dropout(0.999999, seed=1),
    "a rate of 1": layers.Dropout(1.0, seed=1),
    "a rate that 16 bits round to 0": layers.Dropout(1e-6, seed=1),
    "a rate of 0": layers.Dropout(0.0, seed=1),
    "whole rows": layers.Dropout(0.5, noise_shape=(None, 1), seed=1),
    "whole columns": layers.SpatialDropout1D(0.5, seed=1),
    "other numbers": layers.Dropout(0.5, seed=1, dtype="mixed_float16"),
}


@pytest.mark.parametrize("setting", SLOW_DROPOUT)
def test_other_settings_of_dropout_are_computed_by_keras(setting):
    layer = SLOW_DROPOUT[setting]
    x = tf.ones([8, 6, 4] if "columns" in setting else [40, 50])
    assert not can_be_faster(layer)
    with fast_dropout(alone(layer)):
        y = layer(x, training=True).numpy()
    assert np.isfinite(y).all()
    if layer.rate < 1e-5:
        np.testing.assert_allclose(y, x, rtol=1e-5)
    elif layer.rate > 0.9:
        assert (y == 0).mean() > 0.99
    elif "rows" in setting:
        assert ((y == 0).all(axis=1) | (y != 0).all(axis=1)).all()


# --- parts of a batch


# A lone row leaves a part empty.
ROWS = (5, 1, 2, 8)


@pytest.mark.parametrize(
    "encoder, worth", [("gru", WORTH_PARTS_UNFUSED), ("lstm", WORTH_PARTS // 8)]
)
def test_a_batch_in_parts_gives_what_the_whole_gives(encoder, worth, monkeypatch):
    monkeypatch.setenv(INTER_OP, "2")
    options = {"units": 8, "embedding_size": 4, "encoder": encoder} | NO_DROPOUT
    results, loops = [], []
    for batch_size in (worth - 1, worth):
        model, step = model_and_step(batch_size=batch_size, **options)
        numbers = [[float(value) for value in step(*batch_of(rows))] for rows in ROWS]
        results.append([numbers, *model.get_weights()])
        loops.append(loops_in(operations_of(step)))
    assert loops[1] == BATCH_PARTS * loops[0]
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole, parts, atol=2e-4, rtol=1e-5)


def test_a_model_steps_as_keras_layers_do(monkeypatch):
    options = {"units": 8, "embedding_size": 4, "layers": 2} | NO_DROPOUT
    results = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr(
                "keras_attention.training.fused_lstm.can_be_fused", lambda layer: False
            )
        _, step = model_and_step(**options)
        assert ("BlockLSTMV2" in operations_of(step)) == fused
        results.append([[float(value) for value in step(*batch_of(rows))] for rows in ROWS])
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": WORTH_PARTS // 8},
        {"batch_size": WORTH_PARTS // 8, "layers": 2},
        {"batch_size": WORTH_PARTS_UNFUSED, "encoder": "gru"},
    ],
)
def test_dropout_does_not_depend_on_the_threads(options, monkeypatch):
    """Once a batch in one part was given other dropout than in two: other weights altogether."""
    options = {"units": 8, "embedding_size": 4, "dropout": 0.3} | options
    results, loops = [], []
    for threads in ("1", "2"):
        monkeypatch.setenv(INTER_OP, threads)
        model, step = model_and_step(**options)
        numbers = [[float(value) for value in step(*batch_of(rows))] for rows in ROWS]
        results.append([numbers, *model.get_weights()])
        loops.append(loops_in(operations_of(step)))
    assert loops[1] == BATCH_PARTS * loops[0]
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole, parts, atol=2e-4, rtol=1e-5)


def test_a_whole_in_two_draws_is_given_what_its_parts_are_given():
    for rate in (0.5, 1e-6, 0.999999):  # by 16 bits, by Keras
        x = tf.ones([5, 40])
        whole, parts = (layers.Dropout(rate, seed=3) for _ in range(2))
        with fast_dropout(alone(whole), draws=2):
            dropped = whole(x, training=True)
        with fast_dropout(alone(parts)):
            halves = [parts(rows, training=True) for rows in rows_in_parts(x, 2)]
        assert [len(half) for half in halves] == [2, 3]
        np.testing.assert_array_equal(dropped, tf.concat(halves, axis=0))


# --- the loss and the update


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fused_loss_and_its_gradient_are_those_of_the_composed_one(smoothing):
    rng = np.random.default_rng(0)
    ids = tf.constant(rng.integers(0, 50, (7, 9)), tf.int32)
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-13)):
        logits = tf.constant(rng.normal(0, 6, (7, 9, 50)), dtype)
        upstream = tf.constant(rng.normal(size=(7, 9)), dtype)
        results = []
        for cross_entropy in (composed_cross_entropy, fused_cross_entropy):
            with tf.GradientTape() as tape:
                tape.watch(logits)
                losses = cross_entropy(ids, logits, smoothing)
                total = tf.reduce_sum(upstream * losses)
            results.append((losses, tape.gradient(total, logits)))
        for composed, fused in zip(*results, strict=True):
            assert composed.dtype == fused.dtype == dtype
            np.testing.assert_allclose(composed, fused, rtol=tolerance, atol=30 * tolerance)


def test_the_gradient_of_the_smoothed_loss_is_its_slope():
    """By central differences in float64."""
    rng = np.random.default_rng(1)
    ids = tf.constant([[2, 0, 3]], tf.int32)
    logits = rng.normal(size=(1, 3, 5))

    def total(values):
        return float(tf.reduce_sum(fused_cross_entropy(ids, tf.constant(values), 0.2)))

    given = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = tf.reduce_sum(fused_cross_entropy(ids, given, 0.2))
    gradient = tape.gradient(loss, given).numpy()
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-5
        slope = (total(logits + step) - total(logits - step)) / 2e-5
        assert slope == pytest.approx(gradient[place], abs=1e-8)


def test_the_step_composes_no_loss_and_updates_each_variable_by_one_operation():
    model, step = model_and_step(units=8, label_smoothing=0.1)
    operations = operations_of(step)
    assert operations.count("ResourceApplyAdam") == len(model.trainable_variables)
    assert "SparseSoftmaxCrossEntropyWithLogits" in operations and "LogSoftmax" not in operations


def test_the_update_is_that_of_keras_adam_also_of_rows_without_a_gradient():
    """Rows used in the first step alone go on moving, by their moments."""
    rng = np.random.default_rng(2)
    start = rng.normal(size=(6, 3)).astype(np.float32)
    results = []
    for kind in (keras.optimizers.Adam, AdamOfSums):
        variable = keras.Variable(start)
        optimizer = kind(learning_rate=0.01, clipnorm=1.0)
        optimizer.build([variable])
        gradients = np.random.default_rng(3).normal(size=(5, 6, 3)).astype(np.float32)
        gradients[1:, :3] = 0
        path = []
        for gradient in gradients:
            optimizer.apply([tf.constant(gradient)], [variable])
            path.append(variable.numpy())
        results.append((path, [each.numpy() for each in optimizer.variables]))
    (keras_path, keras_state), (own_path, own_state) = results
    np.testing.assert_allclose(keras_path, own_path, rtol=1e-6, atol=1e-7)
    for one, other in zip(keras_state, own_state, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    assert np.abs(own_path[4][:3] - own_path[1][:3]).min() > 1e-3
