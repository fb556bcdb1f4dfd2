"""Contrast, randomised parameters, stability and the matrices of each example."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.explanation.audit import examples_of, measure_parts
from keras_attention.explanation.measures.attribution_model import SequenceAttributionModel
from keras_attention.explanation.measures.contrast import contrast
from keras_attention.explanation.measures.interventions import attention_of
from keras_attention.explanation.measures.sanity import NOISES, SHUFFLES, disturb, randomise
from keras_attention.explanation.reporting.matrices import matrices_of, to_json
from tests.explanation.test_known_models import SOURCES, quiet, report_on
from tests.explanation.test_run import KINDS, PAIRS, SIMPLE, make_run
from tests.support.subjects import HandBuilt, copier, equal_valued, ignorer, looks_around
from tests.support.subjects import examples_of as examples_by_hand


@pytest.mark.parametrize("kind", ["default", "attentional layer"])
def test_a_margin_is_what_its_parts_sum_to(kind):
    run = make_run(KINDS[kind])
    model = SequenceAttributionModel(run)
    examples = examples_of(model, run, PAIRS)
    found = contrast(model, examples, quiet)
    ids = tf.constant(examples.source.padded(np.arange(len(PAIRS))))
    readout = model.linearize(model.embed(ids), ids, tf.constant(examples.answer_ids))
    logits = readout.logits(readout.attention_weights).numpy()
    steps = examples.answer_ids != 0
    columns = np.maximum(examples.answer_ids - model.column_offset, 0)
    for row, step in zip(*np.nonzero(steps), strict=True):
        own = logits[row, step, columns[row, step]]
        others = np.delete(logits[row, step], columns[row, step])
        assert found.margin[row, step] == pytest.approx(own - others.max(), abs=1e-4)
        assert found.runner_up[row, step] != columns[row, step]
        assert logits[row, step, found.runner_up[row, step]] == others.max()
        parts = np.nansum(found.contribution[row, step]) + found.rest[row, step]
        assert parts == pytest.approx(found.margin[row, step], abs=1e-4)
    steps = steps[:, : found.margin.shape[1]]  # as many as the longest answer has
    assert (found.runner_up[~steps] == -1).all() and np.isnan(found.margin[~steps]).all()


def test_the_contributions_of_an_affine_readout_are_exact():
    """Without the state a margin comes from the values alone, each by its weight."""
    model = HandBuilt(looks_around, value_scale=4.0)
    examples = examples_by_hand(model, [[3, 1, 2, 3], [5, 5]])
    found = contrast(model, examples, quiet)
    weights = attention_of(model, examples)
    np.testing.assert_allclose(np.nan_to_num(found.rest), 0, atol=1e-4)
    source = [3, 1, 2, 3]
    for step in range(4):
        answer, runner_up = examples.answer_ids[0, step], found.runner_up[0, step] + 1
        votes = [4.0 * ((token == answer) - float(token == runner_up)) for token in source]
        np.testing.assert_allclose(
            found.contribution[0, step], np.array(votes) * weights[0, step], atol=1e-4
        )


def test_numbers_of_the_contrast_of_models_that_are_known():
    copied, ignored = report_on(copier()).contrast, report_on(ignorer()).contrast
    assert copied.through_attention.value == pytest.approx(1)
    assert copied.top_1.value == 1
    assert ignored.through_attention.value == pytest.approx(0)
    assert ignored.margin.value == pytest.approx(3)
    assert ignored.kendall_tau.value is None  # no position adds anything


def test_a_map_that_does_not_hang_on_the_weights_is_found():
    same = report_on(copier()).randomised  # a hand-built model has no weights to shuffle
    assert same.kendall_tau.value == pytest.approx(1)
    assert same.divergence.value == pytest.approx(0, abs=1e-6)
    assert same.top_1.value == 1


def test_shuffled_weights_give_another_map_and_leave_the_model_alone():
    run = make_run(SIMPLE)
    model = SequenceAttributionModel(run)
    examples = examples_of(model, run, PAIRS)
    attention = attention_of(model, examples)
    before = [part.copy() for part in run.model.get_weights()]
    found = randomise(model, examples, attention, 3, quiet)
    for part, kept in zip(run.model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(part, kept)
    np.testing.assert_array_equal(attention, attention_of(model, examples))
    assert found.divergence.shape == (*attention.shape[:2], SHUFFLES)
    assert np.nanmin(found.divergence) > 1e-4
    assert np.isnan(found.divergence[3]).all()  # a source of one token
    again = randomise(model, examples, attention, 3, quiet)
    np.testing.assert_array_equal(found.divergence, again.divergence)
    shuffled = model.shuffled(np.random.default_rng(0))
    for part, other in zip(before, shuffled._run.model.get_weights(), strict=True):
        np.testing.assert_array_equal(np.sort(part.ravel()), np.sort(other.ravel()))


def test_without_noise_nothing_moves_and_more_noise_moves_more():
    run = make_run(SIMPLE)
    model = SequenceAttributionModel(run)
    examples = examples_of(model, run, PAIRS)
    still = disturb(model, examples, 3, quiet, noise=0.0)
    assert np.nanmax(still.divergence) < 1e-6 and np.nanmax(still.distance) < 1e-6
    assert np.nanmin(still.same_top) == 1
    little, much = (disturb(model, examples, 3, quiet, noise=n) for n in (0.01, 0.5))
    assert little.divergence.shape == (*examples.answer_ids.shape, NOISES)
    assert 0 < np.nanmean(little.divergence) < 0.1 * np.nanmean(much.divergence)
    assert np.nanmean(little.distance) < np.nanmean(much.distance)
    alone = disturb(model, examples, 3, quiet, noise=0.5, rows_at_once=1)
    np.testing.assert_allclose(alone.divergence, much.divergence, atol=1e-5)
    assert np.isnan(much.divergence[3]).all()  # a source of one token


def test_a_map_that_is_fixed_is_perfectly_stable():
    stability = report_on(equal_valued()).stability
    assert stability.divergence.value == pytest.approx(0, abs=1e-6)
    assert stability.same_top.value == 1
    assert stability.output_stays.value == pytest.approx(1)


def test_every_example_is_a_table_of_matrices():
    model = copier()
    examples = examples_by_hand(model, [*SOURCES[:2], [3]])
    parts = ("agreement", "adversarial", "contrast")
    measured = measure_parts(model, examples, attention_of(model, examples), 3, parts)
    tables = [json.loads(to_json(each)) for each in matrices_of(measured)]
    assert len(tables) == 3
    first = tables[0]
    assert first["source"] == first["answer"] == first["reference"] == ["3", "1", "4", "5"]
    assert first["links"][1] == [1, 1, True]
    for name in ("attention", "adversarial", "gradient", "leave_one_out", "contrast"):
        assert np.array(first[name]).shape == (4, 4), name
    assert first["attention"] == np.eye(4).tolist()
    assert len(first["runner_up"]) == len(first["margin"]) == 4
    # One token has no adversary: null, not 0.
    assert tables[2]["attention"] == [[1.0]] and len(tables[2]["adversarial"]) == 1
    alone = measure_parts(model, examples, attention_of(model, examples), 3, ())
    assert set(matrices_of(alone)[0]) == {
        *("format", "source", "answer", "reference", "links", "attention")
    }
