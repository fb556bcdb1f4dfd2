"""BLEU and chrF: small cases computed by hand."""

import math

import pytest

from keras_attention.evaluation.translation_quality import METRICS, quality, score


def test_bleu_by_hand():
    """Of 5, 4, 3 and 2 n-grams 4, 3, 2 and 1 are right; the lengths are equal."""
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert score("bleu", ["a b c d x"], ["a b c d e"]) == pytest.approx(expected)


def test_an_answer_too_short_is_penalised():
    """All n-grams are right; the brevity penalty is exp(1 - 8/6)."""
    expected = 100 * math.exp(1 - 8 / 6)
    assert score("bleu", ["a b c d e f"], ["a b c d e f g h"]) == pytest.approx(expected)


def test_case_counts():
    assert score("bleu", ["A b c d"], ["a b c d"]) < score("bleu", ["a b c d"], ["a b c d"])


def test_chrf_of_one_letter_by_hand():
    """Letter n-grams up to 2 exist: precision and recall 1/2 of single letters, 0 of pairs."""
    assert score("chrf", ["ab"], ["ac"]) == pytest.approx(100 * (0.5 + 0) / 2)


@pytest.mark.parametrize("metric", METRICS)
def test_right_answers_have_100_and_wrong_lists_are_refused(metric):
    right = ["the cat sat on the mat"]
    assert score(metric, right, right) == pytest.approx(100)
    with pytest.raises(ValueError, match=r"outputs and references .* len\(outputs\)=1"):
        score(metric, right, [])
    with pytest.raises(ValueError, match="metric must be one of bleu, chrf"):
        score("ter", right, right)


RIGHT = ["the cat sat on the mat", "a dog runs in the park", "two birds sing a song"] * 20
WORSE = [text.replace("the", "a") if number % 2 else text for number, text in enumerate(RIGHT)]


@pytest.mark.parametrize("metric", METRICS)
def test_quality_is_the_score_with_an_interval_and_a_signature(metric):
    found = quality(metric, WORSE, RIGHT)
    assert found.score == pytest.approx(score(metric, WORSE, RIGHT))
    assert found.low < found.score < found.high
    assert "bs:1000" in found.signature and "version:2." in found.signature
    assert found.other is None and found.p_value is None


@pytest.mark.parametrize("metric", METRICS)
def test_a_worse_model_is_told_apart_and_an_equal_one_is_not(metric):
    worse = quality(metric, WORSE, RIGHT, others=RIGHT)
    assert worse.other == pytest.approx(100) and worse.p_value < 0.05
    same = quality(metric, WORSE, RIGHT, others=WORSE)
    assert same.other == pytest.approx(same.score) and same.p_value > 0.5
    with pytest.raises(ValueError, match="as many"):
        quality(metric, WORSE, RIGHT, others=RIGHT[1:])
