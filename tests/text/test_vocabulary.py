"""Text into ids and back: one definition, nothing collides, nothing fails."""

import json

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.errors import UserError
from keras_attention.text.repair import clean
from keras_attention.text.vocabulary import (
    PADDING,
    RESERVED,
    UNKNOWN,
    RaggedIds,
    Vocabulary,
    load_vocabularies,
    save_vocabularies,
)

valid_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def test_ids_by_hand():
    vocabulary = Vocabulary.from_texts(["ba", "a é"], "char")
    assert vocabulary.tokens == (" ", "a", "b", "é")
    assert len(vocabulary) == 8
    ids = vocabulary.encode(["abx", "", "é\0a"])
    assert ids.flat.tolist() == [5, 6, UNKNOWN, 7, UNKNOWN, 5]
    assert ids.offsets.tolist() == [0, 3, 3, 6]
    assert ids.flat.dtype == np.int32


def test_words_by_hand():
    vocabulary = Vocabulary.from_texts(["an  owl", "\towl sat "], "word")
    assert vocabulary.tokens == ("an", "owl", "sat")
    ids = vocabulary.encode(["the owl  sat", " ", ""])
    assert ids.flat.tolist() == [UNKNOWN, 5, 6]
    assert ids.lengths.tolist() == [3, 0, 0]
    # Only ASCII white space parts words: a no-break space belongs to one.
    assert vocabulary.split("an\u00a0owl sat") == ["an\u00a0owl", "sat"]


@pytest.mark.parametrize("kind", ["char", "word"])
@given(known=st.lists(valid_texts, max_size=4), texts=st.lists(valid_texts, max_size=4))
def test_ids_are_those_of_looking_each_token_up(kind, known, texts):
    vocabulary = Vocabulary.from_texts(known, kind)
    ids = vocabulary.encode(texts)
    for row, text in enumerate(texts):
        expected = [
            vocabulary.tokens.index(token) + len(RESERVED)
            if token in vocabulary.tokens
            else UNKNOWN
            for token in vocabulary.split(text)
        ]
        assert ids.flat[ids.offsets[row] : ids.offsets[row + 1]].tolist() == expected
    assert len(ids) == len(texts)


@pytest.mark.parametrize("form", ["none", "NFC", "NFD"])
@pytest.mark.parametrize("kind", ["char", "word", "subword"])
@given(texts=st.lists(valid_texts, max_size=4))
def test_many_texts_are_split_as_each_is(kind, form, texts):
    vocabulary = Vocabulary(kind, ("a", "b"), form)
    texts = [*texts, "", "a\u0301 b", "\u00e1b"]
    assert vocabulary.split_all(texts) == [tuple(vocabulary.split(text)) for text in texts]


@given(valid_texts)
def test_known_characters_come_back(text):
    vocabulary = Vocabulary.from_texts([text], "char")
    assert vocabulary.join(vocabulary.tokens_of(vocabulary.encode([text]).flat)) == text


@given(st.lists(valid_texts, max_size=5))
def test_the_order_of_texts_does_not_matter(texts):
    assert Vocabulary.from_texts(texts, "char") == Vocabulary.from_texts(texts[::-1], "char")


def test_no_text_collides_with_a_reserved_symbol():
    for kind, texts in (
        ("word", ["padding start end unknown <unk> <pad>"]),
        ("char", ["\x01\x02"]),
    ):
        vocabulary = Vocabulary.from_texts(texts, kind)
        ids = vocabulary.encode(texts).flat
        assert min(ids) == len(RESERVED)
        assert len(set(ids)) == len(vocabulary.split(texts[0]))


@given(st.one_of(st.binary(max_size=12), st.text(max_size=6)))
def test_everything_is_made_valid_as_tensorflow_does_it(text):
    cleaned = clean(text)
    cleaned.encode("utf-8")  # carries no surrogate
    assert clean(cleaned) == cleaned
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    transcoded = tf.strings.unicode_transcode([raw], "UTF-8", "UTF-8")
    assert cleaned.encode() == transcoded.numpy()[0]
    ids = Vocabulary.from_texts(["a"], "char").encode([cleaned])
    assert PADDING not in ids.flat


