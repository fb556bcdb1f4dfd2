"""All that training takes from its pairs, prepared once: numbers, vocabularies, token ids."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from keras_attention.batching.batches import EncodedPairs, StreamedPairs, encode_pairs
from keras_attention.batching.survey import Survey, survey
from keras_attention.config import Config
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.pairs.splits import Splits, StreamedSplits


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


def prepare(splits: Splits | StreamedSplits, config: Config) -> TrainingData:
    """Surveys the training pairs and encodes both parts.

    Args:
        splits: At least one pair in each part.
        config: Says what a token is, how large a batch is and how many streamed pairs make a block.
    """
    pairs = splits.train
    block_size = config.shuffle_buffer if isinstance(pairs, PairStream) else len(pairs)
    found = survey(pairs, config, block_size)
    train: EncodedPairs | StreamedPairs
    if isinstance(pairs, PairStream):
        train = StreamedPairs(pairs.shuffled, found.source, found.target, block_size)
    else:
        train = encode_pairs(pairs, found.source, found.target)
    return TrainingData(found, train, encode_pairs(splits.valid, found.source, found.target))


def resolved(config: Config, found: Survey) -> Config:
    """The config with numbers where the user left them to the data."""
    return dataclasses.replace(
        config,
        epochs=config.epochs_for(found.batches),
        # A quarter more than was seen: room for a longer word, and an end for a loop.
        longest_output=config.longest_output or math.ceil(1.25 * found.longest_target),
    )
