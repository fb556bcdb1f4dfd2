"""A tiny word-level data set, Korean to English, after the title 나는 고양이로소이다, I am a cat.

    python -m keras_attention.datasets.phrases --out data/phrases --seed 0

writes the committed data again, byte for byte. The phrases follow a small grammar: someone is
something (or was, or is not), does something to something, is somewhere, is in some state. The
words of the source are morphemes, so that particles stand alone; the verb stands last in Korean and
second in English, so that attention has something to reorder.
"""

import itertools
import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

from keras_attention._runtime.command_line import exit_with_user_errors
from keras_attention.datasets.generator_command import Sizes, run, shuffled
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits

SIZES = Sizes(train=1_000, valid=100, test=100)
# Never in training: whoever reads it in a figure can be sure that it was not learnt by heart.
TITLE = ("나 는 고양이 로소이다", "I am a cat")
# To try a model with, by language.
SAMPLE_SOURCES = {"ko": (TITLE[0], "우리 는 고양이 를 그린다")}


class _Person(NamedTuple):
    korean: str
    english: str
    present: str  # the form of "be"
    past: str
    third: bool = False  # the verb takes an s
    plural: bool = False


class _Verb(NamedTuple):
    korean: tuple[str, str, str]  # present, past, before a negation
    english: tuple[str, str, str]  # plain form, third person, past


_PERSONS = (
    _Person("나", "I", "am", "was"),
    _Person("너", "you", "are", "were"),
    _Person("그", "he", "is", "was", third=True),
    _Person("그녀", "she", "is", "was", third=True),
    _Person("우리", "we", "are", "were", plural=True),
    _Person("그들", "they", "are", "were", plural=True),
    _Person("고양이", "the cat", "is", "was", third=True),
    _Person("선생", "the teacher", "is", "was", third=True),
    _Person("학생", "the student", "is", "was", third=True),
)
_ROLES = (
    ("고양이", "a cat", "cats"),
    ("선생", "a teacher", "teachers"),
    ("학생", "a student", "students"),
    ("시인", "a poet", "poets"),
    ("화가", "an artist", "artists"),
    ("의사", "a doctor", "doctors"),
)
_VERBS = (
    _Verb(("본다", "보았다", "보지"), ("see", "sees", "saw")),
    _Verb(("사랑한다", "사랑했다", "사랑하지"), ("love", "loves", "loved")),
    _Verb(("그린다", "그렸다", "그리지"), ("draw", "draws", "drew")),
    _Verb(("찾는다", "찾았다", "찾지"), ("look for", "looks for", "looked for")),
)
_THINGS = (
    ("고양이", "the cat"),
    ("물고기", "the fish"),
    ("달", "the moon"),
    ("책", "the book"),
    ("꽃", "the flower"),
    ("바다", "the sea"),
)
_PLACES = (
    ("집", "the house"),
    ("방", "the room"),
    ("정원", "the garden"),
    ("학교", "the school"),
    ("부엌", "the kitchen"),
)
_STATES = (
    (("작다", "작았다"), "small"),
    (("크다", "컸다"), "big"),
    (("슬프다", "슬펐다"), "sad"),
    (("조용하다", "조용했다"), "quiet"),
    (("배고프다", "배고팠다"), "hungry"),
)


def generate(seed: int) -> Splits:
    """Pairs with alignment, SIZES of them, the same for the same seed.

    No source and no target is in two splits: two Korean phrases that mean the same stay together.
    """
    rng = random.Random(seed)
    groups: dict[str, list[Pair]] = {}
    for pair in itertools.chain(_being(), _doing(), _places(), _states()):
        groups.setdefault(pair.target, []).append(pair)
    title = groups.pop(TITLE[1])
    order = shuffled(groups.values(), rng)
    parts: list[list[Pair]] = []
    for size, first in zip(SIZES[::-1], (title, [], []), strict=True):
        part = list(first)
        while len(part) < size:
            part.extend(order.pop())
        parts.append(shuffled(part[:size], rng))
    return Splits(*parts[::-1])


