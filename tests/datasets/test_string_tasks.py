"""Copy and reverse of random strings: the strings, and the alignment that is known."""

import string

import pytest

from keras_attention.datasets.string_tasks import generate
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair_files import read_pairs, write_pairs

SIZES = {"train": 600, "valid": 50, "test": 70}


@pytest.fixture(scope="module", params=["copy", "reverse"])
def task(request):
    return request.param, generate(request.param, 3, **SIZES)


def test_as_many_pairs_as_asked_for_and_no_source_twice(task):
    _, splits = task
    assert tuple(map(len, splits)) == (600, 50, 70)
    sources = [pair.source for part in splits for pair in part]
    assert len(set(sources)) == len(sources)


def test_strings_have_5_to_60_letters_all_lengths_alike(task):
    _, splits = task
    lengths = [len(pair.source) for part in splits for pair in part]
    assert set(lengths) == set(range(5, 61))
    # 720 draws of 56 lengths: 30 or more of one length would be one in millions.
    assert max(lengths.count(length) for length in set(lengths)) < 35
    assert set("".join(pair.source for pair in splits.train)) == set(string.ascii_lowercase)


def test_targets_are_the_copy_and_the_reverse(task):
    name, splits = task
    for part in splits:
        for pair in part:
            assert pair.target == (pair.source if name == "copy" else pair.source[::-1])


def test_alignment_joins_equal_letters_along_the_diagonal(task):
    name, splits = task
    for pair in splits.train:
        last = len(pair.source) - 1
        assert [link.target for link in pair.alignment] == list(range(last + 1))
        for link in pair.alignment:
            assert pair.source[link.source] == pair.target[link.target]
            assert link.sure
            if name == "copy":
                assert link.source == link.target
            else:
                assert link.source + link.target == last


def test_a_pair_by_hand():
    pair = next(p for p in generate("reverse", 0, **SIZES).train if len(p.source) == 5)
    assert pair.alignment == tuple(Link(4 - i, i, True) for i in range(5))


def test_a_seed_gives_the_same_strings_to_both_tasks_and_another_seed_others():
    def sources(name, seed):
        return [pair.source for part in generate(name, seed, **SIZES) for pair in part]

    assert sources("copy", 0) == sources("copy", 0) == sources("reverse", 0)
    assert not set(sources("copy", 0)) & set(sources("copy", 1))


def test_pairs_survive_the_file_format(task, tmp_path):
    _, splits = task
    write_pairs(tmp_path / "test.tsv", splits.test)
    assert read_pairs(tmp_path / "test.tsv") == splits.test


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="copy, reverse. Received: task='sort'"):
        generate("sort", 0, **SIZES)
