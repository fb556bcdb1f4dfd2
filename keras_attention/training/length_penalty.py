"""How a beam search is to weigh length, chosen on the validation pairs.

The likeliest sentence is often too short (Koehn and Knowles, 2017), since each further token lowers
the probability. How much that has to be made up for is of the model and its data.
"""

from __future__ import annotations

from collections.abc import Sequence

from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.evaluation.sentences import are_sentences
from keras_attention.evaluation.translation_quality import score
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translator import Translator

PENALTIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
BEAM_WIDTH = 5  # what an export has by default
PAIRS = 500  # at most: all six searches take about as long as an epoch


def choose_length_penalty(
    translator: Translator, pairs: Sequence[Pair], valid: Evaluation
) -> float | None:
    """The penalty, see `decoding.beam_search`, with the best BLEU of a beam of `BEAM_WIDTH`.

    Args:
        translator: Of the trained model.
        pairs: The validation pairs, of which the first `PAIRS` are translated.
        valid: What the model makes of all of them, greedily.

    Returns:
        Of equally good ones the smallest; None where answers are no sentences, so that the
        likeliest answer is wanted: many are right to the last character, or most are short.
    """
    if not are_sentences(pairs, valid.exact_match):
        return None
    chosen = pairs[:PAIRS]
    sources, references = [pair.source for pair in chosen], [pair.target for pair in chosen]

    def bleu(penalty: float) -> float:
        found = translator.translate(sources, BEAM_WIDTH, penalty)
        return score("bleu", [each.text for each in found], references)

    return max(PENALTIES, key=bleu)  # of equal ones the first
