"""BLEU and chrF of translations, as sacrebleu computes them, with its signature.

BLEU (Papineni et al., 2002) counts the word n-grams of an answer that its reference has, chrF
(Popović, 2015) those of characters; both are from 0 to 100. The signature (Post, 2018) states
everything that a figure depends on, so that figures of two papers can be compared.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
from collections.abc import Iterator, Sequence

METRICS = ("bleu", "chrf")
BOOTSTRAP_SAMPLES = 1000


def score(metric: str, outputs: Sequence[str], references: Sequence[str]) -> float:
    """BLEU or chrF of all outputs together, from 0 to 100.

    Args:
        metric: "bleu", cut by the rules of the WMT's script `mteval-v13a`, case counted, or "chrf",
            of up to six characters.
        outputs: What a model answered.
        references: One for each output.

    Raises:
        ValueError: the two differ in number, there are none, or there is no such metric.
    """
    if len(outputs) != len(references) or not references:
        raise ValueError(
            "outputs and references must be as many, and at least one. "
            f"Received: len(outputs)={len(outputs)}, len(references)={len(references)}"
        )
    return float(_metric(metric).corpus_score(list(outputs), [list(references)]).score)


@functools.cache
def _metric(name: str):
    import sacrebleu  # a command that shows none of these figures does without

    if name == "bleu":
        # It warns of outputs that look tokenised, on standard error; they are the user's own form.
        return sacrebleu.BLEU(tokenize="13a", force=True)
    if name == "chrf":
        return sacrebleu.CHRF()
    raise ValueError(f"metric must be one of {', '.join(METRICS)}. Received: metric={name!r}")


@dataclasses.dataclass(frozen=True)
class Quality:
    """BLEU or chrF of one model, beside that of another.

    Attributes:
        score: Of all outputs together, 0 to 100.
        low, high: Interval of 95 %, by 1,000 bootstrap samples.
        signature: What the figure depends on.
        other: The other model's score; None without one.
        p_value: By paired bootstrap (Koehn, 2004): how often chance alone would set the two as far
            apart; None without another model.
    """

    score: float
    low: float
    high: float
    signature: str
    other: float | None = None
    p_value: float | None = None


def quality(
    metric: str,
    outputs: Sequence[str],
    references: Sequence[str],
    others: Sequence[str] | None = None,
) -> Quality:
    """BLEU or chrF with its interval, compared with another model where `others` are given.

    Args:
        metric, outputs, references: As for `score`.
        others: The other model's outputs, as many.

    Raises:
        ValueError: as `score`; or the others differ in number.
    """
    score(metric, references if others is None else others, references)  # which checks
    score(metric, outputs, references)
    from sacrebleu.significance import PairedTest

    systems = [("other", list(others)), ("own", list(outputs))] if others is not None else []
    test = PairedTest(
        systems or [("own", list(outputs))],
        {metric: _metric(metric)},
        [list(references)],
        test_type="bs",
        n_samples=BOOTSTRAP_SAMPLES,
    )
    with _quiet_sacrebleu():
        signatures, results = test()
    (name,) = signatures
    *before, own = results[name]
    other = float(before[0].score) if before else None
    # Of scores that are equal sacrebleu counts no sample as far apart, and so says they differ.
    p_value = 1.0 if other == own.score else own.p_value
    return Quality(
        float(own.score),
        float(own.mean - own.ci),
        float(own.mean + own.ci),
        str(signatures[name]),
        other,
        p_value if p_value is None else float(p_value),
    )


@contextlib.contextmanager
def _quiet_sacrebleu() -> Iterator[None]:
    """Without the lines in which it tells of its progress."""
    log = logging.getLogger("sacrebleu")
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(level)
