"""The audit of models whose explanations are known by construction."""

import numpy as np
import pytest

from keras_attention.explanation.audit import measure_parts
from keras_attention.explanation.measures.adversary import search
from keras_attention.explanation.measures.agreement import agree
from keras_attention.explanation.measures.alignment import compare, controls, gold_of
from keras_attention.explanation.measures.erasure import erase
from keras_attention.explanation.measures.importance import MEASURES, measure_importance
from keras_attention.explanation.measures.interventions import CHANGES, attention_of, intervene
from keras_attention.explanation.reporting.summary import summarise
from tests.support.subjects import (
    HandBuilt,
    copier,
    equal_valued,
    examples_of,
    ignorer,
    looks_around,
)

# Different tokens within each source, so that a copier that looks elsewhere is always wrong.
SOURCES = [[3, 1, 4, 5], [2, 7, 1], [6, 5, 3, 2, 7, 1, 4], [1, 2], [5, 4, 3, 2, 6]]


def quiet(done, total):
    pass


def measured_of(subject, sources=SOURCES, references=None):
    examples = examples_of(subject, sources, references)
    return measure_parts(subject, examples, attention_of(subject, examples), seed=3)


def report_on(subject, sources=SOURCES, references=None):
    measured = measured_of(subject, sources, references)
    return summarise(measured, 3, "sequence-to-sequence", "hand-built", "none")


@pytest.fixture(scope="module")
def ignored():
    return report_on(ignorer(), references=[[1] * len(source) for source in SOURCES])


@pytest.fixture(scope="module")
def copied():
    return report_on(copier())


def test_a_model_that_ignores_its_source_shows_no_effect(ignored):
    interventions = ignored.interventions
    for name in CHANGES:
        assert getattr(interventions, name).total_variation.value == 0
        assert getattr(interventions, name).answer_changed.value == 0
        assert getattr(interventions, name).exact_match.value == 1
    assert interventions.permutation_of_answer.value == 0
    for name in ("aopc_comprehensiveness", "aopc_sufficiency", "beyond_random"):
        assert getattr(ignored.erasure, name).value == 0


def test_a_model_that_ignores_its_source_has_no_rank_correlation_and_the_report_says_so(ignored):
    for name in MEASURES:
        number = ignored.agreement.kendall_tau[name]
        assert (number.value, number.low, number.n) == (None, None, 0)
    assert ignored.agreement.undefined.value == 1
    assert ignored.agreement.relative_to_ceiling.value is None
    assert ignored.verdict.judgements[1].outcome == "undefined"


def test_attention_of_a_model_that_ignores_its_source_is_no_explanation(ignored):
    assert ignored.verdict.overall == "attention is NOT an explanation here"


def test_any_weights_will_do_for_a_model_that_ignores_its_source(ignored):
    assert ignored.adversarial.max_jsd_of_bound.value == pytest.approx(1, abs=1e-5)


def test_permutation_changes_everything_for_a_copier(copied):
    interventions = copied.interventions
    assert interventions.exact_match.value == 1
    assert interventions.largest_removed.exact_match.value == 0
    assert interventions.only_largest.exact_match.value == 1
    assert interventions.random_removed.total_variation.value == 0
    # A source of two tokens is left as it was by half of all permutations.
    longer = report_on(copier(), [source for source in SOURCES if len(source) > 3])
    assert longer.interventions.permutation_median.value > 0.99
    assert longer.interventions.permutation.exact_match.value == 0


def test_importance_of_a_copier_is_its_attention(copied):
    for name in MEASURES:
        # Deleting a token moves the later ones to other positions, which this model copies.
        if name != "leave_one_out":
            assert copied.agreement.kendall_tau[name].value == pytest.approx(1)
            assert copied.agreement.top_1[name].value == 1
    assert copied.agreement.relative_to_ceiling.value >= 1
    assert abs(copied.agreement.null_kendall_tau["gradient"].value) < 0.5


def test_a_copier_makes_no_alignment_errors(copied):
    alignment = copied.alignment
    assert alignment.gold.alignment_error_rate.value == 0
    assert alignment.gold.precision.value == alignment.gold.recall.value == 1
    assert alignment.gold.mass.value == pytest.approx(1)
    assert alignment.monotonicity.value == 1
    assert alignment.controls["diagonal"].value == 0  # a copier's gold is the diagonal
    # Of each source the last step keeps its row.
    assert alignment.controls["rows_shifted_up"].value == pytest.approx(1 - 5 / 21)


def test_a_copier_has_no_other_attention_with_the_same_answer(copied):
    assert copied.adversarial.survives.value == 0
    # A copier that is less sure of itself has no room at all.
    subject = copier(value_scale=3.0)
    found = search(subject, examples_of(subject, SOURCES), 3, quiet, iterations=60)
    assert np.nanmax(found.divergence) < 0.02


