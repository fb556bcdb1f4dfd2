"""Familiarity: n-grams that training never had, by hand; and the same in a graph."""

import dataclasses
import json

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from keras_attention.engine.calibration import (
    Calibration,
    calibration_from_dict,
    calibration_to_dict,
)
from keras_attention.engine.familiarity import cells_of, table_size
from keras_attention.evaluation.trust.familiarity_fit import LEAST_PAIRS, fit_familiarity
from keras_attention.export.confidence_graph import familiarity_factor
from keras_attention.text.vocabulary import END, START, RaggedIds

ALTERNATING = (4, 5)


def ragged(rows) -> RaggedIds:
    lengths = [len(row) for row in rows]
    flat = np.array([token for row in rows for token in row], np.int32)
    return RaggedIds(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


@pytest.fixture(scope="module")
def familiarity():
    """Of a task whose sources and answers alternate between two tokens, and log p is near 0."""
    rng = np.random.default_rng(0)
    rows = [[ALTERNATING[i % 2] for i in range(rng.integers(2, 9))] for _ in range(400)]
    scores = -np.exp(rng.normal(-6, 1, 400))
    fitted = fit_familiarity([(ragged(rows), ragged(rows))], ragged(rows), ragged(rows), scores)
    assert fitted is not None
    return fitted


def factor_of(familiarity, source, answer, log_probability=-1e-3):
    ids = [np.array([row], np.int32) for row in (source, answer)]
    found = familiarity.surprise(
        ids[0],
        np.array([len(source)]),
        ids[1][:, None],
        np.array([[len(answer)]]),
        np.array([[log_probability]]),
    )
    return familiarity.factor(found)[0, 0]


def test_what_training_had_is_familiar(familiarity):
    assert factor_of(familiarity, [4, 5, 4, 5], [4, 5, 4]) > 0.99


@pytest.mark.parametrize(
    "odd",
    [
        {"source": [4, 5, 5, 4], "answer": [4, 5, 4]},
        {"source": [4, 5, 4], "answer": [4, 4, 5]},
        {"source": [5, 4, 5], "answer": [4, 5, 4]},
        {"source": [4, 5, 4], "answer": [4, 5, 4], "log_probability": -3.0},
    ],
)
def test_what_training_never_had_is_not(familiarity, odd):
    assert factor_of(familiarity, **odd) < 0.5


def test_hardly_an_ordinary_pair_is_turned_away(familiarity):
    rng = np.random.default_rng(1)
    scores = -np.exp(rng.normal(-6, 1, 2000))
    factors = [factor_of(familiarity, [4, 5, 4], [4, 5], score) for score in scores]
    assert np.mean(np.array(factors) >= 0.5) > 0.985


def test_few_pairs_say_nothing():
    rows = ragged([[4, 5]] * (LEAST_PAIRS - 1))
    assert fit_familiarity([(rows, rows)], rows, rows, [-0.1] * (LEAST_PAIRS - 1)) is None


def test_n_grams_begin_with_the_start_and_end_with_the_end_symbol():
    """Of the row 7 in a table of 97 cells, with the rule of the module by hand."""
    cells, real = cells_of(np.array([[7, 0]]), np.array([1]), 2, 97)

    def cell(first, second):
        return ((first % 97) * 2039 + second) % 97

    assert cells[0, :2].tolist() == [cell(START, 7), cell(7, END)]
    assert real.tolist() == [[True, True, False]]


def test_a_table_has_a_prime_number_of_cells():
    assert table_size(10) == 157
    assert table_size(0) == 97


@hypothesis.given(
    rows=strategies.lists(
        strategies.lists(strategies.sampled_from([3, 4, 5, 6]), max_size=7), min_size=1, max_size=5
    ),
    scores=strategies.lists(strategies.floats(-9, 0), min_size=5, max_size=5),
)
@hypothesis.settings(max_examples=15)
def test_a_graph_computes_the_same(familiarity, rows, scores):
    texts = ragged(rows)
    ids = texts.padded(np.arange(len(rows)), 8)
    log_probability = np.array(scores[: len(rows)], np.float32)[:, None]
    ours = familiarity.factor(
        familiarity.surprise(
            ids, texts.lengths, ids[:, None], texts.lengths[:, None], log_probability
        )
    )
    theirs = familiarity_factor(
        familiarity,
        tf.constant(ids),
        tf.constant(ids[:, None]),
        tf.constant(texts.lengths[:, None], tf.int32),
        tf.constant(log_probability),
    )
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-4)


def test_a_file_holds_all_of_it(familiarity):
    whole = Calibration(1.0, 1.0, 0.0, 0.0, n=400, wrong=0, familiarity=familiarity)
    written = json.loads(json.dumps(calibration_to_dict(whole)))
    assert calibration_from_dict(written) == whole
    damaged = dataclasses.replace(familiarity.answer, words="")
    written["familiarity"]["answer"] = dataclasses.asdict(damaged)
    with pytest.raises(ValueError, match="size"):
        calibration_from_dict(written)
