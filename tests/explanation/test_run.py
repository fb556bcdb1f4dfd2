"""The audit of real Keras models, mostly untrained: it sees exactly what the model computes."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.explanation.audit import choose, examples_of
from keras_attention.explanation.measures.adversary import search
from keras_attention.explanation.measures.attribution_model import (
    SequenceAttributionModel,
    unchanged,
)
from keras_attention.explanation.measures.erasure import erase
from keras_attention.explanation.measures.examples import batches
from keras_attention.explanation.measures.importance import MEASURES, measure_importance
from keras_attention.explanation.measures.interventions import attention_of, intervene
from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import (
    build_teacher_forced_attention,
    build_training_model,
)
from keras_attention.pairs.pair import Pair
from keras_attention.readers.run import Run
from keras_attention.text.vocabulary import UNKNOWN, Vocabulary

LETTERS = Vocabulary("char", tuple(" abcdef"))
DIGITS = Vocabulary("char", tuple("0123"))
PAIRS = [
    Pair("abcdef", "0123"),
    Pair("fa", "10"),
    Pair("cab fed", "3210"),
    Pair("b", "2"),
    Pair("badcafe", "0011"),
]
SMALL = Config(units=6, embedding_size=5, longest_output=4, seed=3)
# Gradients of two-way LSTMs take long to compile.
SIMPLE = dataclasses.replace(SMALL, encoder="gru", bidirectional=False)
KINDS = {
    "default": SMALL,
    "book": dataclasses.replace(
        SMALL, bidirectional=False, reverse_source=True, initial_state="hidden"
    ),
    "two GRU layers": dataclasses.replace(SMALL, encoder="gru", layers=2, attention="additive"),
    "attentional layer": dataclasses.replace(SMALL, attentional_layer=True, attention="general"),
}
HEAVY_DROPOUT = dataclasses.replace(SIMPLE, dropout=0.9, decoder_input_dropout=0.9)


def quiet(done, total):
    pass


def make_run(config) -> Run:
    keras.utils.set_random_seed(config.seed)
    model = build_training_model(config, len(LETTERS), len(DIGITS))
    for weight in model.trainable_variables:  # untrained attention is almost uniform: sharpen it
        weight.assign(2.5 * weight)
    return Run(config, LETTERS, DIGITS, model)


@pytest.fixture(scope="module", params=KINDS)
def audited(request):
    run = make_run(KINDS[request.param])
    subject = SequenceAttributionModel(run)
    return run, subject, examples_of(subject, run, PAIRS)


@pytest.fixture(scope="module")
def simple():
    run = make_run(SIMPLE)
    subject = SequenceAttributionModel(run)
    return run, subject, examples_of(subject, run, PAIRS)


@pytest.fixture(scope="module")
def measured(simple):
    """Importance by every measure, of the default kind of model."""
    _, subject, examples = simple
    return measure_importance(subject, examples, quiet)


def inputs(examples):
    ids = examples.source.padded(np.arange(len(examples)))
    answers = np.where(examples.answer_ids == 0, UNKNOWN, examples.answer_ids)  # no empty steps
    return tf.constant(ids), tf.constant(answers.astype(np.int32))


def decoder_ids(answers):
    shifted = np.concatenate([np.full((len(answers), 1), 1), answers[:, :-1]], axis=1)
    return tf.constant(shifted.astype(np.int32))


def test_the_models_own_weights_give_its_own_logits(audited):
    run, subject, examples = audited
    ids, answers = inputs(examples)
    readout = subject.linearize(subject.embed(ids), ids, answers)
    given = {"source_ids": ids, "decoder_ids": decoder_ids(answers.numpy())}
    expected = run.model(given, training=False).numpy()
    found = readout.logits(readout.attention_weights).numpy()
    kept = [2, 4, 5, 6, 7]  # the end symbol and the digits; padding, start, unknown are not said
    np.testing.assert_allclose(found, expected[..., kept], atol=2e-5)
    parts = build_teacher_forced_attention(run.model, run.config)(given, training=False)
    np.testing.assert_allclose(
        readout.attention_weights, parts["attention_weights"].numpy(), atol=1e-6
    )


def test_other_weights_at_one_step_change_that_step_alone(audited):
    _, subject, examples = audited
    ids, answers = inputs(examples)
    readout = subject.linearize(subject.embed(ids), ids, answers)
    weights = readout.attention_weights.numpy()
    weights[:, 1] = np.roll(weights[:, 1], 1, axis=-1)
    moved = (readout.logits(weights) - readout.logits(readout.attention_weights)).numpy()
    assert np.abs(moved[:, 1]).max() > 1e-3
    assert np.abs(np.delete(moved, 1, axis=1)).max() < 1e-6


def test_answers_are_those_of_greedy_decoding(audited):
    run, subject, examples = audited
    ids, _ = inputs(examples)
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    np.testing.assert_array_equal(examples.answer_ids, model.greedy(ids).token_ids)
    nothing = tf.zeros([len(PAIRS), 1, ids.shape[1]])
    np.testing.assert_array_equal(subject.answer(ids, unchanged, nothing), examples.answer_ids)


def test_variants_of_a_step_are_what_they_are_alone(audited):
    _, subject, examples = audited
    ids, answers = inputs(examples)
    readout = subject.linearize(subject.embed(ids), ids, answers)
    own = readout.attention_weights
    variants = tf.stack([own, tf.roll(own, 1, axis=-1)], axis=2)
    found = readout.logits_of_variants(variants)
    np.testing.assert_allclose(found[:, :, 0], readout.logits(own), atol=1e-5)
    np.testing.assert_allclose(found[:, :, 1], readout.logits(tf.roll(own, 1, axis=-1)), atol=1e-5)


@pytest.mark.slow
def test_training_mode_cannot_leak_in():
    run = make_run(HEAVY_DROPOUT)
    subject = SequenceAttributionModel(run)
    examples = examples_of(subject, run, PAIRS)
    first = measure_importance(subject, examples, quiet)
    np.testing.assert_array_equal(attention_of(subject, examples), attention_of(subject, examples))
    without = dataclasses.replace(run.config, dropout=0.0, decoder_input_dropout=0.0)
    plain = Run(without, LETTERS, DIGITS, build_training_model(without, len(LETTERS), len(DIGITS)))
    plain.model.set_weights(run.model.get_weights())
    second = measure_importance(SequenceAttributionModel(plain), examples, quiet)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], atol=1e-5)
    # The model itself does drop out when it trains.
    given = {
        "source_ids": inputs(examples)[0],
        "decoder_ids": decoder_ids(inputs(examples)[1].numpy()),
    }
    one, other = (run.model(given, training=True).numpy() for _ in range(2))
    assert np.abs(one - other).max() > 0.1


def test_gradient_times_input_against_finite_differences(simple, measured):
    _, subject, examples = simple
    row, step = 0, 1
    ids = tf.constant(examples.source.padded(np.array([row])))
    answers = tf.constant(examples.answer_ids[[row]])
    embeddings = subject.embed(ids)
    own = subject.linearize(embeddings, ids, answers).attention_weights
    column = int(examples.answer_ids[row, step]) - subject.column_offset

    def log_odds(point, weights):
        readout = subject.linearize(point, ids, answers)
        weights = readout.attention_weights if weights is None else weights
        logits = readout.logits(weights)[0, step].numpy().astype(np.float64)
        others = np.delete(logits, column)
        return logits[column] - np.log(np.exp(others).sum())

    for name, weights in (("gradient", own), ("gradient_through_attention", None)):
        for position in range(6):
            direction = np.zeros(embeddings.shape, np.float32)
            direction[0, position] = embeddings[0, position]  # gradient times input, in one number
            ends = [log_odds(embeddings + sign * 1e-2 * direction, weights) for sign in (1, -1)]
            slope = (ends[0] - ends[1]) / 2e-2
            assert measured[name][row, step, position] == pytest.approx(abs(slope), abs=5e-3)


def test_integrated_gradients_sum_to_the_difference(measured):
    assert np.nanmax(measured["completeness_error"]) < 1e-3
    assert np.nanmax(measured["integrated_gradients"]) > 0.01


def test_leave_one_out_is_the_shorter_source_alone(simple, measured):
    run, subject, examples = simple
    row, position = 2, 3
    answers = tf.constant(examples.answer_ids[[row]])

    def outputs(text):
        ids = tf.constant(run.source.encode([text]).padded(np.arange(1)))
        readout = subject.linearize(subject.embed(ids), ids, answers)
        return tf.nn.softmax(readout.logits(readout.attention_weights)).numpy()[0]

    source = PAIRS[row].source
    whole = outputs(source)
    for name, text in (
        ("leave_one_out", source[:position] + source[position + 1 :]),
        ("leave_one_out_replaced", source[:position] + "?" + source[position + 1 :]),
    ):
        expected = np.abs(whole - outputs(text)).sum(axis=-1) / 2
        steps = (answers.numpy()[0] != 0).sum()
        found = measured[name][row, :steps, position]
        np.testing.assert_allclose(found, expected[:steps], atol=1e-5)


def test_a_space_replaces_where_training_saw_no_unknown_token():
    run = make_run(dataclasses.replace(SMALL, unknown_rate=0.0))
    assert SequenceAttributionModel(run).replacement_id == LETTERS.encode([" "]).flat[0]
    assert SequenceAttributionModel(make_run(SMALL)).replacement_id == UNKNOWN


def test_trailing_spaces_are_read_but_not_compared(simple):
    run, subject, _ = simple
    examples = examples_of(subject, run, [Pair("ab   ", "01"), Pair("abc", "01")])
    assert examples.compared.tolist() == [2, 3]
    assert examples.source.lengths.tolist() == [5, 3]
    assert not np.isnan(attention_of(subject, examples)[0, 0]).any()
    batch = next(batches(examples, 2))
    compared = {
        len(run.source.split(t)): row
        for t, row in zip(("abc", "ab   "), batch.compared, strict=True)
    }
    assert compared[5].tolist() == [True, True, False, False, False]
    assert compared[3].tolist() == [True, True, True, False, False]


@pytest.mark.slow
def test_batching_changes_no_number(simple, measured):
    _, subject, examples = simple
    attention = attention_of(subject, examples)
    alone = measure_importance(subject, examples, quiet, rows_at_once=1)
    for name in {*MEASURES, "attention"}:
        np.testing.assert_allclose(alone[name], measured[name], atol=2e-5, err_msg=name)
    kinds = {
        "erasure": lambda rows: vars(erase(subject, examples, 3, quiet, rows)),
        "distance": lambda rows: intervene(subject, examples, attention, 3, quiet, rows).distance,
        "divergence": lambda rows: {
            "divergence": search(subject, examples, 3, quiet, 0.01, 40, rows).divergence
        },
    }
    for kind, measure in kinds.items():
        alone, together = measure(1), measure(5)
        for name in alone:
            # 40 steps of Adam carry a rounding error further than one pass does.
            limit = 2e-3 if kind == "divergence" else 2e-5
            np.testing.assert_allclose(alone[name], together[name], atol=limit, err_msg=name)


def test_models_without_attention_are_refused():
    with pytest.raises(UserError, match="has no attention .*--attention none"):
        SequenceAttributionModel(make_run(dataclasses.replace(SMALL, attention="none")))


def test_pairs_are_chosen_by_seed_and_kept_in_order():
    pairs = [Pair(str(number), "0") for number in range(30)]
    chosen = choose(pairs, 10, seed=1)
    assert chosen == choose(pairs, 10, seed=1) != choose(pairs, 10, seed=2)
    assert chosen == sorted(chosen, key=lambda pair: int(pair.source))
    assert choose(pairs, 99, seed=1) == pairs
    with pytest.raises(UserError, match="at least 2 pairs"):
        choose(pairs, 1, seed=1)


def test_gold_that_does_not_fit_the_tokens_is_left_out(simple):
    run, subject, _ = simple
    from keras_attention.pairs.alignment import Link

    pairs = [Pair("ab", "01", (Link(5, 0, True),)), Pair("ab", "01", (Link(1, 0, True),))]
    assert [bool(links) for links in examples_of(subject, run, pairs).alignments] == [False, True]


def test_gold_follows_its_characters_through_the_normal_form():
    """년 is three jamo to this model: links behind it moved by two, silently."""
    import unicodedata

    from keras_attention.pairs.alignment import Link

    source = "03년 5"
    jamo = tuple(sorted(set(unicodedata.normalize("NFD", source))))
    run = make_run(SIMPLE)
    vocabulary = Vocabulary("char", jamo, "NFD")
    config = dataclasses.replace(SIMPLE, source_form="NFD")
    run = Run(config, vocabulary, DIGITS, build_training_model(config, len(vocabulary), 8))
    pairs = [Pair(source, "3", (Link(1, 0, True),)), Pair(source, "1", (Link(4, 0, True),))]
    examples = examples_of(SequenceAttributionModel(run), run, pairs)
    for links, character in zip(examples.alignments, "35", strict=True):
        (link,) = links
        assert link.sure and examples.source_tokens[0][link.source] == character


def test_gold_of_a_target_that_is_cut_otherwise_is_left_out(simple):
    run, model, _ = simple
    from keras_attention.pairs.alignment import Link

    pairs = [Pair("ab", "01", (Link(0, 7, True),)), Pair("ab", "01", (Link(1, 1, True),))]
    assert [bool(links) for links in examples_of(model, run, pairs).alignments] == [False, True]
