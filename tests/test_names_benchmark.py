"""The arithmetic of `benchmarks.names`: k-best answers against several right ones."""

from benchmarks import names
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair

TEST = Answers([Pair("lee", "리"), Pair("lee", "이"), Pair("kim", "김")])


def test_an_answer_is_right_in_any_of_the_ways_that_the_data_write():
    answers = [["이", "리"], ["킴", "깅", "김"]]
    shares = names.right_at(answers, ["lee", "kim"], TEST)
    assert shares == {"right_at_1": 50.0, "right_at_2": 50.0, "right_at_3": 100.0}


def test_answers_of_the_peer_are_in_its_order_and_counted_once():
    output = "kim 기 ㅁ\nlee 이\nkim 김\nkim 기 ㅁ\nodd\n"
    assert names.read_answers(output, ["lee", "kim", "odd"]) == [["이"], ["기 ㅁ", "김"], []]
