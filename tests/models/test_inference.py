"""The inference model: what it decodes, by itself, saved, and whatever stands in its batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import build_decoder_step, build_encoder
from keras_attention.text.vocabulary import END, PADDING, START, UNKNOWN
from tests.models.test_training_model import KINDS, SOURCE, config_of, model_of

LONGEST = 6


def inference_of(kind, **options) -> InferenceModel:
    config = config_of(kind, **options)
    return InferenceModel.from_training_model(model_of(config), config, LONGEST)


def decode_by_hand(kind, source_ids):
    """One row, one step at a time, with NumPy for all that is not the model."""
    config = config_of(kind)
    model = model_of(config)
    step = build_decoder_step(model, config)
    inputs = dict(build_encoder(model, config)(source_ids[None], training=False))
    token, said, score, rows = START, [], 0.0, []
    while token != END and len(said) < LONGEST:
        inputs["token_ids"] = tf.constant([token])
        results = step(inputs, training=False)
        inputs |= {name: part for name, part in results.items() if name.startswith("state_")}
        logits = np.asarray(results["logits"][0], np.float64)
        logits[[PADDING, START, UNKNOWN]] = -np.inf
        token = int(logits.argmax())
        score += logits[token] - np.log(np.exp(logits).sum())
        if token != END:
            said.append(token)
            rows.append(np.asarray(results["attention_weights"][0]))
    return said, score, rows


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], KINDS[7]])
def test_it_decodes_as_a_loop_by_hand_does(kind):
    decoded = inference_of(kind)(SOURCE)
    for row, source_ids in enumerate(SOURCE):
        said, score, rows = decode_by_hand(kind, source_ids)
        length = len(said)
        assert decoded["target_ids"][row].numpy().tolist() == said + [0] * (LONGEST - length)
        np.testing.assert_allclose(decoded["log_probability"][row], score, rtol=1e-4)
        weights = decoded["attention_weights"][row].numpy()
        if rows:
            np.testing.assert_allclose(weights[:length], rows, atol=1e-5)
            np.testing.assert_allclose(weights[:length].sum(-1), 1.0, atol=1e-5)
        assert not weights[length:].any()
        assert not weights[:, source_ids == 0].any()


@pytest.mark.parametrize("kind", KINDS[::3] + KINDS[10:11])
def test_rows_and_padding_change_nothing(kind):
    model = inference_of(kind)
    together = model(SOURCE)
    wide = model(np.pad(SOURCE, [(0, 0), (0, 6)]))
    for row, ids in enumerate(SOURCE):
        alone = model(ids[None, : np.count_nonzero(ids)])
        for name, part in alone.items():
            whole = np.asarray(together[name][row])
            padded = np.asarray(wide[name][row])
            if name == "attention_weights":
                assert not padded[:, SOURCE.shape[1] :].any()
                padded = padded[:, : SOURCE.shape[1]]
                part = np.pad(part, [(0, 0), (0, 0), (0, SOURCE.shape[1] - part.shape[2])])
            np.testing.assert_allclose(whole, part[0], atol=1e-5)
            np.testing.assert_allclose(padded, part[0], atol=1e-5)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], KINDS[10]])
def test_no_rows_and_empty_sources(kind):
    """Compiled, as everything that translates has it: eagerly, Keras' own LSTM fails at no rows."""
    model = inference_of(kind)
    greedy = tf.function(model.greedy, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    for n, length in ((0, 3), (2, 0), (0, 0)):
        decoded = greedy(tf.zeros((n, length), tf.int32))
        assert decoded.token_ids.shape == (n, LONGEST)
        assert decoded.lengths.shape == decoded.log_probability.shape == (n,)
        columns = length if model.has_attention else 0
        assert decoded.attention_weights.shape == (n, LONGEST, columns)
    # An empty source is one whose tokens are all padding.
    empty, padded = greedy(tf.zeros((2, 0), tf.int32)), greedy(tf.zeros((2, 4), tf.int32))
    np.testing.assert_array_equal(empty.token_ids, padded.token_ids)
    np.testing.assert_allclose(empty.log_probability, padded.log_probability, rtol=1e-5)
    assert not padded.attention_weights.numpy().any()


def test_beam_of_one_is_greedy_and_a_wider_one_no_worse():
    model = inference_of(KINDS[0])
    ids = tf.constant(SOURCE)
    greedy, one, three = model.greedy(ids), model.beam(ids, 1), model.beam(ids, 3)
    for part, same in zip(greedy, one, strict=True):
        np.testing.assert_allclose(part, same[:, 0], rtol=1e-5)
    # Not for every model, but for short outputs of this one.
    assert (three.log_probability[:, 0].numpy() >= greedy.log_probability.numpy() - 1e-5).all()
    assert (np.diff(three.log_probability.numpy(), axis=1) <= 1e-6).all()


def test_it_follows_the_training_model():
    config = config_of(KINDS[0])
    training_model = model_of(config)
    model = InferenceModel.from_training_model(training_model, config, LONGEST)
    before = model(SOURCE)["log_probability"].numpy()
    training_model.set_weights([0.5 * weight for weight in training_model.get_weights()])
    assert np.abs(model(SOURCE)["log_probability"].numpy() - before).max() > 1e-3


@pytest.mark.parametrize("kind", [KINDS[4], KINDS[10]])
def test_it_is_saved_and_its_spec_is_true(tmp_path, kind):
    model = inference_of(kind)
    expected = model(SOURCE)
    model.save(tmp_path / "inference.keras")
    loaded = keras.saving.load_model(tmp_path / "inference.keras")
    for name, part in loaded(SOURCE).items():
        np.testing.assert_allclose(part, expected[name], atol=1e-6)
    spec = model.compute_output_spec(keras.KerasTensor((4, 5), "int32"))
    assert {name: (s.shape, s.dtype) for name, s in spec.items()} == {
        name: (tuple(part.shape), part.dtype.name) for name, part in expected.items()
    }


def test_predict_joins_batches():
    model = inference_of(KINDS[0])
    joined = model.predict(SOURCE, batch_size=3, verbose=0)
    for name, part in model(SOURCE).items():
        np.testing.assert_allclose(joined[name], part, atol=1e-5)


def test_parts_of_another_type_are_told():
    part = keras.Sequential([keras.layers.Dense(1)])
    with pytest.raises(TypeError, match="encoder must be a keras.Model. Received: encoder=None"):
        InferenceModel(None, part, 3)
    with pytest.raises(TypeError, match="decoder_step must be a keras.Model"):
        InferenceModel(part, "x", 3)
    with pytest.raises(TypeError, match="longest_output must be an integer"):
        InferenceModel(part, part, "3")
    with pytest.raises(ValueError, match="longest_output must be at least 1"):
        InferenceModel(part, part, 0)


def test_the_decoding_loop_does_not_check_its_own_masks():
    model = inference_of(KINDS[0])
    call = tf.function(lambda ids: model.greedy(ids)).get_concrete_function(
        tf.TensorSpec((None, None), tf.int32)
    )
    graph = call.graph.as_graph_def()
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    assert any(node.op == "While" or node.op == "StatelessWhile" for node in nodes)
    assert not [node.name for node in nodes if node.op == "Assert" and "attention" in node.name]
