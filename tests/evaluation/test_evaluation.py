"""Evaluation of strings against strings, with a translator that says what it is told."""

import numpy as np
import pytest

from keras_attention.evaluation.evaluation import evaluate
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translation import Translation


class Scripted:
    """Answers from a dictionary; the target kind decides what a token is."""

    def __init__(self, answers: dict, target_kind: str = "char", confidence_means: str = "right"):
        self.answers = answers
        self.target_kind = target_kind
        self.confidence_means = confidence_means
        self.beam_widths = []

    def translate(self, texts, beam_width=1, length_penalty=None, progress=None):
        self.beam_widths.append(beam_width)
        return [self._translation(text, *self.answers[text]) for text in texts]

    def _translation(self, source, text, confidence):
        tokens = tuple(text.split()) if self.target_kind == "word" else tuple(text)
        return Translation(text, float(np.log(confidence)), confidence, tuple(source), tokens, None)


def test_figures_by_hand():
    translator = Scripted({"a": ("xy", 0.9), "bb": ("xx", 0.6), "ccc": ("", 0.2)})
    pairs = [Pair("a", "xy"), Pair("bb", "xy"), Pair("ccc", "xy")]
    result = evaluate(translator, pairs)
    assert result.n == 3
    assert result.exact_match == pytest.approx(1 / 3)
    assert result.token_error_rate == pytest.approx(3 / 6)
    assert result.summary() == {
        "exact_match": result.exact_match,
        "token_error_rate": result.token_error_rate,
        "n": 3,
    }
    assert [translation.text for translation in result.translations] == ["xy", "xx", ""]


def test_one_of_several_targets_is_right_by_hand():
    """30 sources with two answers each: every model can be right on all of them."""
    pairs = [Pair(f"s{i}", target) for i in range(30) for target in ("xy", "zw")]
    result = evaluate(Scripted({f"s{i}": ("xy", 0.9) for i in range(30)}), pairs)
    assert result.exact_match == 1.0 and all(result.right)
    assert result.token_error_rate == 0.0
    assert (result.own_target_match, result.own_target_ceiling) == (0.5, 0.5)
    assert result.sources_with_several == 30
    assert "30 sources have several targets" in result.to_text()
    assert "own in 0.5000, which for any model is at most 0.5000" in result.to_text()
    assert result.to_dict()["own_target_ceiling"] == 0.5
    # A wrong answer has its errors counted from the nearest target: 1 edit of 2 tokens.
    wrong = evaluate(Scripted({"s0": ("zx", 0.9)}), pairs[:2])
    assert (wrong.exact_match, wrong.token_error_rate) == (0.0, 0.5)
    # With one target each nothing is said, and the figures are those of the lines.
    single = evaluate(Scripted({"a": ("x", 0.9)}), [Pair("a", "x"), Pair("a", "x")])
    assert (single.sources_with_several, single.own_target_match) == (0, 1.0)
    assert "several targets" not in single.to_text()


def test_words_are_counted_where_targets_are_words():
    pairs = [Pair("a", "the owl sat")]
    assert evaluate(Scripted({"a": ("the cat sat", 0.5)}, "word"), pairs).token_error_rate == (
        pytest.approx(1 / 3)
    )


def test_a_trailing_space_is_a_difference():
    assert evaluate(Scripted({"a": ("x ", 0.5)}), [Pair("a", "x")]).exact_match == 0


def test_slices_part_all_pairs_by_source_length():
    lengths = [1, 5, 6, 10, 11, 60, 61, 500]
    translator = Scripted({"s" * n: ("x", 0.5) for n in lengths})
    pairs = [Pair("s" * n, "x" if n != 6 else "y") for n in lengths]
    slices = evaluate(translator, pairs).by_length
    assert sum(part.n for part in slices) == len(lengths)
    assert [length for part in slices for length in (part.shortest, part.longest)] == sorted(
        length for part in slices for length in (part.shortest, part.longest)
    )
    assert (slices[0].shortest, slices[0].longest, slices[0].n) == (1, 5, 2)
    assert (slices[1].n, slices[1].exact_match) == (2, 0.5)
    assert (slices[-1].shortest, slices[-1].longest) == (500, 500)
    assert sum(part.n * part.exact_match for part in slices) == pytest.approx(7)


def test_the_beam_width_is_handed_on():
    translator = Scripted({"a": ("x", 0.5)})
    evaluate(translator, [Pair("a", "x")], 7)
    assert translator.beam_widths == [7]


def test_nothing_to_evaluate_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        evaluate(Scripted({}), [])


def test_quality_is_what_confidence_is_compared_with_where_it_means_that():
    """Three answers: perfect, half right, nothing in common; the surest is the best."""
    script = {"a": ("the cat", 0.9), "b": ("the dog", 0.6), "c": ("zzz", 0.1)}
    pairs = [Pair("a", "the cat"), Pair("b", "the cat"), Pair("c", "the cat")]
    result = evaluate(Scripted(script, confidence_means="quality"), pairs)
    perfect, half, nothing = result.qualities
    assert perfect == 1.0 and 0.1 < half < 0.9 and nothing == 0.0
    assert result.rank_correlation == pytest.approx(1.0)
    # Each in a bin of its own: the mean of the three distances.
    gaps = [1 - 0.9, abs(half - 0.6), 0.1]
    assert result.calibration_error == pytest.approx(sum(gaps) / 3)
    everything, *_, surest = result.coverage
    assert everything.quality == pytest.approx((1 + half) / 3)
    assert surest.quality == pytest.approx((1 + half) / 2)  # half of three, rounded to two
    text = result.to_text()
    assert "confidence: the chrF to expect of the answer" in text and "AUROC" not in text
    assert f"{(1 + half) / 3:.4f}, risk {1 - (1 + half) / 3:.4f}" in text
    assert result.to_dict()["rank_correlation"] == pytest.approx(1.0)
    assert result.summary(sentences=True).keys() - result.summary().keys() == {"bleu", "chrf"}
    plain = evaluate(Scripted(script), pairs)
    assert plain.qualities == () and plain.coverage[0].quality is None
    assert "AUROC" in plain.to_text() and plain.rank_correlation is None
