"""Batches: every pair once, shifted for teacher forcing, little padding, alike when asked again."""

import numpy as np
import pytest

from keras_attention.batching.batches import (
    POSITIONS_PER_BATCH,
    encode_pairs,
    evaluation_batches,
    make_batch,
    training_batches,
)
from keras_attention.pairs.pair import Pair
from keras_attention.text.vocabulary import END, START, UNKNOWN, Vocabulary


def encoded(pairs):
    source = Vocabulary.from_texts((pair[0] for pair in pairs), "char")
    target = Vocabulary.from_texts((pair[1] for pair in pairs), "char")
    return encode_pairs([Pair(*pair) for pair in pairs], source, target), source, target


def some_pairs(n, longest=12, seed=0):
    rng = np.random.default_rng(seed)
    draw = lambda: "".join(rng.choice(list("abcdefg"), rng.integers(1, longest + 1)))  # noqa: E731
    return [(f"{draw()}{number:03d}", draw()) for number in range(n)]


def texts_of(batches, source, target):
    """The pairs that batches spell, in their order."""
    pairs = []
    for batch in batches:
        for source_ids, target_ids in zip(batch.source_ids, batch.target_ids, strict=True):
            end = target_ids.tolist().index(END)
            assert not target_ids[end + 1 :].any()
            pairs.append(
                (
                    source.join(source.tokens_of(source_ids[source_ids != 0])),
                    target.join(target.tokens_of(target_ids[:end])),
                )
            )
    return pairs


def test_a_batch_by_hand():
    pairs, source, target = encoded([("ab", "xyz"), ("b", "y")])
    batch = make_batch(pairs, np.array([1, 0]))
    assert batch.source_ids.tolist() == [[5, 0], [4, 5]]
    assert batch.decoder_ids.tolist() == [[START, 5, 0, 0], [START, 4, 5, 6]]
    assert batch.target_ids.tolist() == [[5, END, 0, 0], [4, 5, 6, END]]
    assert all(part.dtype == np.int32 for part in batch)


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_every_pair_once_in_an_epoch(batch_size):
    pairs = some_pairs(100)
    ids, source, target = encoded(pairs)
    for batches in (
        training_batches(ids, batch_size, unknown_rate=0.0, seed=1, epoch=0),
        evaluation_batches(ids, batch_size),
    ):
        batches = list(batches)
        assert sorted(texts_of(batches, source, target)) == sorted(pairs)
        assert len(batches) == -(-100 // batch_size)
        assert all(len(batch.source_ids) <= batch_size for batch in batches)


def test_the_decoder_reads_what_it_should_have_said():
    ids, _, _ = encoded(some_pairs(50))
    for batch in training_batches(ids, 8, unknown_rate=0.0, seed=1, epoch=0):
        assert (batch.decoder_ids[:, 0] == START).all()
        said = np.where(batch.target_ids == END, 0, batch.target_ids)
        np.testing.assert_array_equal(batch.decoder_ids[:, 1:], said[:, :-1])


def test_seed_and_epoch_fix_the_order():
    ids, source, target = encoded(some_pairs(60))

    def order(seed, epoch):
        batches = training_batches(ids, 8, unknown_rate=0.2, seed=seed, epoch=epoch)
        return [part.tolist() for batch in batches for part in batch]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_pairs_of_one_length_meet_others_in_each_epoch():
    """Batches by length must not be the same batches in every epoch."""
    ids, source, target = encoded([(f"{number:03d}", "x") for number in range(100)])
    groups = []
    for epoch in range(2):
        batches = training_batches(ids, 10, unknown_rate=0.0, seed=0, epoch=epoch)
        groups.append({frozenset(texts_of([batch], source, target)) for batch in batches})
    assert not groups[0] & groups[1]


def test_little_padding():
    pairs = some_pairs(600, longest=30)
    ids, *_ = encoded(pairs)
    padded = sum(b.source_ids.size for b in training_batches(ids, 32, 0.0, seed=0, epoch=0))
    real = sum(len(pair[0]) for pair in pairs)
    assert padded < 1.1 * real


def test_the_share_of_unknown_tokens():
    ids, *_ = encoded([("a" * 100, "b")] * 200)
    batches = list(training_batches(ids, 32, unknown_rate=0.05, seed=0, epoch=0))
    source_ids = np.concatenate([batch.source_ids.ravel() for batch in batches])
    assert abs((source_ids == UNKNOWN).mean() - 0.05) < 0.006  # four standard errors
    for batch in batches:
        assert not (batch.target_ids == UNKNOWN).any()
        assert not (batch.decoder_ids == UNKNOWN).any()


def test_padding_never_becomes_unknown():
    pairs, *_ = encoded([("a", "b"), ("a" * 50, "b")] * 20)
    for batch in training_batches(pairs, 40, unknown_rate=0.9, seed=0, epoch=0):
        lengths = (batch.source_ids != 0).sum(axis=1)
        assert sorted(set(lengths.tolist())) == [1, 50]


def test_a_batch_holds_a_bounded_number_of_positions():
    long = POSITIONS_PER_BATCH // 10
    pairs = [("a" * long, "b")] * 25 + [("a", "b" * (2 * POSITIONS_PER_BATCH))] + [("a", "b")] * 9
    ids, source, target = encoded(pairs)
    batches = list(training_batches(ids, 64, unknown_rate=0.0, seed=0, epoch=0))
    assert sorted(texts_of(batches, source, target)) == sorted(pairs)
    for batch in batches:
        rows = len(batch.source_ids)
        if rows > 1:  # a single pair is never cut
            assert rows * max(batch.source_ids.shape[1], batch.target_ids.shape[1]) <= (
                POSITIONS_PER_BATCH
            )
    assert len(batches) <= 7
