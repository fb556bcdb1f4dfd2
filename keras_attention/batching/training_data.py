"""All that training takes from its pairs, prepared once: numbers, vocabularies, token ids."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import NamedTuple

from keras_attention.batching.batches import EncodedPairs, StreamedPairs, encode_pairs
from keras_attention.batching.survey import Survey, survey
from keras_attention.config import Config
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.pairs.splits import Splits, StreamedSplits
from keras_attention.text.normal_form import NO_FORM, normalise
from keras_attention.text.subword_learning import learn_subwords
from keras_attention.text.vocabulary import Vocabulary


class TrainingData(NamedTuple):
    """What `prepare` makes of training and validation pairs.

    Attributes:
        survey: Of the training pairs, with the vocabularies.
        train: Token ids of the training pairs; streamed pairs are encoded block by block.
        valid: Token ids of the validation pairs.
    """

    survey: Survey
    train: EncodedPairs | StreamedPairs
    valid: EncodedPairs


def prepare(
    splits: Splits | StreamedSplits,
    config: Config,
    known: tuple[Vocabulary, Vocabulary] | None = None,
) -> TrainingData:
    """Surveys the training pairs and encodes both parts.

    Args:
        splits: At least one pair in each part.
        config: Says what a token is, how large a batch is and how many streamed pairs make a block.
        known: The vocabularies of a run that goes on, or that the training starts from: subwords
            are not learned again. With `config.init_from` all their tokens are kept, and the tokens
            of the pairs are added: of a side of subwords the single characters that no piece has.

    Raises:
        UserError: subwords are asked for, and are fewer than the characters that occur, or the
            package that learns them is missing.
    """
    pairs = splits.train
    block_size = config.shuffle_buffer if isinstance(pairs, PairStream) else len(pairs)
    kept = known if config.init_from else None
    found = survey(pairs, config, block_size, _subwords(pairs, config, known), kept)
    train: EncodedPairs | StreamedPairs
    if isinstance(pairs, PairStream):
        train = StreamedPairs(pairs.shuffled, found.source, found.target, block_size)
    else:
        train = encode_pairs(pairs, found.source, found.target)
    return TrainingData(found, train, encode_pairs(splits.valid, found.source, found.target))


def _subwords(
    pairs: Iterable[Pair], config: Config, known: tuple[Vocabulary, Vocabulary] | None
) -> tuple[Vocabulary | None, Vocabulary | None]:
    """The vocabularies of the sides whose tokens are subwords."""
    wanted = [kind == "subword" for kind in (config.source_tokens, config.target_tokens)]
    if known is not None:
        source, target = known
    elif config.joint:
        # Normalised here, since only sources are.
        both = (
            text
            for pair in pairs
            for text in (normalise(pair.source, config.source_form), pair.target)
        )
        target = learn_subwords(both, config.subwords, seed=config.seed)
        source = dataclasses.replace(target, normal_form=config.source_form)
    else:
        return (
            learn_subwords(
                (pair.source for pair in pairs), config.subwords, config.source_form, config.seed
            )
            if wanted[0]
            else None,
            learn_subwords((pair.target for pair in pairs), config.subwords, NO_FORM, config.seed)
            if wanted[1]
            else None,
        )
    return (source if wanted[0] else None), (target if wanted[1] else None)


def resolved(config: Config, found: Survey) -> Config:
    """The config with numbers where the user left them to the data."""
    return dataclasses.replace(
        config,
        epochs=config.epochs_for(found.batches),
        # A quarter more than was seen: room for a longer word, and an end for a loop.
        longest_output=config.longest_output or math.ceil(1.25 * found.longest_target),
    )
