"""From a log-probability to a confidence that keeps its word, fitted on validation data.

A model's own probability of its answer is a bad guess of how often it is right: label smoothing
makes it too modest, memorised training data too sure. The map is the beta calibration of Kull,
Silva Filho and Flach (2017) with one more term for the length of the answer:

    logit(confidence) = a log p - b log(1 - p) + c + d length + e log p / tokens,    a, b, e >= 0

a = b = 1, c = d = e = 0 leaves the probability as it is, and is what a fit falls back to where the
data say nothing, as on a task with hardly an error to learn from.

What the confidence is of, `MEANINGS` says. Hardly any translated sentence equals its reference to
the last character, so there it is the quality to expect; e, of the mean over the tokens and the end
symbol, is for these alone.

Beside it lies what else is known of trusting answers: the same map for single tokens, a factor for
sources unlike those of training, and what can be promised.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Literal

import numpy as np

from keras_attention._runtime.files import write_text
from keras_attention.engine.familiarity import Familiarity, familiarity_of
from keras_attention.engine.guarantees import Abstention, CandidateSets
from keras_attention.errors import UserError

# Added to 1 - p: float32 knows no smaller differences of log-probabilities near 0 for sure, and
# the confidences of all artefacts must agree.
LEAST_DOUBT = 1e-3
# A logit further out changes nothing, and its exponential would overflow.
LARGEST_LOGIT = 30.0
IDENTITY = np.array([1.0, 1.0, 0.0, 0.0, 0.0])

Meaning = Literal["right", "quality"]
MEANINGS: dict[Meaning, str] = {
    "right": "the probability that the answer is right to the last character",
    "quality": "the chrF to expect of the answer, compared with a reference, from 0 to 1",
}

# With fewer answers of either kind, right or wrong, a fit says next to nothing of that kind.
LEAST_OF_A_KIND = 10
LEAST_OF_QUALITY = 100  # answers, whose quality is seldom 0 or 1

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Calibration:
    """A fitted map; it never falls as the log-probability rises.

    Attributes:
        log_slope, doubt_slope, offset, length_slope: a, b, c and d above.
        n: Answers that it was fitted on.
        wrong: How many of them were wrong.
        mean_slope: e above.
        meaning: What the confidence is, a key of `MEANINGS`.
        tokens: The map for a single token of an answer, from the token's log-probability; `length`
            is that of the answer. None in a run from before version 0.2.
        familiarity: A factor for sources unlike those of training; None where there were too few
            pairs to fit it on.
        sets: Promises of sets of answers, by rising width of the beam.
        abstention: The promise of rare errors; None where there were too few pairs.

    Raises:
        ValueError: there is no such meaning.
    """

    log_slope: float
    doubt_slope: float
    offset: float
    length_slope: float
    n: int
    wrong: int
    mean_slope: float = 0.0
    meaning: Meaning = "right"
    tokens: Calibration | None = None
    familiarity: Familiarity | None = None
    sets: tuple[CandidateSets, ...] = ()
    abstention: Abstention | None = None

    def __post_init__(self):
        if self.meaning not in MEANINGS:
            raise ValueError(
                f"meaning must be one of {', '.join(MEANINGS)}. Received: meaning={self.meaning!r}"
            )

    @property
    def slopes(self) -> tuple[float, ...]:
        """a, b, c, d and e."""
        return (
            *(self.log_slope, self.doubt_slope, self.offset),
            *(self.length_slope, self.mean_slope),
        )

    @property
    def reservation(self) -> str | None:
        """Why its confidences should not be relied on; None where nothing speaks against it."""
        return reservation(self.n, self.wrong, self.meaning)

    def confidence(self, log_probability, length, ops=np):
        """What `MEANINGS` says, of each answer.

        Args:
            log_probability: float array or tensor of any shape, at most 0.
            length: Tokens of each answer, of the same shape and dtype.
            ops: `numpy`, or `tf.math` in a graph.

        Returns:
            Of the same shape and dtype, in [0, 1].
        """
        doubt = 1.0 + LEAST_DOUBT - ops.exp(ops.minimum(log_probability, 0.0))
        logit = self.log_slope * log_probability - self.doubt_slope * ops.log(doubt)
        logit = logit + (self.offset + self.length_slope * length)
        if self.mean_slope:
            logit = logit + self.mean_slope * (log_probability / (length + 1.0))
        logit = ops.maximum(ops.minimum(logit, LARGEST_LOGIT), -LARGEST_LOGIT)
        return 1.0 / (1.0 + ops.exp(-logit))


def reservation(n: int, wrong: int, meaning: Meaning = "right") -> str | None:
    """What `n` answers of which `wrong` are wrong cannot say of confidence; None if they can.

    A line without a full stop.
    """
    if meaning == "quality":
        if n >= LEAST_OF_QUALITY:
            return None
        return f"{n} answers are too few to tell what quality goes with a confidence"
    right = n - wrong
    if min(right, wrong) >= LEAST_OF_A_KIND:
        return None
    if n < 2 * LEAST_OF_A_KIND:
        return f"{n} answers are too few to tell how often a confidence is right"
    kind, other = ("wrong", "right") if wrong < right else ("right", "wrong")
    if min(right, wrong) == 0:
        return (
            f"all {n} answers are {other}, so nothing is known of confidence in {kind} answers; "
            "take more and harder pairs"
        )
    return (
        f"only {min(right, wrong)} of {n} answers are {kind}, so little is known of confidence "
        f"in {kind} answers; take more and harder pairs"
    )


def confidence_of(calibration: Calibration | None, log_probability, length, ops=np):
    """`Calibration.confidence`; without a map the probability itself."""
    if calibration is None:
        return ops.exp(log_probability)
    return calibration.confidence(log_probability, length, ops)


def token_confidence_of(calibration: Calibration | None, token_log_probability, lengths, ops=np):
    """The probability that each token is right; without a map for tokens its own probability.

    Args:
        calibration: Of the answers.
        token_log_probability: float `(..., T)`.
        lengths: Tokens of each answer, of the shape `(..., 1)` and the same dtype.
        ops: `numpy`, or `tf.math` in a graph.
    """
    if calibration is None or calibration.tokens is None:
        return ops.exp(token_log_probability)
    return calibration.tokens.confidence(token_log_probability, lengths, ops)


def mean_of(calibrations: Sequence[Calibration | None]) -> Calibration | None:
    """A map for an ensemble from its members' maps.

    None where one of them has none, or where they mean different things. Familiarity is the first
    member's. Promises do not carry over: none was tried on the ensemble.
    """
    maps = [calibration for calibration in calibrations if calibration is not None]
    if len(maps) < len(calibrations) or len({each.meaning for each in maps}) != 1:
        return None
    first = maps[0]
    a, b, c, d, e = np.mean([each.slopes for each in maps], axis=0).tolist()
    tokens = mean_of([each.tokens for each in maps])
    return Calibration(
        *(a, b, c, d, first.n, first.wrong, e, first.meaning), tokens, first.familiarity
    )


def meaning_of(calibration: Calibration | None) -> Meaning:
    """What a confidence is; without a map the model's own probability of its answer."""
    return "right" if calibration is None else calibration.meaning


