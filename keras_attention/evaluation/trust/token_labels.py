"""Which tokens of an answer are right, as a map from probability to confidence needs to know."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from keras_attention.engine.calibration import Calibration
from keras_attention.evaluation.calibration_fit import fit
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.readers.translation import Translation
from keras_attention.text.tokens import VocabularyKind, split_tokens


def right_tokens(tokens: Sequence[str], reference: str, kind: VocabularyKind) -> tuple[bool, ...]:
    """Whether each token of an answer is kept by the shortest edits into the reference.

    A missing token is nobody's mistake: it makes none of the others wrong.

    Args:
        tokens: Of the answer.
        reference: The right answer.
        kind: What the tokens are. A subword is right if all its characters are.
    """
    if kind == "subword":
        kept = _kept("".join(tokens), " " + " ".join(split_tokens(reference, "word")))
        ends = [0]
        for token in tokens:
            ends.append(ends[-1] + len(token))
        return tuple(all(kept[a:b]) for a, b in zip(ends, ends[1:], strict=False))
    return tuple(_kept(tokens, split_tokens(reference, kind)))


def _kept(tokens: Sequence, expected: Sequence) -> list[bool]:
    kept = [False] * len(tokens)
    for step in Levenshtein.opcodes(tokens, expected):
        if step.tag == "equal":
            kept[step.src_start : step.src_end] = [True] * (step.src_end - step.src_start)
    return kept


def token_scores(
    translation: Translation, reference: str, kind: VocabularyKind
) -> tuple[list[float], tuple[bool, ...]]:
    """Log-probabilities of an answer's tokens, and whether each is right."""
    given = translation.token_log_probability
    return (
        [] if given is None else [float(score) for score in given],
        right_tokens(translation.target_tokens, reference, kind),
    )


def fit_token_calibration(evaluation: Evaluation, kind: VocabularyKind) -> Calibration | None:
    """The map from a token's log-probability to its confidence; None where no token was given.

    Args:
        evaluation: Of the pairs to fit on.
        kind: What target tokens are.
    """
    scores: list[float] = []
    lengths: list[int] = []
    right: list[bool] = []
    for translation, reference in zip(evaluation.translations, evaluation.nearest, strict=True):
        token_log_probability, labels = token_scores(translation, reference, kind)
        scores += token_log_probability
        right += labels
        lengths += [len(labels)] * len(labels)
    return fit(scores, lengths, right) if scores else None
