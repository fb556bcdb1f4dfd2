"""Training pairs that stay in their files: each once an epoch, in little memory, repeatably."""

import gzip
import itertools

import numpy as np
import pytest

from keras_attention.batching.batches import StreamedPairs, encode_pairs, training_batches
from keras_attention.batching.survey import survey
from keras_attention.checks.check import check_data
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CHECKPOINT
from keras_attention.pairs.fingerprint import fingerprint
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.pairs.splits import load_splits, open_splits, split_files
from keras_attention.text.vocabulary import Vocabulary
from tests.support.commands import call_train
from tests.support.tasks import reversal_splits, write_splits

PAIRS = [Pair("s" * (1 + index % 7) + str(index), f"t{index}") for index in range(100)]
VOCABULARIES = [Vocabulary.from_texts([pair[side] for pair in PAIRS], "char") for side in range(2)]
TINY = ("--units", "8", "--embedding-size", "4", "--epochs", "3", "--batch-size", "32")


@pytest.fixture
def shards(tmp_path):
    """The pairs in three files: one odd but allowed, one gzip, one plain."""
    odd = b"\xef\xbb\xbf" + b"".join(f"{p.source}\t{p.target}\r\n\n".encode() for p in PAIRS[:40])
    (tmp_path / "train-0.tsv").write_bytes(odd)
    write_pairs(tmp_path / "train-1.tsv.gz", PAIRS[40:60])
    write_pairs(tmp_path / "train-2.tsv", PAIRS[60:])
    return split_files(tmp_path, "train")


def batched_sources(pairs, seed=0, epoch=0, batch_size=8):
    """Source ids of an epoch's batches, row by row."""
    batches = training_batches(pairs, batch_size, 0.0, seed, epoch)
    return [tuple(row[row > 0]) for batch in batches for row in batch.source_ids]


def streamed(block_size, shuffled=None):
    return StreamedPairs(shuffled or (lambda rng: iter(PAIRS)), *VOCABULARIES, block_size)


