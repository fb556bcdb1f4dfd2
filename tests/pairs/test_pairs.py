"""Reading, writing and splitting pairs: what a line is, what is refused, and where."""

import gzip
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.errors import UserError
from keras_attention.pairs.alignment import (
    Link,
    format_alignment,
    parse_alignment,
)
from keras_attention.pairs.fingerprint import fingerprint
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import iterate_pairs, read_pairs, write_pairs
from keras_attention.pairs.splits import (
    Splits,
    load_part,
    load_splits,
    set_aside,
    split_files,
    split_pairs,
    twin_key,
)
from keras_attention.text.normal_form import normalise, origins
from keras_attention.text.tokens import split_tokens


@pytest.fixture
def file(tmp_path):
    def write(content: bytes, name: str = "pairs.tsv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\tb\n", [("a", "b")]),
        (b"a\tb", [("a", "b")]),
        (b"\xef\xbb\xbfa\tb\n", [("a", "b")]),
        (b"a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
        (b"\n\r\na\tb\n  \n\nc\td\n\n", [("a", "b"), ("c", "d")]),
        (b"\xef\xbb\xbf\na\tb\n", [("a", "b")]),
        # None of the other characters that Unicode or Python hold for line ends ends a line.
        ("a\u2028b\x85\x1c\tc\x0b\x0cd\r e\n".encode(), [("a\u2028b\x85\x1c", "c\x0b\x0cd\r e")]),
        # Only the file's first character is a byte-order mark.
        ("a\tb\n\ufeffc\td\n".encode(), [("a", "b"), ("\ufeffc", "d")]),
        # Nothing is trimmed: padding is part of a text.
        (b" a \t b \n", [(" a ", " b ")]),
        (b"a\tb\na\tb\n", [("a", "b"), ("a", "b")]),
        ("2003년 3월\t2003\n".encode(), [("2003년 3월", "2003")]),
    ],
)
def test_what_is_read(file, content, expected):
    assert [(pair.source, pair.target) for pair in read_pairs(file(content))] == expected


def test_alignment_is_read_and_its_absence_is_not_an_empty_one(file):
    pairs = read_pairs(file(b"ab\tcd\t0-1 1p0\nab\tcd\nab\tcd\t\n"))
    assert [pair.alignment for pair in pairs] == [
        (Link(0, 1, True), Link(1, 0, False)),
        None,
        (),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"a", "1 column"),
        (b"a b", "1 column"),
        (b"a\tb\t0-0\td", "4 columns"),
        (b"\tb", "empty source"),
        (b"a\t", "empty target"),
        (b"\t", "empty source"),
        (b"a\0\tb", "NUL"),
        (b"a\t\xff", "invalid UTF-8 at byte 3"),
        ("é\tb".encode("latin-1"), "invalid UTF-8"),
        (b"\xed\xa0\x80\tb", "invalid UTF-8"),  # half a surrogate pair
        (b"a\tb\t0", "malformed link"),
        (b"a\tb\t0:0", "malformed link"),
        (b"a\tb\t0--0", "malformed link"),
        (b"a\tb\t-1-0", "malformed link"),
        ("a\tb\t\u0663-0".encode(), "malformed link"),  # an Arabic digit
        (b"a\tb\t" + b"9" * 9999 + b"-0", "Received: '9999"),
        (b"ab\tcd\t2-0", "link 2-0 leaves the pair"),
        (b"ab\tcd\t0-0 1p2", "link 1p2 leaves the pair"),
    ],
)
def test_a_bad_line_is_named(file, line, says):
    path = file(b"a\tb\n\n" + line + b"\nc\td\n")
    with pytest.raises(UserError) as error:
        read_pairs(path)
    assert str(error.value).startswith(f"{path}:3: ") and says in str(error.value)
    assert len(str(error.value)) < 250 + len(str(path)) and "\n" not in str(error.value)


def test_utf16_is_guessed(file):
    with pytest.raises(UserError, match=":1: .*UTF-16.* save the file as UTF-8"):
        read_pairs(file("a\tb\n".encode("utf-16")))


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_empty_file(file, content):
    with pytest.raises(UserError, match="pairs.tsv: is empty"):
        read_pairs(file(content))