def calibration_to_dict(calibration: Calibration) -> dict:
    """As JSON holds it."""
    return dataclasses.asdict(calibration)


def calibration_from_dict(content: dict) -> Calibration:
    """From what `calibration_to_dict` made.

    Raises:
        TypeError, ValueError, KeyError: it was not that.
    """
    fields = dict(content)
    tokens, familiarity = fields.pop("tokens", None), fields.pop("familiarity", None)
    sets, abstention = fields.pop("sets", ()), fields.pop("abstention", None)
    calibration = Calibration(
        **fields,
        tokens=tokens and calibration_from_dict(tokens),
        familiarity=familiarity and familiarity_of(familiarity),
        sets=tuple(
            CandidateSets(each["beam_width"], tuple(each["scores"]), each["unlisted"])
            for each in sets
        ),
        abstention=abstention
        and Abstention(
            abstention["n"],
            *(tuple(abstention[name]) for name in ("thresholds", "answered", "wrong")),
        ),
    )
    if not all(map(np.isfinite, (*calibration.slopes, calibration.n, calibration.wrong))):
        raise ValueError("a number that is not finite")
    return calibration


def save_calibration(path: str | pathlib.Path, calibration: Calibration) -> None:
    """Writes a map as JSON."""
    content = {"format": _FORMAT} | calibration_to_dict(calibration)
    content["reservation"] = calibration.reservation
    write_text(pathlib.Path(path), json.dumps(content, indent=1) + "\n")


def load_calibration(path: str | pathlib.Path) -> Calibration | None:
    """The map in a file; None where there is no file, as in a run from before maps existed.

    Raises:
        UserError: the file is damaged, or of another format.
    """
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if content.pop("format") != _FORMAT:
            raise ValueError
        content.pop("reservation", None)  # follows from the others; older files have none
        return calibration_from_dict(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path}: is damaged; copy the run folder again, or train again") from None
