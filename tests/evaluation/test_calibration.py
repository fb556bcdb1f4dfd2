"""From log-probabilities to confidences that mean what they say."""

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_attention.engine.calibration import (
    Calibration,
    confidence_of,
    load_calibration,
    mean_of,
    save_calibration,
)
from keras_attention.errors import UserError
from keras_attention.evaluation import confidence
from keras_attention.evaluation.calibration_fit import fit
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.export.litert import write_litert
from keras_attention.export.saved_model import ServingModule
from keras_attention.folders.run_folder import CALIBRATION
from keras_attention.readers.litert_reader import LiteRTReader
from keras_attention.readers.run import load_run
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from tests.support.commands import call_verb
from tests.support.exports import random_run, random_texts

MODEST = Calibration(0.7, 0.9, 1.5, 0.2, n=450, wrong=40)


def answers(calibration: Calibration, n: int, seed: int = 0):
    """Log-probabilities and lengths of answers that are right as often as the map says."""
    rng = np.random.default_rng(seed)
    log_p, lengths = -rng.gamma(1.5, 1.0, n), rng.integers(1, 12, n)
    right = rng.random(n) < calibration.confidence(log_p, lengths)
    return log_p, lengths, right


def test_the_formula_by_hand():
    p, length = 0.25, 3
    logit = 0.7 * math.log(p) - 0.9 * math.log(1.001 - p) + 1.5 + 0.2 * length
    assert MODEST.confidence(math.log(p), length) == pytest.approx(1 / (1 + math.exp(-logit)))


def test_the_identity_keeps_probabilities():
    identity = Calibration(1.0, 1.0, 0.0, 0.0, n=1, wrong=0)
    p = np.linspace(0.01, 1.0, 100)
    np.testing.assert_allclose(identity.confidence(np.log(p), np.full(100, 5)), p, atol=1.1e-3)


def test_extreme_log_probabilities_give_numbers():
    for log_p in (0.0, -1e-8, -1e-30, -800.0, -1e9):
        for dtype in (np.float32, np.float64):
            value = MODEST.confidence(dtype(log_p), dtype(4))
            assert 0.0 <= value <= 1.0
    assert MODEST.confidence(-1e9, 4) < 1e-12


def test_a_fit_finds_the_map_that_made_the_data():
    log_p, lengths, right = answers(MODEST, 40_000)
    found = fit(log_p, lengths, right)
    assert (found.n, found.wrong) == (40_000, int((~right).sum()))
    fresh_log_p, fresh_lengths, _ = answers(MODEST, 500, seed=1)
    np.testing.assert_allclose(
        found.confidence(fresh_log_p, fresh_lengths),
        MODEST.confidence(fresh_log_p, fresh_lengths),
        atol=0.02,
    )


def test_a_fit_makes_the_calibration_error_small():
    log_p, lengths, right = answers(MODEST, 5000)
    found = fit(log_p, lengths, right)
    fresh, fresh_lengths, fresh_right = answers(MODEST, 5000, seed=1)
    before = confidence.expected_calibration_error(np.exp(fresh), fresh_right)
    after = confidence.expected_calibration_error(
        found.confidence(fresh, fresh_lengths), fresh_right
    )
    assert before > 0.2 and after < 0.03


def test_without_an_error_to_learn_from_doubt_stays():
    found = fit(np.full(5000, -1e-4), np.full(5000, 10), np.ones(5000, bool))
    sure, unsure, hopeless = found.confidence(np.log([0.9999, 0.5, 0.01]), np.full(3, 10))
    assert sure > 0.999 and 0.5 < unsure < 0.7 and hopeless < 0.05


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-30, 0), st.integers(0, 40), st.booleans()), min_size=1, max_size=50
    )
)
def test_confidence_never_falls_as_the_log_probability_rises(rows):
    log_p, lengths, right = zip(*rows, strict=True)
    found = fit(log_p, lengths, right)
    assert found.log_slope >= 0 and found.doubt_slope >= 0
    line = found.confidence(np.linspace(-40, 0, 300), np.full(300, 7.0))
    assert np.all(np.diff(line) >= 0) and np.all((line >= 0) & (line <= 1))


def test_where_the_likelier_are_wrong_the_slopes_are_zero_not_negative():
    log_p, lengths, right = answers(MODEST, 2000)
    found = fit(log_p, np.full(2000, 5), ~right)
    assert found.log_slope == 0.0 and found.doubt_slope == 0.0


@pytest.mark.parametrize(
    ("n", "wrong", "said"),
    [
        (3, 1, "3 answers are too few"),
        (450, 0, "all 450 answers are right"),
        (450, 450, "all 450 answers are wrong"),
        (450, 2, "only 2 of 450 answers are wrong"),
        (450, 447, "only 3 of 450 answers are right"),
        (450, 10, None),
        (450, 440, None),
    ],
)
def test_answers_of_one_kind_say_little_and_the_file_says_so(tmp_path, n, wrong, said):
    calibration = dataclasses.replace(MODEST, n=n, wrong=wrong)
    save_calibration(tmp_path / CALIBRATION, calibration)
    content = json.loads((tmp_path / CALIBRATION).read_text(encoding="utf-8"))
    if said is None:
        assert content["reservation"] is None
    else:
        assert content["reservation"].startswith(said)
    assert load_calibration(tmp_path / CALIBRATION) == calibration


