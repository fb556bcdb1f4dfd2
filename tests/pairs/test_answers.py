"""Sources with several targets, counted by hand."""

from keras_attention.pairs.alignment import Link
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair


def test_by_hand():
    read_as_red = Pair("read", "red", (Link(0, 0, True),))
    pairs = [Pair("read", "reed"), read_as_red, Pair("read", "red"), Pair("a", "x"), Pair("a", "x")]
    answers = Answers(pairs)
    assert answers.n == 5 and answers.sources_with_several == 1
    assert answers.ceiling == 4 / 5  # red twice and x twice
    assert answers.targets("read") == ["reed", "red"] and answers.targets("b") == []
    assert answers.judged_by(pairs[0], "red") == read_as_red
    assert answers.judged_by(pairs[0], "reed") is pairs[0]
    assert answers.judged_by(pairs[0], "x") is pairs[0]
    assert answers.judged_by(Pair("b", "y"), "z") == Pair("b", "y")


def test_no_pairs():
    assert (Answers(()).n, Answers(()).sources_with_several, Answers(()).ceiling) == (0, 0, 1.0)
