"""All that is known of trusting a model's answers, fitted when its weights are final."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Protocol

from keras_attention.engine.calibration import Calibration
from keras_attention.evaluation.evaluation import Evaluation, evaluate
from keras_attention.evaluation.trust.familiarity_fit import fit_familiarity
from keras_attention.evaluation.trust.guarantee_fit import fit_abstention, fit_sets
from keras_attention.evaluation.trust.token_labels import fit_token_calibration
from keras_attention.pairs.pair import Pair
from keras_attention.readers.translator import Reader, Translator
from keras_attention.text.vocabulary import RaggedIds, Vocabulary

# Below this exact match a model has not learned its task, and there is nothing to promise.
ENOUGH_RIGHT = 0.2
# Training pairs whose n-grams are remembered, at most. How odd an unseen one is, is measured, so
# that forgetting some makes nothing wrong.
MOST_PAIRS = 200_000


class CalibratedReader(Reader, Protocol):
    """A reader whose calibration can be set."""

    calibration: Calibration | None


def fit_trust(
    reader: CalibratedReader,
    chosen: Evaluation,
    parts: tuple[Sequence[Pair], Sequence[Pair]],
    training: Iterable[tuple[RaggedIds, RaggedIds]],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> Calibration:
    """Fits the calibration, and leaves it set on the reader.

    The maps are fitted on the pairs that chose the weights. The promises are made from the others,
    after the maps, so that nothing that they test has seen those pairs.

    Args:
        reader: Of the final weights.
        chosen: What they make of the first part.
        parts: The two of `pairs.splits.set_aside`; the second may be empty.
        training: Token ids of the training pairs, sources and targets, in blocks; the first
            `MOST_PAIRS` are read.
        vocabularies: Of source and target.
    """
    choosing, promising = parts
    calibration = dataclasses.replace(
        chosen.fit_calibration(), tokens=fit_token_calibration(chosen, reader.target_kind)
    )
    reader.calibration = calibration
    if chosen.exact_match < ENOUGH_RIGHT:
        return calibration
    source, target = vocabularies
    familiarity = fit_familiarity(
        _first(training),
        source.encode([pair.source for pair in choosing]),
        target.encode([each.text for each in chosen.translations]),
        [each.log_probability for each in chosen.translations],
    )
    calibration = dataclasses.replace(calibration, familiarity=familiarity)
    reader.calibration = calibration
    if not promising:
        return calibration
    translator = Translator(reader)
    again = translator.translate([pair.source for pair in choosing])
    held = evaluate(translator, promising)
    calibration = dataclasses.replace(
        calibration,
        sets=fit_sets(translator, promising),
        abstention=fit_abstention(again, held.translations, held.right),
    )
    reader.calibration = calibration
    return calibration


def _first(
    training: Iterable[tuple[RaggedIds, RaggedIds]],
) -> list[tuple[RaggedIds, RaggedIds]]:
    blocks, pairs = [], 0
    for block in training:
        blocks.append(block)
        pairs += len(block[0])
        if pairs >= MOST_PAIRS:
            break
    return blocks