def test_evaluation_says_where_its_figures_of_confidence_say_little():
    def result(right):
        return Evaluation(len(right), 1.0, 0.0, (), 0.0, None, (), tuple(right), ())

    assert "says little: all 30 answers are right" in result([True] * 30).to_text()
    assert result([True] * 30).to_dict()["calibration_reservation"].startswith("all 30")
    assert "says little" not in result([True, False] * 30).to_text()
    assert result([True, False] * 30).to_dict()["calibration_reservation"] is None


def qualities_of(calibration: Calibration, n: int, seed: int = 0):
    """Log-probabilities and lengths of sentences whose quality scatters around what the map says.

    Also the qualities.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 30, n)
    log_p = -rng.gamma(3.0, 0.3, n) * (lengths + 1)
    mean = calibration.confidence(log_p, lengths)
    return log_p, lengths, rng.beta(5 * mean, 5 * (1 - mean))


TRANSLATED = Calibration(0.02, 0.0, 1.0, -0.01, 1000, 990, 0.8, "quality")


def test_the_formula_of_a_quality_by_hand():
    logit = 0.02 * -12 + 1.0 - 0.01 * 7 + 0.8 * -12 / 8  # seven tokens and the end symbol
    assert TRANSLATED.confidence(-12.0, 7) == pytest.approx(1 / (1 + math.exp(-logit)))


def test_a_fit_of_qualities_finds_the_map_and_keeps_its_word():
    found = fit(*qualities_of(TRANSLATED, 20_000), "quality")
    assert found.meaning == "quality" and found.mean_slope > 0
    log_p, lengths, quality = qualities_of(TRANSLATED, 2000, seed=1)
    sure = found.confidence(log_p, lengths)
    np.testing.assert_allclose(sure, TRANSLATED.confidence(log_p, lengths), atol=0.03)
    # What the probability itself says has nothing to do with quality.
    assert confidence.expected_calibration_error(sure, quality) < 0.03
    assert confidence.expected_calibration_error(np.exp(log_p), quality) > 0.3


def test_of_being_right_nothing_depends_on_the_mean():
    log_p, lengths, right = answers(MODEST, 500)
    found = fit(log_p, lengths, right)
    assert found.mean_slope == 0.0 and found.meaning == "right"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-60, 0), st.integers(0, 40), st.floats(0, 1)), min_size=1, max_size=40
    )
)
def test_an_expected_quality_never_falls_as_the_log_probability_rises(rows):
    found = fit(*zip(*rows, strict=True), "quality")
    line = found.confidence(np.linspace(-80, 0, 300), np.full(300, 7.0))
    assert np.all(np.diff(line) >= 0) and np.all((line >= 0) & (line <= 1))


def test_a_quality_map_is_kept_and_says_what_it_means(tmp_path):
    save_calibration(tmp_path / CALIBRATION, TRANSLATED)
    assert load_calibration(tmp_path / CALIBRATION) == TRANSLATED
    assert TRANSLATED.reservation is None
    few = dataclasses.replace(TRANSLATED, n=40)
    assert few.reservation.startswith("40 answers are too few")
    content = json.loads((tmp_path / CALIBRATION).read_text(encoding="utf-8"))
    for damaged in ({"meaning": "luck"}, {"mean_slope": math.nan}):
        path = tmp_path / CALIBRATION
        path.write_text(json.dumps(content | damaged), encoding="utf-8")
        with pytest.raises(UserError, match="is damaged"):
            load_calibration(path)


def test_maps_of_different_meaning_have_no_mean():
    assert mean_of([TRANSLATED, MODEST]) is None
    both = mean_of([TRANSLATED, dataclasses.replace(TRANSLATED, mean_slope=0.4)])
    assert both.meaning == "quality" and both.mean_slope == pytest.approx(0.6)


def test_fit_wants_equally_many():
    with pytest.raises(ValueError, match="as many"):
        fit([-1.0], [1, 2], [True])
    with pytest.raises(ValueError, match="at least one"):
        fit([], [], [])


def test_a_file_gives_back_what_was_saved(tmp_path):
    assert load_calibration(tmp_path / "none.json") is None
    save_calibration(tmp_path / "map.json", MODEST)
    assert load_calibration(tmp_path / "map.json") == MODEST


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "log_slope": 1}']
)
def test_a_damaged_file_is_told(tmp_path, content):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(UserError, match="map.json: is damaged"):
        load_calibration(tmp_path / "map.json")


def test_numbers_that_are_none_are_damage(tmp_path):
    save_calibration(tmp_path / "map.json", dataclasses.replace(MODEST, offset=math.nan))
    with pytest.raises(UserError, match="damaged"):
        load_calibration(tmp_path / "map.json")


def test_calibration_error_by_hand():
    # Bin 0.9333–1: mean confidence 0.95, 2 of 3 right; bin 0.2–0.2667: 0.25, 1 of 1 right.
    error = confidence.expected_calibration_error([0.95, 0.95, 0.95, 0.25], [1, 1, 0, 1])
    assert error == pytest.approx(0.75 * abs(0.95 - 2 / 3) + 0.25 * abs(0.25 - 1))
    assert confidence.expected_calibration_error([1.0, 0.0], [True, False]) == 0.0
    with pytest.raises(ValueError, match="at least one"):
        confidence.expected_calibration_error([], [])


def test_auroc_by_hand_and_by_counting():
    assert confidence.auroc([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0]) == 0.75
    assert confidence.auroc([0.5, 0.5], [1, 0]) == 0.5
    assert confidence.auroc([0.5, 0.4], [1, 1]) is None
    rng = np.random.default_rng(0)
    scores, right = rng.integers(0, 9, 60) / 9, rng.random(60) < 0.5
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[right] for b in scores[~right]]
    assert confidence.auroc(scores, right) == pytest.approx(np.mean(pairs))


def test_accuracy_at_coverages_by_hand():
    full, half, one = confidence.accuracy_coverage(
        [0.9, 0.2, 0.8, 0.8], [1, 0, 1, 0], coverages=(1.0, 0.5, 0.25)
    )
    assert dataclasses.astuple(full) == (1.0, 0.2, 0.5, None)
    assert dataclasses.astuple(half) == (0.75, 0.8, pytest.approx(2 / 3), None)  # two equally sure
    assert dataclasses.astuple(one) == (0.25, 0.9, 1.0, None)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A run with a map far from the identity."""
    folder = tmp_path_factory.mktemp("calibrated") / "run"
    shutil.copytree(random_run(0).config.out, folder)
    save_calibration(folder / CALIBRATION, MODEST)
    return folder


