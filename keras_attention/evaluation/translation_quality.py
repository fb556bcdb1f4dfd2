"""BLEU and chrF of translations, as sacrebleu computes them, with its signature.

BLEU (Papineni et al., 2002) counts the word n-grams of an answer that its reference has, chrF
(Popović, 2015) those of characters; both are from 0 to 100. The signature (Post, 2018) states
everything that a figure depends on, so that figures of two papers can be compared.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

METRICS = ("bleu", "chrf")


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
