"""Gold links carried from a source as written to the tokens that a model read of it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.pairs.alignment import Link, carry_links
from keras_attention.text.normal_form import NORMAL_FORMS, normalise, positions_after

TRICKY = "".join(
    [
        "aé년월각가",
        "e\u0301\u0323\u0302",
        "\u1102\u1167\u11ab\u11ff",
        "\u212b\u0340\u0344",
        "क\u093c ",
    ]
)


@pytest.mark.parametrize("form", NORMAL_FORMS)
@given(text=st.text(st.one_of(st.sampled_from(TRICKY), st.characters()), max_size=12))
def test_every_place_of_the_normal_form_comes_from_somewhere(form, text):
    positions = positions_after(text, form)
    assert len(positions) == len(text) and all(positions)
    reached = sorted({place for places in positions for place in places})
    assert reached == list(range(len(normalise(text, form))))


@given(text=st.text(st.sampled_from(TRICKY), max_size=10))
def test_a_place_holds_what_its_characters_decompose_to(text):
    after = unicodedata.normalize("NFD", text)
    for character, places in zip(text, positions_after(text, "NFD"), strict=True):
        assert sorted(after[place] for place in places) == sorted(
            unicodedata.normalize("NFD", character)
        )


def test_positions_by_hand():
    assert positions_after("3년 5", "NFD") == [(0,), (1, 2, 3), (4,), (5,)]
    assert positions_after("e\u0301x", "NFC") == [(0,), (0,), (1,)]
    # A dot below (class 220) comes before the accent (230) that was written first.
    assert positions_after("e\u0301\u0323", "NFD") == [(0,), (2,), (1,)]
    assert positions_after("e\u0301\u0323", "NFC") == [(0,), (1,), (0,)]
    assert positions_after("년", "none") == [(0,)]


def test_links_follow_their_characters_through_a_normal_form():
    source = "03년 5월"
    links = (Link(0, 2, True), Link(2, 4, True), Link(4, 6, True))
    found = carry_links(links, source, tuple(unicodedata.normalize("NFD", source)))
    assert found == (
        *(Link(0, 2, True), Link(2, 4, False), Link(3, 4, False), Link(4, 4, False)),
        Link(6, 6, True),
    )
    composed = carry_links((Link(1, 0, True), Link(0, 0, False)), "e\u0301", ("é",))
    assert composed == (Link(0, 0, True),)


def test_links_of_words_and_of_texts_without_a_form_stay():
    links = (Link(1, 0, True), Link(0, 1, False))
    assert carry_links(links, "나 는", ("나", "는")) == links
    assert (
        carry_links(links, "나 는", tuple(unicodedata.normalize("NFD", "나 는").split())) == links
    )
    assert carry_links(links, "ab", ("a", "b")) == links


def test_tokens_of_another_kind_and_links_outside_have_no_answer():
    assert carry_links((Link(0, 0, True),), "abc", ("ab", "c")) is None
    assert carry_links((Link(5, 0, True),), "ab", ("a", "b")) is None


def test_links_between_words_become_possible_links_between_their_pieces():
    source, pieces = "Der  Hund?", (" Der", " ", " Hu", "nd", "?")
    found = carry_links(
        (Link(0, 0, True), Link(1, 1, True)), source, pieces, "The dog?", (" The", " dog", "?")
    )
    assert set(found) == {
        Link(0, 0, True),  # both are one piece
        *(Link(s, t, False) for s in (2, 3, 4) for t in (1, 2)),
    }


def test_pieces_on_one_side_alone():
    links = (Link(0, 0, True), Link(1, 1, False))
    found = carry_links(links, "ab c", (" a", "b", " c"), "x y", ("x", "y"))
    assert set(found) == {Link(0, 0, False), Link(1, 0, False), Link(2, 1, False)}
    assert carry_links(links, "ab c", (" a", "b", " d"), "x y", ("x", "y")) is None
    assert carry_links((Link(0, 2, True),), "ab c", (" a", "b", " c"), "x y", ("x", "y")) is None
