"""The verdict follows from one table of thresholds; each row is driven both ways."""

import math

import pytest

from keras_attention.explanation.reporting.estimate import Number
from keras_attention.explanation.reporting.verdict import (
    IS,
    IS_NOT,
    MIGHT,
    NO,
    PARTLY,
    REQUIRED,
    STANDS_STILL,
    TABLE,
    UNDECIDED,
    UNDEFINED,
    YES,
    judge,
)

ROWS = {row.name: row for row in TABLE}
FAITHFUL = [row.name for row in TABLE if row.about == "faithfulness"]


def number(value):
    return Number(value, None, None, 1, 0, "steps", "test", "none")


def numbers(outcome, names=REQUIRED, **others):
    """Numbers by which every criterion of `names` has one outcome, but for `others`."""
    chosen = {name: outcome for name in names} | others
    return {name: number(value_for(ROWS[name], outcome)) for name, outcome in chosen.items()}


def value_for(row, outcome):
    return {YES: row.yes, NO: row.no, PARTLY: (row.yes + row.no) / 2, UNDEFINED: None}[outcome]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_each_threshold_is_reached_and_missed(row):
    up = 1 if row.yes > row.no else -1
    beyond, short = math.inf * up, -math.inf * up
    assert row.outcome(row.yes) == YES
    assert row.outcome(math.nextafter(row.yes, short)) == PARTLY
    assert row.outcome(beyond) == YES
    assert row.outcome(row.no) == NO
    assert row.outcome(math.nextafter(row.no, beyond)) == PARTLY
    assert row.outcome(short) == NO
    assert row.outcome(None) == UNDEFINED


@pytest.mark.parametrize("name", FAITHFUL)
def test_each_criterion_of_faithfulness_turns_the_verdict_both_ways(name):
    names = {*REQUIRED, name}
    assert judge(numbers(YES, names)).overall == IS
    assert judge(numbers(YES, names, **{name: NO})).overall == MIGHT
    assert judge(numbers(YES, names, **{name: PARTLY})).overall == MIGHT
    assert judge(numbers(NO, names)).overall == IS_NOT
    assert judge(numbers(NO, names, **{name: YES})).overall == MIGHT
    assert judge(numbers(NO, names, **{name: PARTLY})).overall == MIGHT


def test_a_picture_that_pleases_cannot_make_an_explanation_but_can_unmake_one():
    assert judge(numbers(NO, alignment=YES)).overall == IS_NOT
    assert judge(numbers(YES, alignment=YES)).overall == IS
    assert judge(numbers(YES, alignment=PARTLY)).overall == IS
    assert judge(numbers(YES, alignment=NO)).overall == MIGHT


def test_the_reason_names_both_sides():
    verdict = judge(numbers(YES, adversarial=NO, agreement=PARTLY))
    assert verdict.reason == (
        "The criteria disagree: for it: permutation, erasure; against it: adversarial; "
        "neither: agreement."
    )


def test_what_is_undefined_has_no_vote():
    assert judge(numbers(NO, agreement=UNDEFINED)).overall == IS_NOT
    assert judge(numbers(YES, agreement=UNDEFINED)).overall == IS
    assert judge(numbers(UNDEFINED)).overall == UNDECIDED


@pytest.mark.parametrize("name", REQUIRED)
def test_a_part_alone_gives_no_verdict(name):
    verdict = judge(numbers(YES, [name]))
    assert verdict.overall == UNDECIDED
    assert [each.criterion.name for each in verdict.judgements] == [name]
    assert all(other in verdict.reason for other in set(REQUIRED) - {name})


def test_baselines_and_alignment_are_not_required():
    assert judge(numbers(YES)).overall == IS
    assert set(REQUIRED) == set(FAITHFUL) - {"need", "seeds"}


def test_a_map_that_depends_on_nothing_is_named_first_and_never_an_explanation():
    for outcome in (YES, PARTLY, NO, UNDEFINED):
        verdict = judge(numbers(outcome, dependence=NO))
        assert (verdict.overall, verdict.reason) == (IS_NOT, STANDS_STILL)
        assert verdict.judgements[0].criterion.name == "dependence"
    # Neither does a single part hide it.
    assert judge(numbers(YES, ["erasure"], dependence=NO)).reason == STANDS_STILL


def test_a_map_that_moves_is_not_yet_an_explanation():
    assert judge(numbers(NO, dependence=YES)).overall == IS_NOT
    assert judge(numbers(YES, dependence=YES)).overall == IS
    assert judge(numbers(YES, dependence=PARTLY)).overall == IS
    assert judge(numbers(YES, dependence=UNDEFINED)).overall == IS
    assert judge(numbers(UNDEFINED, dependence=YES)).overall == UNDECIDED
