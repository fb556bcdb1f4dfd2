"""The book's trained weights in our model: all its answers, and its attention to the fifth digit.

Runs where the folder in KERAS_ATTENTION_DATA has the book's files.
"""

import os
import pathlib

import numpy as np
import pytest

from keras_attention.datasets.dates import read_book_dates, split_book_dates
from keras_attention.errors import UserError
from keras_attention.models.inference import InferenceModel
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from tests.support.book_run import load_book_run

FOLDER = pathlib.Path(os.environ.get("KERAS_ATTENTION_DATA", "/no/such/folder")) / "book_dates"
needs_book = pytest.mark.skipif(
    not (FOLDER / "attention_weights.npz").exists(),
    reason="KERAS_ATTENTION_DATA has no book_dates/attention_weights.npz",
)


@pytest.fixture(scope="module")
def translator() -> Translator:
    run = load_book_run(FOLDER)
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    return Translator(RunReader(model, run.source, run.target))


@needs_book
def test_all_answers_of_the_test_set(translator):
    """With the cell state handed over as well, say, hardly any would be right."""
    _, test = split_book_dates(read_book_dates(FOLDER / "date.txt", keep_padding=True))
    assert len(test) == 5000
    results = translator.translate([pair.source for pair in test])
    wrong = [
        (pair.source, result.text)
        for pair, result in zip(test, results, strict=True)
        if pair.target != result.text
    ]
    assert not wrong


@needs_book
def test_attention_agrees_with_the_books_program(translator):
    with np.load(FOLDER / "expected_attention.npz") as expected:
        results = translator.translate([str(source) for source in expected["sources"]])
        for row, result in enumerate(results):
            assert result.text == expected["targets"][row]
            assert result.attention_weights.shape == (10, 29)
            np.testing.assert_allclose(
                result.attention_weights, expected["attention_weights"][row], atol=1e-5
            )


def test_another_file_is_told(tmp_path):
    with pytest.raises(UserError, match=r"attention_weights\.npz: is not the book's weights"):
        load_book_run(tmp_path)
    np.savez(tmp_path / "attention_weights.npz", other=np.zeros(3))
    with pytest.raises(UserError, match=r"attention_weights\.npz: is not the book's weights"):
        load_book_run(tmp_path)
