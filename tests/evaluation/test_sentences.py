"""Which answers are sentences, and how good one is."""

import pytest

from keras_attention.evaluation.sentences import are_sentences, qualities, rank_correlation
from keras_attention.pairs.pair import Pair


@pytest.mark.parametrize(
    ("target", "share_right", "expected"),
    [
        ("a man reads a book", 0.05, True),
        ("a man reads a book", 0.2, False),  # enough are right as a whole
        ("k a t", 0.05, False),  # three words are no sentence
        ("1994-09-27", 0.0, False),
    ],
)
def test_sentences_are_long_and_seldom_right_as_a_whole(target, share_right, expected):
    assert are_sentences([Pair("x", target)] * 3, share_right) is expected


def test_quality_by_hand():
    assert qualities(["abc", "xyz"], ["abc", "abc"]) == (1.0, 0.0)
    # "ab" against "ac": unigrams 1 of 2, bigrams 0 of 1, longer ones there are none.
    (value,) = qualities(["ab"], ["ac"])
    assert value == pytest.approx(0.25)
    with pytest.raises(ValueError):
        qualities(["a"], [])


def test_rank_correlation_by_hand():
    assert rank_correlation([1, 2, 3], [10, 20, 90]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: covariance 4.5 by the root of 4.5 times 5.
    assert rank_correlation([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert rank_correlation([1, 1], [1, 2]) is None
    for pair in (([], []), ([1], [1, 2])):
        with pytest.raises(ValueError, match="as many"):
            rank_correlation(*pair)
