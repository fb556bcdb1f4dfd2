"""The comparison that an export stands or falls with must see every kind of difference."""

import dataclasses

import numpy as np
import pytest

from keras_attention.evaluation.parity import TOLERANCE, compare, milliseconds_per_call
from keras_attention.readers.translation import Translation


def translation(text="ab", score=-1.0, weights=((0.5, 0.5), (1.0, 0.0)), **more):
    weights = None if weights is None else np.array(weights, np.float32)
    fields = {"confidence": 0.5, "source_tokens": ("x", "y"), "target_tokens": tuple(text)}
    return Translation(
        text=text, log_probability=score, attention_weights=weights, **(fields | more)
    )


def test_equal_translations_agree():
    parity = compare([translation(), translation("")], [translation(), translation("")])
    assert parity.holds and parity.same_text == parity.n == 2
    assert parity.score_difference == parity.attention_difference == 0


def test_nothing_agrees_with_nothing():
    assert compare([], []).holds


OTHERS = {
    "text": translation("ac"),
    "score": translation(score=-1.0 - 2 * TOLERANCE),
    "confidence": translation(confidence=0.5 + 2 * TOLERANCE),
    "attention": translation(weights=((0.5, 0.5), (1.0 - 2 * TOLERANCE, 0.0))),
    "NaN score": translation(score=float("nan")),
    "NaN confidence": translation(confidence=float("nan")),
    "NaN attention": translation(weights=((0.5, 0.5), (float("nan"), 0.0))),
    "attention of another shape": translation(weights=((0.5, 0.5, 0.0), (1.0, 0.0, 0.0))),
    "attention that could be broadcast": translation(weights=((0.5, 0.5),)),
    "no attention": translation(weights=None),
    "another alternative": translation(alternatives=(translation("b"),)),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("way", ["there", "back"])
def test_every_kind_of_difference_is_seen(kind, way):
    pair = [translation(alternatives=(translation("a"),) * ("alt" in kind)), OTHERS[kind]]
    ours, theirs = pair if way == "there" else pair[::-1]
    parity = compare([translation(), ours], [translation(), theirs])
    assert not parity.holds
    assert "'ab'" in parity.first_difference


def test_two_models_that_both_say_nan_do_not_agree():
    broken = translation(score=float("nan"))
    parity = compare([broken, translation()], [broken, translation()])
    assert not parity.holds and np.isnan(parity.score_difference)


def test_differences_within_the_tolerance_are_measured_and_allowed():
    other = translation(score=-1.0 - TOLERANCE / 2)
    parity = compare([translation()], [other])
    assert parity.holds and parity.score_difference == pytest.approx(TOLERANCE / 2)


def test_alternatives_are_compared_like_the_best():
    ours = translation(alternatives=(translation("a"),))
    other = dataclasses.replace(ours, alternatives=(translation("a", score=-2.0),))
    parity = compare([ours], [other])
    assert not parity.holds and parity.score_difference == pytest.approx(1.0)


def test_the_message_names_the_source_and_what_both_say():
    ours = translation(source_tokens=tuple("source"))
    message = compare([ours], [translation("zz", -3.0)]).first_difference
    assert message == "'source': 'ab' (-1.000000) against 'zz' (-3.000000)"


def test_other_numbers_of_translations_are_an_error():
    with pytest.raises(ValueError, match=r"len\(reference\)=1, len\(other\)=0"):
        compare([translation()], [])


def test_time_is_the_median_in_milliseconds():
    calls = []
    assert 0 <= milliseconds_per_call(lambda: calls.append(1), calls=5) < 1
    assert len(calls) == 8  # three to warm up


def test_of_long_sources_more_rounding_is_allowed_in_proportion():
    """A source of 1,000 tokens may differ by twice the tolerance, one of 500 by once."""
    for length, times, holds in ((1000, 1.9, True), (1000, 2.1, False), (500, 1.1, False)):
        ours = translation(source_tokens=("x",) * length, weights=None)
        theirs = dataclasses.replace(ours, log_probability=-1.0 - times * TOLERANCE)
        assert compare([ours], [theirs]).holds == holds
