"""An old model and a new one: the figures by hand, and what counts as worse."""

import dataclasses

import pytest

from keras_attention.evaluation.evaluation import evaluate
from keras_attention.evaluation.reports.change import Change, mcnemar
from keras_attention.pairs.pair import Pair
from tests.support.parrot import Parrot

PAIRS = [Pair(f"s{i}", f"t{i}") for i in range(40)]
RIGHT = {pair.source: pair.target for pair in PAIRS}


def evaluation(wrong=()):
    """Of a model that answers the sources with these numbers wrongly, as they say."""
    answers = RIGHT | {f"s{i}": answer for i, answer in dict(wrong).items()}
    return evaluate(Parrot(answers).translator(), PAIRS)


def change(old, new):
    return Change.of(PAIRS, evaluation(old), evaluation(new))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (0, 6, 2 / 64),
        (1, 9, 2 * 11 / 1024),  # the binomial's tail of 0 and 1 of 10, on both sides
        (5, 5, 1.0),
    ],
)
def test_mcnemar_by_hand(first, second, expected):
    assert mcnemar(first, second) == pytest.approx(expected)


def test_answers_are_fixed_broken_or_otherwise_wrong():
    found = change({0: "x", 1: "x", 2: "x"}, {1: "x", 2: "y", 3: "z"})
    assert [(c.source, c.kind) for c in found.changed] == [
        ("s0", "fixed"),
        ("s2", "other"),
        ("s3", "broken"),
    ]
    assert found.exact_match == (37 / 40, 37 / 40)
    assert found.exact_match_p == 1.0
    assert found.worse == ()


def test_six_broken_answers_are_more_than_chance_and_five_are_not():
    five = change({}, {i: f"t{i}!" for i in range(5)})
    assert five.exact_match_p == pytest.approx(0.0625)
    assert "exact match" not in five.worse
    six = change({}, {i: f"t{i}!" for i in range(6)})
    assert six.exact_match_p == pytest.approx(0.03125)
    assert "exact match" in six.worse
    assert change({i: "x" for i in range(6)}, {}).worse == ()  # better is not worse


def test_many_edits_in_few_answers_count_by_the_token_error_rate():
    found = change({}, {i: "x" * 60 for i in range(5)})
    assert found.worse == ("token error rate",)


def test_the_same_model_changes_nothing():
    found = change({1: "x"}, {1: "x"})
    assert (found.changed, found.exact_match_p, found.token_error_rate_p) == ((), 1.0, 1.0)


def test_text_and_dict_say_the_same():
    found = change({0: "x"}, {i: "z" for i in range(1, 13)})
    text = found.to_text()
    assert "exact match: 0.9750 → 0.7000 (-0.2750, p = 0.00342" in text
    assert "answers that changed: 13 (fixed 1, broken 12, wrong in another way 0)" in text
    assert "  broken: s1 → z (was t1, expected t1)" in text and "  broken: 2 more" in text
    content = found.to_dict()
    assert content["counts"] == {"broken": 12, "fixed": 1, "other": 0}
    assert len(content["changed"]) == 13
    assert content["worse"] == list(found.worse)


def test_evaluations_of_other_pairs_are_refused():
    other = dataclasses.replace(evaluation(), references=("x",) * 40)
    with pytest.raises(ValueError, match="of pairs"):
        Change.of(PAIRS, evaluation(), other)