@pytest.mark.parametrize("segment_lines", [1, 2, 3, 7, 1000])
def test_a_stream_has_the_pairs_of_its_files(shards, segment_lines):
    stream = PairStream(shards, segment_lines=segment_lines)
    assert list(stream) == PAIRS == list(stream)
    orders = [list(stream.shuffled(np.random.default_rng(seed))) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert all(sorted(order) == sorted(PAIRS) for order in orders)
    if segment_lines < 1000:
        assert orders[0] != orders[2]


def test_an_error_names_the_line_wherever_reading_began(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("a\tb\n" * 50 + "a\n" + "a\tb\n" * 10)
    for seed in range(5):
        with pytest.raises(UserError, match=r"train\.tsv:51: "):
            list(PairStream([path], segment_lines=3).shuffled(np.random.default_rng(seed)))


def test_shards_of_a_part(tmp_path, shards):
    assert [path.name for path in shards] == ["train-0.tsv", "train-1.tsv.gz", "train-2.tsv"]
    (tmp_path / "train-1.tsv").touch()
    with pytest.raises(UserError, match=r"holds train-1\.tsv twice"):
        split_files(tmp_path, "train")
    (tmp_path / "train-1.tsv").rename(tmp_path / "train.tsv")
    with pytest.raises(UserError, match=r"holds train\.tsv and also train-0\.tsv"):
        split_files(tmp_path, "train")


def test_few_pairs_come_into_memory_and_more_do_not(tmp_path, shards):
    for name in ("valid", "test"):
        write_pairs(tmp_path / f"{name}.tsv", PAIRS[:3])
    (tmp_path / "train-3.tsv").touch()  # as a program writes that has nothing for a shard
    assert open_splits(tmp_path, 0, in_memory=100) == load_splits(tmp_path, 0)
    large = open_splits(tmp_path, 0, in_memory=99)
    assert isinstance(large.train, PairStream) and list(large.train) == PAIRS
    assert large[1:] == load_splits(tmp_path, 0)[1:]


def test_no_training_pairs_at_all(tmp_path):
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").touch()
    with pytest.raises(UserError, match=r"train\.tsv: is empty"):
        open_splits(tmp_path, 0)


@pytest.mark.parametrize("block_size", [1, 7, 50, 1000])
def test_every_pair_comes_once_an_epoch(block_size):
    pairs = streamed(block_size)
    ids = encode_pairs(PAIRS, *VOCABULARIES).source
    expected = sorted(tuple(row[row > 0]) for row in ids.padded(np.arange(100)))
    assert sorted(batched_sources(pairs)) == expected


def test_an_epoch_depends_on_seed_and_epoch_alone(shards):
    def order(seed, epoch):
        shuffled = PairStream(shards, segment_lines=4).shuffled
        return batched_sources(streamed(30, shuffled), seed, epoch)

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4


def test_pairs_in_memory_are_the_case_of_one_block():
    one = streamed(1000)
    (block,) = one.blocks(np.random.default_rng(0))
    for epoch in range(2):
        streaming = training_batches(one, 8, 0.3, seed=5, epoch=epoch)
        in_memory = training_batches(block, 8, 0.3, seed=5, epoch=epoch)
        for a, b in zip(streaming, in_memory, strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_block_is_all_that_is_held():
    read = 0

    def counting(rng):
        nonlocal read
        for pair in itertools.islice(itertools.cycle(PAIRS), 10_000):
            read += 1
            yield pair

    batches = training_batches(streamed(500, counting), 100, 0.0, seed=0, epoch=0)
    next(batches)
    assert read == 500
    for _ in range(5):
        next(batches)
    assert read == 1000


def test_a_survey_finds_in_one_pass_what_several_find():
    iterator = iter(PAIRS)  # can be read once only
    config = Config(target_tokens="word", source_form="NFD", batch_size=8)
    found = survey(iterator, config, block_size=1000)
    assert found.source == Vocabulary.from_texts((p.source for p in PAIRS), "char", "NFD")
    assert found.target == Vocabulary.from_texts((p.target for p in PAIRS), "word")
    assert (found.pairs, found.longest_target) == (100, 1)
    assert found.fingerprint == fingerprint(PAIRS)
    encoded = encode_pairs(PAIRS, found.source, found.target)
    assert found.batches == len(list(training_batches(encoded, 8, 0.0, 0, 0))) == 13
    small = survey(PAIRS, config, block_size=10)
    assert small.batches == 20 and small.fingerprint == found.fingerprint


@pytest.mark.slow
def test_a_run_on_streamed_pairs_ends_the_same_after_a_kill(tmp_path, monkeypatch):
    """As a run on pairs in memory does; and the state is found again though nothing was kept."""
    from keras_attention.training import checkpoint

    folder = write_splits(tmp_path / "data", reversal_splits())
    whole = (folder / "train.tsv").read_bytes()
    (folder / "train.tsv").unlink()
    cut = whole.index(b"\n", len(whole) // 2) + 1
    (folder / "train-0.tsv").write_bytes(whole[:cut])
    (folder / "train-1.tsv.gz").write_bytes(gzip.compress(whole[cut:]))
    options = ("--data", folder, *TINY, "--shuffle-buffer", "150", "--resume")
    straight = call_train(*options, "--out", tmp_path / "straight")
    assert straight.status == 0, straight.err
    assert "500 training" in straight.out

    save = checkpoint.save

    def save_and_stop(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", save_and_stop)
    assert call_train(*options, "--out", tmp_path / "killed").status == 130
    monkeypatch.setattr(checkpoint, "save", save)
    resumed = call_train(*options, "--out", tmp_path / "killed")
    assert "resumed at epoch 2" in resumed.out
    assert resumed.out.splitlines()[-1] == straight.out.splitlines()[-1]
    weights = [np.load(tmp_path / name / CHECKPOINT) for name in ("straight", "killed")]
    for name in weights[0].files:
        if name != "progress":  # which holds seconds
            assert np.array_equal(weights[0][name], weights[1][name]), name

    # Changed data are noticed, though they are read only in passing.
    (folder / "train-0.tsv").write_bytes(whole[:cut].replace(b"\n", b"a\n", 1))
    assert "was trained on other pairs" in call_train(*options, "--out", tmp_path / "killed").err


def test_check_takes_shards_as_one_part(tmp_path, shards):
    for name in ("valid", "test"):
        write_pairs(tmp_path / f"{name}.tsv", [Pair(f"other {name}", "t1")])
    (tmp_path / "train-3.tsv").touch()
    report = check_data(tmp_path)
    assert report.ok, report.to_text()
    assert report.figures["train-*.tsv"]["pairs"] == 100
    assert "leaks" not in [finding.kind for finding in report.findings]
    with open(tmp_path / "train-3.tsv", "w", encoding="utf-8") as file:
        file.write("a\tb\nc\n")
    (bad,) = (f for f in check_data(tmp_path).findings if f.severity == "error")
    assert (bad.file, bad.lines) == ("train-3.tsv", (2,))
    (tmp_path / "train.tsv").touch()
    (unclear,) = (f for f in check_data(tmp_path).findings if f.severity == "error")
    assert "holds train.tsv and also train-0.tsv" in unclear.message