@pytest.mark.slow
def test_every_artefact_has_the_confidence_of_the_map(calibrated, tmp_path):
    run = load_run(calibrated)
    assert run.calibration == MODEST
    texts = random_texts(run.source, 20)
    expected = [
        float(MODEST.confidence(t.log_probability, len(t.target_tokens)))
        for t in RunReader.load(random_run(0).config.out).translate_batch(texts)
    ]
    assert max(expected) - min(expected) > 0.2

    ours = [t.confidence for t in Translator.load(calibrated).translate(texts)]
    np.testing.assert_allclose(ours, expected, atol=1e-6)
    module = ServingModule(run, beam_width=3, length_penalty=0.0)
    for name in ("serving_default", "attention", "beam"):
        served = module.signatures()[name](text=tf.constant(texts))
        confidences = served["confidence"].numpy()
        if name == "beam":
            lengths = served["target_length"].numpy()
            scores = served["log_probability"].numpy()
            real = scores > -1e8
            expected_beams = MODEST.confidence(scores[real].astype(float), lengths[real])
            np.testing.assert_allclose(confidences[real], expected_beams, atol=1e-4)
        else:
            np.testing.assert_allclose(confidences, expected, atol=1e-4)
    write_litert(run, tmp_path, "small", 32)
    small = [t.confidence for t in LiteRTReader(tmp_path / "small.tflite").translate_batch(texts)]
    np.testing.assert_allclose(small, expected, atol=1e-4)


def test_without_a_map_the_confidence_is_the_probability():
    [result] = Translator.load(random_run(0).config.out).translate(["abc"])
    assert result.confidence == pytest.approx(math.exp(result.log_probability))
    assert confidence_of(None, -1.0, 5) == pytest.approx(math.exp(-1))


def test_training_fits_a_map_and_evaluate_tells_how_good_it_is(trained, reversal_folder):
    calibration = load_calibration(trained.path / CALIBRATION)
    assert calibration.n == 50
    [result] = Translator.load(trained.path).translate(["abc"])
    expected = calibration.confidence(result.log_probability, len(result.target_tokens))
    assert result.confidence == pytest.approx(expected, abs=1e-6)

    finished = call_verb("evaluate", trained.path, reversal_folder / "test.tsv", "--json")
    figures = json.loads(finished.out)
    assert 0 <= figures["expected_calibration_error"] < 0.2
    assert figures["coverage"][0]["coverage"] == 1.0
    assert figures["coverage"][0]["exact_match"] == figures["exact_match"]
    text = call_verb("evaluate", trained.path, reversal_folder / "test.tsv").out
    assert "expected calibration error (15 bins): 0." in text and "100.0% with confidence" in text


def test_translate_abstains_below_the_least_confidence(trained):
    [result] = Translator.load(trained.path).translate(["abc"])
    below, above = result.confidence - 1e-4, min(result.confidence + 1e-6, 1.0)
    assert call_verb("translate", trained.path, "abc", "--min-confidence", below).out == "cba\n"
    finished = call_verb("translate", trained.path, "abc", "--scores", "--min-confidence", above)
    text, score, shown = finished.out.rstrip("\n").split("\t")
    assert text == "" and float(shown) == pytest.approx(result.confidence, abs=1e-5)
    refused = call_verb("translate", trained.path, "abc", "--min-confidence", "1.5")
    assert refused.status == 2 and refused.err.startswith("error: --min-confidence: must be from 0")