def test_unreadable_paths(file, tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_pairs(tmp_path / "none.tsv")
    with pytest.raises(UserError, match="is a folder"):
        read_pairs(tmp_path)
    with pytest.raises(UserError, match="broken gzip"):
        read_pairs(file(b"a\tb\n", "plain.tsv.gz"))
    cut_short = file(gzip.compress(b"a\tb\n" * 1000)[:-9], "cut.tsv.gz")
    with pytest.raises(UserError, match="broken gzip"):
        read_pairs(cut_short)
    with pytest.raises(UserError, match="no such file or folder"):
        load_splits(tmp_path / "none", seed=0)


def test_pairs_are_streamed(file):
    pairs = iterate_pairs(file(b"a\tb\nbad\n"))
    assert next(pairs) == Pair("a", "b")
    with pytest.raises(UserError, match=":2: "):
        next(pairs)


def test_tokens_are_code_points_or_what_ascii_whitespace_separates(file):
    assert split_tokens("e\u0301 가", "char") == ["e", "\u0301", " ", "가"]
    assert split_tokens(" a\u00a0b \t\n\r\f\vc\u3000d\x1ce ", "word") == [
        "a\u00a0b",
        "c\u3000d\x1ce",
    ]
    with pytest.raises(ValueError, match="kind='bpe'"):
        split_tokens("a", "bpe")


def test_alignment_counts_the_tokens_of_each_side(file):
    path = file("고양이 이다\tcat\t1-2\n".encode())
    assert read_pairs(path, source_tokens="word")[0].alignment == (Link(1, 2, True),)
    with pytest.raises(UserError, match="leaves the pair of 2 source and 1 target"):
        read_pairs(path, source_tokens="word", target_tokens="word")


def test_a_side_without_words_is_empty(file):
    path = file(b"a\tb\n \tb\n")
    assert len(read_pairs(path)) == 2
    with pytest.raises(UserError, match=":2: empty source"):
        read_pairs(path, source_tokens="word")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\0"), min_size=1)


@st.composite
def drawn_pairs(draw):
    source, target = draw(TEXT), draw(TEXT.filter(lambda text: not text.endswith("\r")))
    link = st.builds(
        Link, st.integers(0, len(source) - 1), st.integers(0, len(target) - 1), st.booleans()
    )
    return Pair(source, target, draw(st.none() | st.lists(link, max_size=4).map(tuple)))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
@given(pairs=st.lists(drawn_pairs(), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, name, pairs):
    if pairs[0].source.startswith("\ufeff"):
        pairs.insert(0, Pair("a", "b"))
    path = tmp_path_factory.mktemp("data") / name
    write_pairs(path, pairs)
    again = read_pairs(path)
    assert again == pairs and fingerprint(again) == fingerprint(pairs)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\0b", "a\r"])
def test_what_a_line_cannot_hold_is_not_written(tmp_path, text):
    path = tmp_path / "a.tsv"
    with pytest.raises(ValueError, match="cannot hold"):
        write_pairs(path, [Pair("x", "y"), Pair("x", text)])
    assert not list(tmp_path.iterdir())


def test_equal_pairs_make_equal_gzip_files(tmp_path, monkeypatch):
    for second, name in enumerate(("a.tsv.gz", "b.tsv.gz")):
        monkeypatch.setattr("time.time", lambda second=second: second + 1e9)
        write_pairs(tmp_path / name, [Pair("a", "b")])
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


def test_alignment_forms_agree():
    text = "0-0 1p2 31-7"
    assert format_alignment(parse_alignment(text, "here")) == text
    with pytest.raises(UserError, match="^here: malformed link"):
        parse_alignment("0-0 1x1", "here")


def test_fingerprint_sees_every_change_but_not_the_file_around_it(file):
    base = [Pair("ab", "c"), Pair("d", "e", (Link(0, 0, True),))]
    others = [
        base[::-1],
        base[:1],
        [Pair("a", "bc"), base[1]],
        [base[0], Pair("d", "e")],
        [base[0], Pair("d", "e", ())],
        [base[0], Pair("d", "e", (Link(0, 0, False),))],
    ]
    assert len({fingerprint(pairs) for pairs in [base, *others]}) == 7
    assert fingerprint(read_pairs(file(b"\xef\xbb\xbfab\tc\r\n\r\nd\te\t0-0"))) == fingerprint(base)


def test_one_file_is_split_by_source(file):
    pairs = [Pair(f"s{index // 3}", f"t{index}") for index in range(3000)]
    splits = split_pairs(pairs, seed=1)
    sources = [{pair.source for pair in part} for part in splits]
    assert not (sources[0] & sources[1] or sources[0] & sources[2] or sources[1] & sources[2])
    assert sorted(sum(splits, [])) == sorted(pairs)
    assert [len(part) for part in splits] == [2400, 300, 300]
    path = file(b"")
    write_pairs(path, pairs)
    assert load_splits(path, seed=1) == splits != load_splits(path, seed=2)
    # Other lines in between, or another order, leave a source where it was for the most part.
    assert {pair.source for pair in split_pairs(pairs[::-1], seed=1).test} == sources[2]


@given(counts=st.lists(st.integers(1, 40), min_size=3, max_size=30), seed=st.integers(0, 5))
def test_no_part_of_a_split_is_empty(counts, seed):
    pairs = [Pair(f"s{index}", "t") for index, count in enumerate(counts) for _ in range(count)]
    splits = split_pairs(pairs, seed)
    assert all(splits) and sum(map(len, splits)) == len(pairs)
    assert len({part for part in splits.train}) >= 1
    assert sum(len({pair.source for pair in part}) for part in splits) == len(counts)


def test_one_giant_source_goes_to_training():
    big = [Pair("big", str(index)) for index in range(500)]
    for seed in range(20):
        for others in (2, 50):
            pairs = big + [Pair(f"s{index}", "t") for index in range(others)]
            assert split_pairs(pairs, seed).train[:500] == big


def test_too_few_sources_to_split(file):
    with pytest.raises(UserError, match=r"pairs.tsv: too few different sources .* Received: 2"):
        load_splits(file(b"a\tb\nc\td\na\te\n"), seed=0)


def test_folder(file, tmp_path):
    file(b"a\tb\n", "train.tsv")
    file(b"c\td\n", "valid.tsv")
    with pytest.raises(UserError, match="no test.tsv in the folder"):
        load_splits(tmp_path, seed=0)
    file(gzip.compress(b"e\tf\n"), "test.tsv.gz")
    assert load_splits(tmp_path, seed=0) == Splits(
        [Pair("a", "b")], [Pair("c", "d")], [Pair("e", "f")]
    )
    file(b"\n", "valid.tsv")
    with pytest.raises(UserError, match="valid.tsv: is empty"):
        load_splits(tmp_path, seed=0)


def test_a_part_is_what_the_splits_hold_and_only_its_files_are_read(tmp_path):
    for name in ("valid", "test"):
        (tmp_path / f"{name}.tsv").write_bytes(b"a\tb\n")
    (tmp_path / "train.tsv").write_bytes(b"\xff\tb\n")  # is not read
    assert load_part(tmp_path, "test", 0) == [Pair("a", "b")]
    whole = tmp_path / "whole.tsv"
    whole.write_bytes(b"".join(b"%d\tx\n" % number for number in range(30)))
    splits = load_splits(whole, seed=5)
    for name in ("train", "valid", "test"):
        assert load_part(whole, name, seed=5) == getattr(splits, name)


@given(st.text(st.sampled_from("a가각é\u0301\u0323\u0327ệ\u1100\u1161\u11a8 Ω\u212b"), max_size=8))
def test_origins_are_where_characters_come_from(text):
    for form in ("none", "NFC", "NFD"):
        found = origins(text, form)
        normal = normalise(text, form)
        assert len(found) == len(normal)
        assert sorted({position for each in found for position in each}) == [*range(len(text))]
        # A character is, decomposed, made of parts of its origins only.
        for character, positions in zip(normal, found, strict=True):
            parts = "".join(normalise(text[position], "NFD") for position in positions)
            assert set(normalise(character, "NFD")) <= set(parts)
    marks = [each for each, c in zip(origins(text, "NFD"), normalise(text, "NFD"), strict=True)
             if unicodedata.combining(c) == 230]  # fmt: skip
    assert marks == sorted(marks)  # equal classes keep their order


def test_twins_stay_in_one_part():
    """Differing in case, spaces or form only: to have seen one is to have seen the other."""
    words = [f"é{i:02}" for i in range(60)]
    pairs = [Pair(twin(w), str(i)) for i, w in enumerate(words)
             for twin in (str, str.upper, lambda w: f" {w} ", lambda w: normalise(w, "NFD"))
             ]  # fmt: skip
    for seed in range(5):
        parts = [{pair.target for pair in part} for part in split_pairs(pairs, seed)]
        assert sum(map(len, parts)) == 60 and set.union(*parts) == {p.target for p in pairs}
    # Where there are none, nothing changed: a run of before can be resumed.
    splits = split_pairs([Pair(word, "x") for word in words], 3)
    assert [p.source for p in splits.test] == ["é09", "é24", "é32", "é40", "é49", "é55"]


def test_a_file_plain_and_compressed_is_unclear(tmp_path):
    write_pairs(tmp_path / "train.tsv", [Pair("a", "b")])
    write_pairs(tmp_path / "train.tsv.gz", [Pair("c", "d")])
    with pytest.raises(UserError, match=r"holds train.tsv twice, plain and as .gz; keep one"):
        split_files(tmp_path, "train")


def test_a_file_of_pairs_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "pairs.tsv"
    write_pairs(path, [Pair("a", "b")])
    with pytest.raises(ValueError):
        write_pairs(path, [Pair("c", "d"), Pair("e\tf", "g")])
    assert read_pairs(path) == [Pair("a", "b")]
    assert [p.name for p in tmp_path.iterdir()] == ["pairs.tsv"]


def test_half_of_the_sources_are_set_aside_twins_together():
    pairs = [Pair(f"source {i}", "t") for i in range(100)]
    twins = [Pair(pair.source.upper(), "u") for pair in pairs]
    choosing, promising = set_aside([*pairs, *twins])
    assert len(choosing) == len(promising) == 100
    assert sorted([*choosing, *promising]) == sorted([*pairs, *twins])
    apart = [{twin_key(pair.source) for pair in part} for part in (choosing, promising)]
    assert not apart[0] & apart[1]
    again = set_aside([*twins, *pairs])
    assert [set(part) for part in again] == [set(choosing), set(promising)]


def test_few_sources_all_choose_the_weights():
    pairs = [Pair(f"source {i}", "t") for i in range(99)]
    assert set_aside([*pairs, pairs[0]]) == ([*pairs, pairs[0]], [])
