"""The committed phrases: reproducible, leak-free, aligned word by word."""

import collections

import pytest

from keras_attention.datasets.phrases import TITLE, generate
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits, load_splits
from tests.support import ROOT

FOLDER = ROOT / "data" / "phrases"


@pytest.fixture(scope="module")
def committed() -> Splits:
    return load_splits(FOLDER, seed=0, source_tokens="word", target_tokens="word")


def test_the_committed_files_come_from_the_generator(tmp_path):
    for name, pairs in generate(seed=0)._asdict().items():
        write_pairs(tmp_path / f"{name}.tsv", pairs)
        assert (tmp_path / f"{name}.tsv").read_bytes() == (FOLDER / f"{name}.tsv").read_bytes()
    assert generate(seed=1) != generate(seed=0)


def test_sizes_and_leaks(committed):
    assert tuple(map(len, committed)) == (1_000, 100, 100)
    for side in ("source", "target"):
        texts = [{getattr(pair, side) for pair in part} for part in committed]
        assert not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])
    sources = [pair.source for part in committed for pair in part]
    assert len(set(sources)) == len(sources)
    assert TITLE in [pair[:2] for pair in committed.test]


def test_training_has_every_word_several_times(committed):
    for side in ("source", "target"):
        seen = collections.Counter(
            word for pair in committed.train for word in getattr(pair, side).split()
        )
        assert min(seen.values()) >= 5
        assert set(seen) >= {
            word for part in committed for pair in part for word in getattr(pair, side).split()
        }


def test_particles_fit_their_noun(committed):
    # Nouns of the grammar that end in a consonant; all others end in a vowel.
    closed = {"그들", "선생", "학생", "시인", "달", "책", "꽃"}
    fitting = {"는": False, "은": True, "가": False, "이": True, "를": False, "을": True}
    fitting |= {"로소이다": False, "이로소이다": True, "였다": False, "이었다": True}
    found = set()
    for pair in committed.train:
        words = pair.source.split()
        for noun, particle in zip(words, words[1:], strict=False):
            if particle in fitting:
                assert (noun in closed) == fitting[particle], pair.source
                found.add(particle)
    assert found == set(fitting)


MEANING = {
    ("나", "I"),
    ("그녀", "she"),
    ("고양이", "cat"),
    ("고양이", "cats"),
    ("고양이", "the"),
    ("고양이", "a"),
    ("화가", "an"),
    ("찾는다", "look"),
    ("찾는다", "for"),
    ("않는다", "does"),
    ("않는다", "not"),
    ("보지", "see"),
    ("없다", "is"),
    ("없다", "not"),
    ("컸다", "was"),
    ("컸다", "big"),
    ("에", "in"),
    ("이로소이다", "am"),
}


def test_links_join_what_means_the_same(committed):
    links = collections.Counter()
    for source, target, alignment, _ in committed.train:
        source_words, target_words = source.split(), target.split()
        for link in alignment:
            source_word, target_word = source_words[link.source], target_words[link.target]
            links[source_word, target_word] += 1
            assert link.sure == (target_word not in ("a", "an", "the"))
        # Every English word has an origin, no particle is one.
        assert {link.target for link in alignment} == set(range(len(target_words)))
        unlinked = {w for i, w in enumerate(source_words) if i not in {k.source for k in alignment}}
        assert unlinked <= {"는", "은", "가", "이", "를", "을"}
    assert MEANING <= set(links)
    assert not {pair for pair in links if pair[0] == "나"} - {("나", "I")}


def test_the_title_by_hand(committed):
    (pair,) = [pair for pair in committed.test if pair.source == TITLE[0]]
    assert pair.alignment == ((0, 0, True), (2, 2, False), (2, 3, True), (3, 1, True))
