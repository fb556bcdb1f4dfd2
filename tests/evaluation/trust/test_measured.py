"""Promises measured, tokens labelled, figures drawn: by hand."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from keras_attention.engine.calibration import Calibration
from keras_attention.engine.guarantees import Abstention, CandidateSets
from keras_attention.evaluation.evaluation import evaluate
from keras_attention.evaluation.trust.figures import (
    confidence_figures,
    reliability,
    risk_coverage,
)
from keras_attention.evaluation.trust.guarantee_fit import fit_abstention, fit_sets
from keras_attention.evaluation.trust.measured import abstention, measure_sets
from keras_attention.evaluation.trust.token_labels import right_tokens
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator


class Spelling:
    """Answers a digit with itself and the digits above it, each a factor e less likely."""

    has_attention = False
    source_kind = target_kind = "char"
    batches_at_once = 1
    calibration = None

    def translate_batch(self, texts, beam_width, length_penalty):
        return [self._answer(text, beam_width) for text in texts]

    def _answer(self, text, beam_width):
        best, *others = (
            Translation(
                str((int(text) + place) % 10),
                -1.0 - place,
                1 - int(text) / 10 - place / 100,
                (text,),
                ("x",),
                None,
                token_log_probability=np.array([-1.0 - place]),
            )
            for place in range(min(beam_width, 10))
        )
        return Translation(**{**vars(best), "alternatives": tuple(others)})


# Seven first answers are right, one second and one third; of 9 no hypothesis of five is.
PAIRS = [
    *(Pair(str(digit), str(digit)) for digit in range(7)),
    *(Pair("7", "8"), Pair("8", "0"), Pair("9", "7")),
]


def test_sets_are_fitted_on_the_scores_of_right_answers():
    narrow, wide = fit_sets(Translator(Spelling()), PAIRS)
    assert (narrow.beam_width, narrow.unlisted) == (5, 1)
    assert narrow.scores == (-3.0, -2.0, *[-1.0] * 7)
    assert (wide.beam_width, wide.unlisted, wide.scores[0]) == (20, 0, -9.0)


def test_no_wider_beam_is_searched_where_one_misses_nothing():
    assert len(fit_sets(Translator(Spelling()), PAIRS[:9])) == 1


def test_abstention_counts_at_the_confidences_of_other_pairs():
    translator = Translator(Spelling())
    chosen = translator.translate([str(digit) for digit in range(10)])
    found = fit_abstention(chosen, chosen, [digit < 7 for digit in range(10)])
    assert found.thresholds[1] == pytest.approx(1.0)  # the first tenth of them
    assert found.answered[-1] == 10
    assert found.wrong[-1] == 3
    assert found.answered[13] == 7
    assert found.wrong[13] == 0


def test_what_sets_hold_is_counted():
    reader = Spelling()
    reader.calibration = Calibration(
        *(1.0, 1.0, 0.0, 0.0), n=1, wrong=0, sets=(CandidateSets(5, (-2.0, *[-1.0] * 18), 0),)
    )
    sets = measure_sets(Translator(reader), PAIRS, 0.95)
    assert sets.promised == 0.95
    # p > 0.05 has every score of at least -2: two answers each, which hold 8 of 10.
    assert (sets.all.n, sets.all.held, sets.all.mean_size) == (10, 0.8, 2.0)
    assert sets.all.low < 0.8 < sets.all.high
    assert sum(part.n for part in sets.by_confidence) == 10
    assert "0.8000 hold the right answer" in sets.to_text()


def test_what_is_answered_is_counted():
    found = abstention(evaluate(Translator(Spelling()), PAIRS), 0.25, 0.3)
    assert found["answered"] == 0.8
    assert found["wrong"] == 1 / 8
    assert Abstention(1, (0.5,), (1,), (0,)).threshold(0.01) is None


@pytest.mark.parametrize(
    ("tokens", "reference", "kind", "right"),
    [
        ("1994", "1994", "char", [True] * 4),
        ("1904", "1994", "char", [True, True, False, True]),
        ("194", "1994", "char", [True] * 3),
        (("k", "a", "t"), "k æ t", "word", [True, False, True]),
        ((" ki", "tten"), "kitchen", "subword", [True, False]),
    ],
)
def test_a_token_is_right_that_the_shortest_edits_keep(tokens, reference, kind, right):
    assert list(right_tokens(tuple(tokens), reference, kind)) == right


def test_answers_of_one_confidence_are_given_together():
    confidences = np.array([0.9, 0.5, 0.5, 0.1])
    right = np.array([True, True, False, False])
    assert risk_coverage(confidences, right) == [(0.25, 0.0), (0.75, 1 / 3), (1.0, 0.5)]


def test_reliability_is_of_the_bins_that_have_answers():
    confidences = np.array([0.01, 0.02, 1.0, 1.0])
    right = np.array([False, True, True, True])
    assert reliability(confidences, right) == [(0.015, 0.5, 2), (1.0, 1.0, 2)]


def test_figures_are_drawings_that_load_nothing():
    figures = confidence_figures(evaluate(Translator(Spelling()), PAIRS))
    assert len(figures) == 3
    for _, drawing in figures:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert "href" not in drawing
