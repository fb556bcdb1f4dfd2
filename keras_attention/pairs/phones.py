"""Phones of a pronunciation: told apart from other text, and cut where no spaces part them."""

from __future__ import annotations

import re
import unicodedata

# The phones of CMUdict, and those that other ARPAbet dictionaries add.
_ARPABET = frozenset(
    "AA AE AH AO AW AX AXR AY B BH CH D DH DX EH EL EM EN ER EY F G HH IH IX IY JH K L M N NG NX "
    "OW OY P Q R S SH T TH UH UW UX V W WH Y Z ZH".split()
)
_STRESS_MARKS = "ˈˌ"
_BREAKS = ".|‖"  # of syllables and phrases: no sounds
_TIES = "\u0361\u035c\u203f"  # join what stands around them: t͡s
# Letters and marks that next to no spelling has but that most transcriptions have.
_IPA_ONLY = re.compile("[\u0250-\u02af\u02b0-\u02b8\u02c8\u02cc\u02d0\u02d1\u02e0-\u02e4\u0361]")
_DELIMITED = re.compile(r"/[^/]+/(?:\s*[,;~]\s*/[^/]+/)*|\[[^][]+\](?:\s*[,;~]\s*\[[^][]+\])*")
_INSIDE = re.compile(r"/([^/]+)/|\[([^][]+)\]")


def is_arpabet(text: str) -> bool:
    """Whether a text is ARPAbet phones parted by spaces, with stress digits or without."""
    phones = text.split()
    return bool(phones) and all(_without_digit(phone) in _ARPABET for phone in phones)


def looks_like_ipa(text: str) -> bool:
    """Whether a text has a letter or mark of the phonetic alphabet, or stands in slashes."""
    return bool(_IPA_ONLY.search(text) or _DELIMITED.fullmatch(text))


def transcriptions(text: str) -> list[str]:
    """The transcriptions in `/ˈkæt/, /kat/` or `[kæt]`, without slashes and brackets.

    A text that does not stand in them is the one transcription.
    """
    if not _DELIMITED.fullmatch(text):
        return [text]
    return [first or second for first, second in _INSIDE.findall(text)]


def split_phones(transcription: str) -> list[str]:
    """The phones of a transcription in the International Phonetic Alphabet.

    A phone is a letter with the combining marks and modifier letters behind it (`tʰ`, `ɛ̃`, `aː`),
    with whatever a tie bar joins to it (`t͡s`) and a stress mark before it (`ˈk`). Spaces and breaks
    between syllables part phones and are left out; no other character is lost.
    """
    phones: list[str] = []
    before, joined = "", False  # stress marks that wait for their letter; a tie that does
    for character in transcription:
        if character.isspace() or character in _BREAKS:
            joined = False
            before, waiting = "", before
            phones += [waiting] if waiting else []
        elif character in _STRESS_MARKS:
            before += character
        elif joined or (phones and not before and _belongs_to_letter(character)):
            phones[-1] += before + character
            before, joined = "", character in _TIES
        else:
            phones.append(before + character)
            before, joined = "", character in _TIES
    return [*phones, before] if before else phones


def without_stress(phones: list[str]) -> list[str]:
    """Phones without ARPAbet's digits and the marks of primary and secondary stress."""
    bare = (_without_digit(phone).strip(_STRESS_MARKS) for phone in phones)
    return [phone for phone in bare if phone]


def _without_digit(phone: str) -> str:
    return phone[:-1] if phone[-1:] in "012" and phone[:-1] in _ARPABET else phone


def _belongs_to_letter(character: str) -> bool:
    """Whether a character modifies the letter before it: marks, ʰ ʲ ː, tone letters, digits."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm", "Sk", "No", "Nd")
