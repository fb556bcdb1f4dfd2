"""What training must know of its pairs before the first step, from one pass over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from keras_attention.batching.batches import in_blocks, rows_by_length
from keras_attention.config import Config
from keras_attention.pairs.fingerprint import Fingerprint
from keras_attention.pairs.pair import Pair
from keras_attention.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class Survey:
    """What `survey` found.

    Attributes:
        source, target: The vocabularies: every token that occurs.
        pairs: How many there are.
        longest_target: Tokens of the longest target.
        batches: Batches of one epoch. Where there are several blocks, an epoch puts other pairs
            into them and may have a few batches more or fewer.
        fingerprint: As `data.fingerprint` of all pairs.
    """

    source: Vocabulary
    target: Vocabulary
    pairs: int
    longest_target: int
    batches: int
    fingerprint: str


def survey(
    pairs: Iterable[Pair],
    config: Config,
    block_size: int,
    learned: tuple[Vocabulary | None, Vocabulary | None] = (None, None),
    kept: tuple[Vocabulary, Vocabulary] | None = None,
) -> Survey:
    """Reads all pairs once, a block at a time.

    Args:
        pairs: At least one.
        config: Says what a token is and how large a batch is.
        block_size: Pairs that are batched together, see `input_pipeline.training_batches`.
        learned: The vocabularies of the sides whose tokens are subwords. They stay as they are,
            unless `kept` is given: then characters that no piece has become pieces.
        kept: Vocabularies whose tokens are known as well, whether they occur or not.
    """
    cut = (
        learned[0] or Vocabulary(config.source_tokens, (), config.source_form),
        learned[1] or Vocabulary(config.target_tokens, ()),
    )
    tokens: tuple[set[str], set[str]] = set(), set()
    digest = Fingerprint()
    count = batches = longest = 0
    for block in in_blocks(pairs, block_size):
        digest.update(block)
        lengths: tuple[list[int], list[int]] = ([], [])
        for pair in block:
            for side, text in enumerate((pair.source, pair.target)):
                split = cut[side].split(text)
                tokens[side].update(split)
                lengths[side].append(len(split))
        count += len(block)
        longest = max(longest, *lengths[1])
        order = np.arange(len(block))
        sources, targets = map(np.array, lengths)
        batches += len(rows_by_length(sources, targets, config.batch_size, order))
    source, target = (
        before
        if before is not None and kept is None
        else dataclasses.replace(side, tokens=tuple(sorted(found | known)))
        for before, side, found, known in zip(learned, cut, tokens, _tokens_of(kept), strict=True)
    )
    return Survey(source, target, count, longest, batches, digest.hexdigest())


def _tokens_of(kept: tuple[Vocabulary, Vocabulary] | None) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(side.tokens) for side in kept) if kept else (frozenset(), frozenset())
