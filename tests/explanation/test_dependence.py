"""Maps that stand still are found, wherever they stand; sources of one token decide nothing."""

import math

import numpy as np
import pytest

from keras_attention.explanation.measures.baselines import Baselines
from keras_attention.explanation.measures.dependence import depend
from keras_attention.explanation.reporting.estimate import Estimator
from keras_attention.explanation.reporting.summary_comparison import baselines_report
from keras_attention.explanation.reporting.verdict import IS_NOT, NO, STANDS_STILL, UNDEFINED, YES
from tests.explanation.test_known_models import SOURCES, measured_of, report_on
from tests.support.subjects import (
    HandBuilt,
    copier,
    examples_of,
    looks_around,
    looks_at_the_first,
    looks_at_the_last,
    looks_everywhere,
)


@pytest.mark.parametrize("where", [looks_at_the_first, looks_at_the_last, looks_everywhere])
def test_attention_that_stands_still_is_no_explanation_even_where_the_model_uses_it(where):
    # The answer is what attention points at: other weights change it, and so does erasing.
    report = report_on(HandBuilt(where, value_scale=12.0))
    assert report.dependence.varies.value == pytest.approx(0, abs=1e-6)
    first = report.verdict.judgements[0]
    assert (first.criterion.name, first.outcome) == ("dependence", NO)
    assert (report.verdict.overall, report.verdict.reason) == (IS_NOT, STANDS_STILL)
    assert report.dependence.one_position.value == 1


@pytest.mark.parametrize("model", [copier(), HandBuilt(looks_around, value_scale=4.0)])
def test_attention_that_moves_passes(model):
    judgement = report_on(model).verdict.judgements[0]
    assert (judgement.criterion.name, judgement.outcome) == ("dependence", YES)


def test_information_by_hand():
    examples = examples_of(copier(), [[1, 2], [3, 4]])
    maps = np.zeros((2, 2, 2), np.float32)
    maps[0] = np.eye(2)  # which step it is says where it looks: log 2
    maps[1] = [[0.5, 0.5], [0.5, 0.5]]
    found = depend(examples, maps, seed=0)
    np.testing.assert_allclose(found.on_step, [math.log(2), 0])
    # From (1, 0) to the middle of it and (1/2, 1/2), at both steps.
    middle = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    np.testing.assert_allclose(found.on_input, [middle - 0.5 * math.log(2)] * 2)
    np.testing.assert_array_equal(found.one_position, [0, 1])


def test_sources_of_one_token_leave_everything_undefined():
    report = report_on(copier(), [[4], [2], [7], [1]])
    outcomes = {each.criterion.name: each.outcome for each in report.verdict.judgements}
    assert set(outcomes.values()) == {UNDEFINED}, outcomes
    assert report.interventions.permutation_median.n == 0
    assert report.interventions.uniform.exact_match.n == 0
    assert report.interventions.exact_match.value == 1
    assert report.erasure.beyond_random.value is None
    assert report.verdict.overall == "undecided"


def test_sources_of_one_token_take_nothing_from_the_others():
    several = report_on(copier())
    mixed = report_on(copier(), [*SOURCES, [4], [2]])
    for part, name in (
        ("interventions", "permutation_of_answer"),
        ("erasure", "beyond_random"),
        ("adversarial", "max_jsd_of_bound"),
    ):
        number, alone = getattr(getattr(mixed, part), name), getattr(getattr(several, part), name)
        assert number.n == alone.n, name
        assert number.value == pytest.approx(alone.value, abs=0.06), name
    assert mixed.alignment.gold.pointing_accuracy.n == several.alignment.gold.pointing_accuracy.n


def test_need_is_judged_against_the_better_baseline():
    measured = measured_of(copier())
    right = {
        "uniform_trained": np.array([True, False, False, False, False]),
        "no_attention": np.array([True, True, True, True, False]),
        "seed_2": np.ones(5, bool),
    }
    between = np.zeros((*measured.attention.shape[:2], 1))
    report = baselines_report(_with(measured, Baselines(right, between)), Estimator(seed=0))
    assert report.need.value == pytest.approx(0.2)
    assert report.need.definition.endswith("here the one with no attention")
    del right["no_attention"]
    report = baselines_report(_with(measured, Baselines(right, between)), Estimator(seed=0))
    assert report.need.value == pytest.approx(0.8)


def _with(measured, baselines):
    import dataclasses

    return dataclasses.replace(measured, baselines=baselines)