def _being() -> Iterator[Pair]:
    for person, (korean, singular, plural) in itertools.product(_PERSONS, _ROLES):
        if person.korean == korean:
            continue
        role = plural if person.plural else singular
        open_ending = _after(korean, "", "이")  # nothing after a vowel
        for copula, be in (
            ("이다", person.present),
            (f"{open_ending}로소이다", person.present),
            (_after(korean, "였다", "이었다"), person.past),
        ):
            yield _pair(
                [*_subject(person), (korean, "role"), (copula, "be")],
                [(person.english, "subject"), (be, "be"), (role, "role")],
            )
        for copula, be in (("아니다", person.present), ("아니었다", person.past)):
            yield _pair(
                [
                    *_subject(person),
                    (korean, "role"),
                    (_after(korean, "가", "이"), ""),
                    (copula, "be"),
                ],
                [(person.english, "subject"), (f"{be} not", "be"), (role, "role")],
            )


def _doing() -> Iterator[Pair]:
    for person, verb, (korean, english) in itertools.product(_PERSONS, _VERBS, _THINGS):
        if person.korean == korean:
            continue
        present, past, negated = verb.korean
        thing = [(korean, "thing"), (_after(korean, "를", "을"), "")]
        for korean_verb, english_verb in (
            ([(present, "verb")], [(verb.english[person.third], "verb")]),
            ([(past, "verb")], [(verb.english[2], "verb")]),
            (
                [(negated, "verb"), ("않는다", "not")],
                [("does not" if person.third else "do not", "not"), (verb.english[0], "verb")],
            ),
        ):
            yield _pair(
                [*_subject(person), *thing, *korean_verb],
                [(person.english, "subject"), *english_verb, (english, "thing")],
            )


def _places() -> Iterator[Pair]:
    for person, (korean, english) in itertools.product(_PERSONS, _PLACES):
        for ending, be in (
            ("있다", person.present),
            ("있었다", person.past),
            ("없다", f"{person.present} not"),
            ("없었다", f"{person.past} not"),
        ):
            yield _pair(
                [*_subject(person), (korean, "place"), ("에", "in"), (ending, "be")],
                [(person.english, "subject"), (be, "be"), ("in", "in"), (english, "place")],
            )


def _states() -> Iterator[Pair]:
    degrees: tuple[tuple[list, list], ...] = (([], []), ([("아주", "very")], [("very", "very")]))
    for person, (korean, english), (adverb, very) in itertools.product(_PERSONS, _STATES, degrees):
        for state, be in zip(korean, (person.present, person.past), strict=True):
            # The Korean word is the state and its tense at once.
            yield _pair(
                [*_subject(person), *adverb, (state, "state")],
                [(person.english, "subject"), (be, "state"), *very, (english, "state")],
            )


def _subject(person: _Person) -> list[tuple[str, str]]:
    return [(person.korean, "subject"), (_after(person.korean, "는", "은"), "")]


def _after(noun: str, open_form: str, closed_form: str) -> str:
    """The form of a particle after a noun that ends in a vowel, or in a consonant."""
    return closed_form if (ord(noun[-1]) - ord("가")) % 28 else open_form


def _pair(source: list[tuple[str, str]], target: list[tuple[str, str]]) -> Pair:
    """Joins tagged words; equal tags are linked, articles only possibly, the tag "" never."""
    source_words = [(word, tag) for text, tag in source for word in text.split()]
    target_words = [(word, tag) for text, tag in target for word in text.split()]
    links = (
        Link(i, j, word not in ("a", "an", "the"))
        for i, (_, source_tag) in enumerate(source_words)
        for j, (word, target_tag) in enumerate(target_words)
        if source_tag == target_tag
    )
    return Pair(
        " ".join(word for word, _ in source_words),
        " ".join(word for word, _ in target_words),
        tuple(links),
    )


def main(arguments: list[str]) -> None:
    """Writes the data set into a folder."""
    run("phrases", "data/phrases", generate, arguments)


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
