"""What must hold for every model that the options can ask for."""

import itertools
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attention.config import Config
from keras_attention.layers.sequence import Peek, ReverseSequence
from keras_attention.models.training_model import (
    build_decoder_step,
    build_encoder,
    build_teacher_forced_attention,
    build_training_model,
)

SOURCE_SIZE, TARGET_SIZE = 9, 8

# encoder, bidirectional, layers, attention, reverse_source, initial_state: each value of an option
# meets each value of another (a test counts them).
KINDS = [
    ("lstm", True, 1, "dot", False, "full"),
    ("gru", False, 2, "dot", True, "hidden"),
    ("gru", True, 1, "scaled_dot", True, "hidden"),
    ("lstm", False, 2, "scaled_dot", False, "full"),
    ("lstm", False, 1, "general", True, "hidden"),
    ("gru", True, 2, "general", False, "full"),
    ("gru", False, 1, "additive", False, "full"),
    ("lstm", True, 2, "additive", True, "hidden"),
    ("lstm", True, 2, "none", True, "full"),
    ("gru", False, 1, "none", False, "hidden"),
    ("gru", True, 2, "peeky", True, "full"),
    ("lstm", False, 1, "peeky", False, "hidden"),
]
NAMES = ("encoder", "bidirectional", "layers", "attention", "reverse_source", "initial_state")


def config_of(kind, **others) -> Config:
    options = dict(zip(NAMES, kind, strict=True)) | {"units": 6, "embedding_size": 4} | others
    return Config(**options)


def model_of(config: Config) -> keras.Model:
    """A model whose weights are all random, biases too, and large enough to matter."""
    model = build_training_model(config, SOURCE_SIZE, TARGET_SIZE)
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(scale=0.7, size=w.shape) for w in model.get_weights()])
    return model


def _case(request):
    config = config_of(request.param)
    return config, model_of(config)


def _name(kind) -> str:
    return "-".join(map(str, kind))


case = pytest.fixture(_case, params=KINDS, ids=_name, name="case", scope="module")
attentive_case = pytest.fixture(
    _case, params=KINDS[:8], ids=_name, name="attentive_case", scope="module"
)


SOURCE = np.array([[5, 6, 7, 8, 4], [4, 3, 0, 0, 0], [8, 0, 0, 0, 0], [7, 7, 6, 0, 0]], np.int32)
FORCED = np.array([[1, 5, 6, 7], [1, 4, 0, 0], [1, 7, 7, 4], [1, 6, 0, 0]], np.int32)


def logits_of(model, source, forced):
    inputs = {"source_ids": np.asarray(source), "decoder_ids": np.asarray(forced)}
    return np.asarray(model(inputs, training=False))


def test_the_kinds_pair_every_value_with_every_other():
    values = [sorted({kind[i] for kind in KINDS}, key=str) for i in range(len(NAMES))]
    for (i, first), (j, second) in itertools.combinations(enumerate(values), 2):
        for pair in itertools.product(first, second):
            assert any((kind[i], kind[j]) == pair for kind in KINDS), (NAMES[i], NAMES[j], pair)


def test_step_by_step_logits_are_the_teacher_forced_ones(case):
    config, model = case
    forced = logits_of(model, SOURCE, FORCED)
    opened = None
    if config.has_attention:
        opened = build_teacher_forced_attention(model, config)
        opened = opened({"source_ids": SOURCE, "decoder_ids": FORCED}, training=False)
    encoded = build_encoder(model, config)(SOURCE, training=False)
    step = build_decoder_step(model, config)
    inputs = dict(encoded)
    for t in range(FORCED.shape[1]):
        results = step(
            inputs | {"token_ids": keras.ops.convert_to_tensor(FORCED[:, t])}, training=False
        )
        np.testing.assert_allclose(results["logits"], forced[:, t], atol=2e-5)
        if config.has_attention:
            np.testing.assert_allclose(
                results["attention_weights"], opened["attention_weights"][:, t], atol=1e-6
            )
        else:
            assert "attention_weights" not in results
        inputs |= {name: part for name, part in results.items() if name.startswith("state_")}


def test_padding_and_other_rows_change_nothing(case):
    _, model = case
    together = logits_of(model, SOURCE, FORCED)
    wide = logits_of(model, np.pad(SOURCE, [(0, 0), (0, 7)]), np.pad(FORCED, [(0, 0), (0, 3)]))
    np.testing.assert_allclose(wide[:, : FORCED.shape[1]], together, atol=1e-5)
    for row in range(len(SOURCE)):
        length, steps = np.count_nonzero(SOURCE[row]), np.count_nonzero(FORCED[row])
        alone = logits_of(model, SOURCE[row : row + 1, :length], FORCED[row : row + 1, :steps])
        np.testing.assert_allclose(alone[0], together[row, :steps], atol=1e-5)


