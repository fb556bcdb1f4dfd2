"""N-best lists, sets and abstaining, of a reader whose answers are known."""

import pytest

from keras_attention.engine.calibration import Calibration
from keras_attention.engine.guarantees import Abstention, CandidateSets
from keras_attention.errors import UserError
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator


class Known:
    """Answers every text with the letters a, b, c, ..., each a factor e less likely."""

    has_attention = False
    source_kind = target_kind = "char"
    batches_at_once = 1

    def __init__(self, calibration=None, only=None):
        self.calibration = calibration
        if only is not None:
            self.only_beam_width = only

    def translate_batch(self, texts, beam_width, length_penalty):
        self.asked = beam_width, length_penalty
        return [self._answer(beam_width) for _ in texts]

    def _answer(self, beam_width):
        best, *others = (
            Translation("abcdefgh"[place], -1.0 - place, 0.5, (), (), None)
            for place in range(beam_width)
        )
        return Translation(**{**vars(best), "alternatives": tuple(others)})


# 19 right answers: 17 above -2.5, one at -3.5, and in the wide beam one at -5.5.
SETS = (
    CandidateSets(3, (-3.5, *[-1.0] * 17), 1),
    CandidateSets(6, (-5.5, -3.5, *[-1.0] * 17), 0),
)
CALIBRATION = Calibration(
    *(1.0, 1.0, 0.0, 0.0),
    n=19,
    wrong=1,
    sets=SETS,
    abstention=Abstention(600, (0.9, 0.4), (300, 600), (0, 60)),
)


def answer_of(reader, **options):
    return Translator(reader).translate(["x"], **options)[0]


def test_n_best_is_a_beam_as_wide():
    reader = Known()
    found = answer_of(reader, n_best=3)
    assert [each.text for each in found.hypotheses] == ["a", "b", "c"]
    assert len(answer_of(reader, n_best=2, beam_width=5).hypotheses) == 2
    assert reader.asked == (5, None)
    assert answer_of(reader, n_best=1).alternatives == ()


def test_an_export_searches_with_its_own_beam():
    reader = Known(only=5)
    assert len(answer_of(reader, n_best=2).hypotheses) == 2
    assert reader.asked == (5, None)
    with pytest.raises(UserError, match="--n-best: this export's beam holds 5"):
        answer_of(reader, n_best=6)
    with pytest.raises(UserError, match="decodes greedily"):
        answer_of(Known(only=1), n_best=2)


def test_a_set_is_of_the_narrowest_beam_that_reaches_the_coverage():
    reader = Known(CALIBRATION)
    # Above 1 - 0.85 are p-values from 4/20 on: what scores at least -1.0.
    narrow = answer_of(reader, coverage=0.85).answer_set
    assert (narrow.texts, narrow.promised) == (("a",), 0.85)
    assert reader.asked == (3, 0.0)
    # 0.95 leaves no room for the unlisted one of the narrow beam; the wide one is held to -3.5.
    wide = answer_of(reader, coverage=0.9).answer_set
    assert wide.texts == ("a", "b", "c")
    assert reader.asked == (3, 0.0)
    wide = answer_of(reader, coverage=0.94).answer_set
    assert (wide.texts, wide.promised) == (("a", "b", "c", "d", "e"), 0.94)
    assert reader.asked == (6, 0.0)


def test_a_set_says_what_it_can_promise_at_most():
    found = answer_of(Known(CALIBRATION, only=3), coverage=0.94).answer_set
    assert found.texts == ("a", "b", "c")
    assert found.promised == pytest.approx(0.9)
    assert found.coverage == 0.94


@pytest.mark.parametrize("coverage", [0, 1, -0.1, float("nan"), 2.0])
def test_a_coverage_is_a_share(coverage):
    with pytest.raises(UserError, match="--coverage: must be above 0 and below 1"):
        answer_of(Known(CALIBRATION), coverage=coverage)


@pytest.mark.parametrize(
    ("reader", "options", "message"),
    [
        (Known(), {}, "nothing was set aside"),
        (Known(CALIBRATION, only=1), {}, "decodes greedily"),
        (Known(CALIBRATION, only=4), {}, "beams of 3 or 6"),
        (Known(CALIBRATION), {"beam_width": 5}, "leave out --beam-width"),
        (Known(CALIBRATION), {"n_best": 2}, "leave out"),
    ],
)
def test_where_no_set_can_be_promised_a_line_says_why(reader, options, message):
    with pytest.raises(UserError, match=message):
        answer_of(reader, coverage=0.9, **options)


def test_errors_among_those_answered():
    assert Translator(Known(CALIBRATION)).confidence_for(0.01) == 0.9
    with pytest.raises(UserError, match="0.001 cannot be promised from 600 pairs"):
        Translator(Known(CALIBRATION)).confidence_for(0.001)
    with pytest.raises(UserError, match="nothing was set aside"):
        Translator(Known()).confidence_for(0.01)
