"""Phones, cut by hand and by property."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_attention.pairs.phones import (
    is_arpabet,
    looks_like_ipa,
    split_phones,
    transcriptions,
    without_stress,
)

IPA = "abtkdʃɛəŋɹˈˌːʰʲ\u0303\u0329\u0361\u035c.˥ ǃ1"


@pytest.mark.parametrize(
    ("transcription", "phones"),
    [
        ("kæt", "k æ t"),
        ("ˈkæt.ə", "ˈk æ t ə"),
        ("t͡ʃɜːt͡ʃ", "t͡ʃ ɜː t͡ʃ"),
        ("bɛ̃tʰ", "b ɛ̃ tʰ"),
        ("n̩t͡sʰː", "n̩ t͡sʰː"),
        ("ma˥˩", "m a˥˩"),
        ("k æ t", "k æ t"),
        ("ɹiːd ɪt", "ɹ iː d ɪ t"),
        ("", ""),
        ("ˈ", "ˈ"),
        ("a\u0361 b", "a\u0361 b"),
        ("ˈˌa", "ˈˌa"),
    ],
)
def test_phones_by_hand(transcription, phones):
    assert split_phones(transcription) == phones.split()


@given(st.text(st.sampled_from(IPA), max_size=12))
def test_no_character_is_lost_but_breaks_and_spaces(transcription):
    phones = split_phones(transcription)
    assert "".join(phones) == "".join(c for c in transcription if c not in ". ")
    assert all(phones)


def test_arpabet_ipa_and_spelling_are_told_apart():
    assert is_arpabet("R EH1 D") and is_arpabet("HH AH L OW")
    assert not is_arpabet("READ") and not is_arpabet("r eh d") and not is_arpabet("")
    assert all(map(looks_like_ipa, ("ˈkat", "t͡s", "ʃ", "/kat/", "[kat]")))
    assert not any(
        map(looks_like_ipa, ("kat", "café", "ệ", "e\u0323\u0302", "고양이", "1/2", "a/b"))
    )


def test_transcriptions_in_slashes():
    assert transcriptions("/a/, /b/") == ["a", "b"] == transcriptions("[a]; [b]")
    assert transcriptions("a, b") == ["a, b"] and transcriptions("/a") == ["/a"]


def test_stress():
    assert without_stress(["R", "EH1", "ˈd", "ˌ", "a1"]) == ["R", "EH", "d", "a1"]