def test_a_target_token_is_seen_only_after_its_place(case):
    _, model = case
    before = logits_of(model, SOURCE, FORCED)
    for t in range(1, FORCED.shape[1]):
        changed = FORCED.copy()
        changed[:, t] = 3
        after = logits_of(model, SOURCE, changed)
        np.testing.assert_array_equal(after[:, :t], before[:, :t])
        assert np.abs(after[:, t:] - before[:, t:]).max() > 1e-3


def test_every_source_token_matters(case):
    _, model = case
    before = logits_of(model, SOURCE, FORCED)
    for position in range(5):
        changed = SOURCE.copy()
        changed[0, position] = 3
        assert np.abs(logits_of(model, changed, FORCED)[0] - before[0]).max() > 1e-6


def test_attention_looks_at_real_tokens_in_reading_order(attentive_case):
    config, model = attentive_case
    opened = build_teacher_forced_attention(model, config)
    parts = opened({"source_ids": SOURCE, "decoder_ids": FORCED}, training=False)
    weights = np.asarray(parts["attention_weights"])
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    assert (weights[np.broadcast_to(SOURCE[:, None] == 0, weights.shape)] == 0).all()
    outputs = np.asarray(parts["encoder_outputs"])
    assert (outputs[SOURCE == 0] == 0).all()
    # A one-directional encoder's first output knows only the first token it read.
    if not config.bidirectional and config.layers == 1:
        first = -1 if config.reverse_source else 0
        changed = np.full_like(SOURCE, 3)
        changed[0, first] = SOURCE[0, first]
        again = opened({"source_ids": changed, "decoder_ids": FORCED}, training=False)
        again = np.asarray(again["encoder_outputs"])
        np.testing.assert_allclose(again[0, first], outputs[0, first], atol=1e-6)
        assert np.abs(again[0, 2] - outputs[0, 2]).max() > 1e-3


def test_own_weights_put_in_reproduce_the_logits(attentive_case):
    config, model = attentive_case
    opened = build_teacher_forced_attention(model, config)
    parts = opened({"source_ids": SOURCE, "decoder_ids": FORCED}, training=False)
    layer, affine = model.get_layer("attention"), model.get_layer("affine")

    def logits_with(weights):
        context = layer.compute_context(weights, parts["encoder_outputs"])
        return np.asarray(affine(keras.ops.concatenate([context, parts["decoder_outputs"]], -1)))

    weights = np.asarray(parts["attention_weights"])
    np.testing.assert_allclose(logits_with(weights), logits_of(model, SOURCE, FORCED), atol=1e-5)
    assert np.abs(logits_with(weights[..., ::-1]) - parts["logits"]).max() > 1e-3


def test_decoder_states_do_not_depend_on_attention():
    config = config_of(KINDS[4])
    model = model_of(config)
    opened = build_teacher_forced_attention(model, config)
    inputs = {"source_ids": SOURCE, "decoder_ids": FORCED}
    before = opened(inputs, training=False)
    attention = model.get_layer("attention")
    attention.set_weights([5 * weight for weight in attention.get_weights()])
    after = opened(inputs, training=False)
    np.testing.assert_array_equal(after["decoder_outputs"], before["decoder_outputs"])
    difference = np.asarray(after["logits"]) - np.asarray(before["logits"])
    assert np.abs(difference).max() > 1e-3


def test_only_the_hidden_state_starts_the_decoder():
    for initial_state in ("full", "hidden"):
        config = config_of(("lstm", True, 2, "dot", False, initial_state))
        encoded = build_encoder(model_of(config), config)(SOURCE, training=False)
        cells = [np.asarray(encoded[name]) for name in ("state_1", "state_3")]
        hidden = [np.asarray(encoded[name]) for name in ("state_0", "state_2")]
        assert all(np.abs(part).max() > 0.1 for part in hidden)
        assert all((part == 0).all() for part in cells) == (initial_state == "hidden")


@pytest.mark.parametrize("kind", KINDS[:1] + KINDS[5:7] + KINDS[9:11])
def test_an_untrained_model_guesses(kind):
    """Its loss is near log V: nothing is preferred before anything is learnt."""
    keras.utils.set_random_seed(1)
    size = 50
    config = config_of(kind, units=64, embedding_size=32)
    model = build_training_model(config, size, size)
    rng = np.random.default_rng(1)
    source, forced = (rng.integers(1, size, (64, 12)).astype(np.int32) for _ in range(2))
    logits = logits_of(model, source, forced)
    chosen = rng.integers(0, size, (64, 12))
    log_probabilities = np.asarray(keras.ops.log_softmax(logits))
    loss = -np.take_along_axis(log_probabilities, chosen[..., None], -1).mean()
    assert abs(loss - np.log(size)) < 0.1 * np.log(size)