def test_padding_by_hand():
    ids = RaggedIds(np.array([4, 5, 6, 7, 8], np.int32), np.array([0, 2, 2, 5]))
    assert ids.padded(np.array([2, 0])).tolist() == [[6, 7, 8], [4, 5, 0]]
    assert ids.padded(np.array([0, 1]), width=3).tolist() == [[4, 5, 0], [0, 0, 0]]
    assert ids.padded(np.array([2]), width=2).tolist() == [[6, 7]]
    assert ids.padded(np.array([], np.int64)).shape == (0, 0)
    assert ids.padded(np.array([1])).shape == (1, 0)


def test_an_empty_vocabulary_knows_nothing_and_fails_at_nothing():
    for kind in ("char", "word"):
        assert Vocabulary.from_texts([], kind).encode(["a b"]).flat.tolist()[0] == UNKNOWN


def test_it_is_saved_and_loaded(tmp_path):
    source = Vocabulary.from_texts(["가나 \u2028\r\"'\x85"], "char")
    target = Vocabulary.from_texts(["ein Wort"], "word")
    save_vocabularies(tmp_path / "vocabulary.json", source, target)
    assert load_vocabularies(tmp_path / "vocabulary.json") == (source, target)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: "",
        lambda content: "[]",
        lambda content: json.dumps(content | {"format": 99}),
        lambda content: json.dumps(content | {"reserved": ["padding"]}),
        lambda content: json.dumps(content | {"source": {"kind": "char"}}),
        lambda content: json.dumps({key: content[key] for key in ("format", "reserved")}),
        lambda content: json.dumps(content)[:-9],
    ],
)
def test_a_damaged_file_is_told(tmp_path, damage):
    path = tmp_path / "vocabulary.json"
    with pytest.raises(UserError, match=r"vocabulary\.json: "):
        load_vocabularies(path)
    save_vocabularies(path, *[Vocabulary.from_texts(["ab"], "char")] * 2)
    path.write_text(damage(json.loads(path.read_text())))
    with pytest.raises(UserError, match=r"vocabulary\.json: is (damaged|of another format)"):
        load_vocabularies(path)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("x", ()), ValueError, "kind must be one of char, word"),
        ((None, ()), ValueError, "kind must be one of"),
        (("char", ["a"]), TypeError, "must be a tuple. Received: list"),
        (("char", ("a", 1)), TypeError, r"Received: tokens\[1\]=1"),
        (("char", ("b", "a")), ValueError, "must be sorted"),
        (("char", ("ab",)), ValueError, r"one character each. Received: tokens\[0\]='ab'"),
        (("word", ("ab", "ab")), ValueError, "one of them twice"),
        (
            ("word", ("ab",), "NFX"),
            ValueError,
            "one of none, NFC, NFD. Received: normal_form='NFX'",
        ),
    ],
)
def test_a_vocabulary_that_could_not_number_texts_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        Vocabulary(*arguments)


def test_texts_of_another_type_are_refused():
    vocabulary = Vocabulary.from_texts(["ab"], "char")
    for texts in ("ab", b"ab", [None], [b"ab"]):
        with pytest.raises(TypeError, match=r"texts.* must be"):
            Vocabulary.from_texts(texts, "char")
        with pytest.raises(TypeError, match=r"texts must be a sequence of strings"):
            vocabulary.encode(texts)
    for token_id in (PADDING, UNKNOWN, -1, 6):
        with pytest.raises(ValueError, match=f"from 4 to 5. Received: {token_id}"):
            vocabulary.tokens_of([4, token_id])


def test_a_vocabulary_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "vocabulary.json"
    first, second = (Vocabulary.from_texts([text], "char") for text in ("ab", "cd"))
    save_vocabularies(path, first, first)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        save_vocabularies(path, second, second)
    assert load_vocabularies(path) == (first, first)
    assert [p.name for p in tmp_path.iterdir()] == ["vocabulary.json"]
