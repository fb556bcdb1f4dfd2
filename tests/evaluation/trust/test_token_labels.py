"""Scores and labels of the tokens of an answer, however a reader gives them."""

import numpy as np
import pytest

from keras_attention.evaluation.trust.token_labels import token_scores
from keras_attention.readers.printed import as_dict
from keras_attention.readers.translation import Translation


def answer(scores):
    return Translation(
        "abd", -1.0, 0.4, ("x",), ("a", "b", "d"), None, (), scores, token_log_probability=scores
    )


@pytest.mark.parametrize("scores", [None, np.array([-0.5, -0.25, 0], np.float32), ()])
def test_scores_are_plain_numbers_however_many_there_are(scores):
    found, right = token_scores(answer(scores), "abc", "char")
    assert found == ([] if scores is None else list(map(float, scores)))
    assert right == (True, True, False)


def test_numbers_of_an_array_are_printed_as_json_knows_them():
    content = as_dict(answer(np.array([0.5, 0.25, 1], np.float32)), "x", answered=True)
    assert [type(sure) for sure in content["token_confidence"]] == [float] * 3