def test_erasing_what_a_copier_looks_at_takes_the_answer(copied):
    by_one = copied.erasure
    assert by_one.comprehensiveness["1"].value > 0.9
    assert by_one.sufficiency["1"].value == pytest.approx(0, abs=1e-6)
    assert by_one.random_comprehensiveness["1"].value < 0.6


def test_the_adversary_reaches_the_largest_divergence_where_all_values_are_equal():
    subject = equal_valued()
    examples = examples_of(subject, SOURCES)
    found = search(subject, examples, 3, quiet)
    weights = attention_of(subject, examples)
    for row, source in enumerate(SOURCES):
        for step in range(len(source)):
            own = weights[row, step, : len(source)].astype(np.float64)
            # Divergence is convex: its maximum is at a corner, so trying them all finds it.
            largest = max(divergence(np.eye(len(own))[i], own) for i in range(len(own)))
            assert found.divergence[row, step] == pytest.approx(largest, abs=1e-5)
            assert found.bound[row, step] == pytest.approx(largest, abs=1e-5)
            assert found.distance[row, step] == pytest.approx(0, abs=1e-6)


def divergence(p, q):
    middle = (p + q) / 2
    kept = p > 0
    return (
        0.5 * (p[kept] * np.log(p[kept] / middle[kept])).sum()
        + 0.5 * (q * np.log(q / middle)).sum()
    )


def test_sources_of_one_token_have_no_other_weights():
    subject = ignorer()
    found = search(subject, examples_of(subject, [[4], [4, 2]]), 3, quiet)
    assert np.isnan(found.divergence[0]).all()
    assert found.divergence[1, 0] > 0


def test_the_adversary_stays_within_epsilon_and_finds_more_with_more_room():
    subject = copier()
    examples = examples_of(subject, SOURCES)
    narrow = search(subject, examples, 3, quiet, 0.01, 60)
    wide = search(subject, examples, 3, quiet, 0.5, 60)
    assert np.nanmax(narrow.distance) <= 0.01
    assert np.nanmax(wide.distance) <= 0.5
    assert np.nanmean(wide.divergence) > np.nanmean(narrow.divergence) + 0.02
    sums = np.nansum(wide.weights, axis=-1)[~np.isnan(wide.divergence)]
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_batching_changes_no_number():
    subject = HandBuilt(looks_around, value_scale=4.0, state_scale=0.5)
    examples = examples_of(subject, SOURCES)
    kinds = {
        "importance": lambda rows: measure_importance(subject, examples, quiet, rows),
        "erasure": lambda rows: vars(erase(subject, examples, 3, quiet, rows)),
        "adversary": lambda rows: vars(search(subject, examples, 3, quiet, 0.01, 60, rows)),
        "interventions": lambda rows: flat(
            intervene(subject, examples, attention_of(subject, examples), 3, quiet, rows)
        ),
    }
    for kind, measured in kinds.items():
        alone, together = measured(1), measured(5)
        for name in alone:
            if kind == "adversary" and name == "weights":
                continue  # several are equally good
            np.testing.assert_allclose(
                alone[name], together[name], atol=2e-3 if kind == "adversary" else 1e-6
            )


def flat(interventions):
    return (
        {f"distance {k}": v for k, v in interventions.distance.items()}
        | {f"flipped {k}": v for k, v in interventions.flipped.items()}
        | {f"right {k}": v for k, v in interventions.right.items()}
        | {"median": interventions.permutation_median, "largest": interventions.largest_weight}
    )


def test_shuffled_attention_is_a_null():
    subject = copier()
    sources = [list(np.random.default_rng(i).permutation(8) + 1) for i in range(60)]
    examples = examples_of(subject, sources)
    found = agree(examples, measure_importance(subject, examples, quiet), seed=1)
    assert abs(np.nanmean(found.null_kendall_tau["gradient"])) < 0.1
    assert np.nanmean(found.kendall_tau["gradient"]) == 1


def test_controls_of_a_copier_are_wrong_by_hand():
    subject = copier()
    examples = examples_of(subject, [[1, 2, 3], [4, 5, 6]])
    weights = attention_of(subject, examples)
    gold = gold_of(examples, 3, 3)
    wrong = controls(examples, weights, seed=0)
    np.testing.assert_array_equal(wrong["rows_shifted_up"][0].argmax(-1), [1, 2, 2])
    np.testing.assert_array_equal(wrong["rows_shifted_down"][0].argmax(-1), [0, 0, 1])
    np.testing.assert_array_equal(wrong["reversal_not_undone"][0].argmax(-1), [2, 1, 0])
    missed, sizes = compare(wrong["reversal_not_undone"], gold).error_rate()
    # Of three steps the middle one is still right: 1 - (1 + 1) / (3 + 3).
    assert missed.sum() / sizes.sum() == pytest.approx(2 / 3)