def test_dropout_acts_in_training_only():
    config = config_of(KINDS[7], dropout=0.5, decoder_input_dropout=0.5)
    model = model_of(config)
    inputs = {"source_ids": SOURCE, "decoder_ids": FORCED}
    first, second = (np.asarray(model(inputs, training=True)) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_array_equal(
        logits_of(model, SOURCE, FORCED), logits_of(model, SOURCE, FORCED)
    )


def test_parameters_by_hand():
    """Defaults with small widths: two embeddings, three LSTMs, one affine layer."""
    model = build_training_model(Config(units=6, embedding_size=4), SOURCE_SIZE, TARGET_SIZE)
    embeddings = 4 * (SOURCE_SIZE + TARGET_SIZE)
    encoder = 2 * 4 * (4 * 3 + 3 * 3 + 3)
    decoder = 4 * (4 * 6 + 6 * 6 + 6)
    assert model.count_params() == embeddings + encoder + decoder + (12 + 1) * TARGET_SIZE


def test_same_seed_same_initial_weights():
    weights = []
    for seed in (3, 3, 4):
        keras.utils.set_random_seed(seed)
        weights.append(build_training_model(config_of(KINDS[0]), 9, 8).get_weights())
    assert all(np.array_equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not np.array_equal(weights[0][0], weights[2][0])


def test_reverse_sequence_by_hand():
    ids = np.array([[5, 6, 7, 0], [5, 0, 0, 0], [0, 0, 0, 0], [5, 6, 7, 8]], np.int32)
    layer = ReverseSequence()
    turned = np.asarray(layer(ids, ids != 0))
    assert turned.tolist() == [[7, 6, 5, 0], [5, 0, 0, 0], [0, 0, 0, 0], [8, 7, 6, 5]]
    np.testing.assert_array_equal(layer(turned, ids != 0), ids)
    states = np.arange(32.0, dtype=np.float32).reshape(4, 4, 2)
    turned = np.asarray(layer(states, ids != 0))
    np.testing.assert_array_equal(turned[0], states[0][[2, 1, 0, 3]])
    assert layer(np.zeros((2, 0), np.int32), np.zeros((2, 0), bool)).shape == (2, 0)


def test_peek_by_hand():
    vector = np.array([[1.0, 2.0]], np.float32)
    assert np.asarray(Peek()(np.array([[7.0]]), vector)).tolist() == [[7, 1, 2]]
    steps = np.array([[[7.0], [8.0]]])
    assert np.asarray(Peek()(steps, vector)).tolist() == [[[7, 1, 2], [8, 1, 2]]]


LOAD = """
import sys
import keras, numpy as np
from keras_attention import Attention
for path in sys.argv[1:]:
    model = keras.saving.load_model(path + "/model.keras")
    inputs = np.load(path + "/inputs.npz")
    logits = model({name: inputs[name] for name in ("source_ids", "decoder_ids")}, training=False)
    np.testing.assert_allclose(logits, inputs["logits"], atol=1e-6)
    print("equal")
"""


def test_a_new_process_loads_every_kind_knowing_only_the_layer(tmp_path):
    folders = []
    for number, kind in enumerate(KINDS):
        model = model_of(config_of(kind))
        folder = tmp_path / str(number)
        folder.mkdir()
        model.save(folder / "model.keras")
        np.savez(
            folder / "inputs.npz",
            source_ids=SOURCE,
            decoder_ids=FORCED,
            logits=logits_of(model, SOURCE, FORCED),
        )
        folders.append(str(folder))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *folders], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["equal"] * len(KINDS), done.stderr[-3000:]


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_building_a_decoder_step_leaves_the_training_model_as_it_was(encoder):
    """Once it renamed the cells of the model that it was given."""
    config = Config(units=4, embedding_size=2, layers=2, encoder=encoder)
    model = build_training_model(config, 9, 8)
    cells = [model.get_layer(f"decoder_{index}").cell for index in (1, 2)]
    before = [cell.name for cell in cells]
    step = build_decoder_step(model, config)
    assert [cell.name for cell in cells] == before
    assert [step.get_layer(f"decoder_{index}_cell").cell for index in (1, 2)] == cells
    reloaded = keras.Model.from_config(step.get_config())
    assert [weight.shape for weight in reloaded.get_weights()] == [
        weight.shape for weight in step.get_weights()
    ]


def test_the_general_score_begins_as_the_dot_product():
    config = Config(units=4, embedding_size=3, attention="general", bidirectional=False)
    kernel = build_training_model(config, 9, 8).get_layer("attention").kernel
    np.testing.assert_array_equal(kernel, np.eye(4))
