"""Writes the small sentiment file of this repository: `label<TAB>text`, one review a line.

    python examples/sentiment_data.py

writes `data/sentiment/reviews.tsv` again, byte for byte. Sentences come from a small grammar of
our own: opinions on a film, a book, a place to eat, a concert; with negation ("not dull at all"),
with an aside that says nothing, and with a first clause that the second one overrules ("seemed cold
at first , but ...").
"""

import pathlib
import random

COUNT = 1200
SEED = 0
PLACE = pathlib.Path(__file__).parent.parent / "data" / "sentiment" / "reviews.tsv"

THINGS = {
    "film": ("acting", "plot", "ending", "music", "dialogue", "camera work"),
    "book": ("story", "prose", "first chapter", "ending", "heroine", "translation"),
    "restaurant": ("soup", "service", "bread", "dessert", "view", "wine list"),
    "concert": ("sound", "singer", "drummer", "encore", "hall", "programme"),
}
GOOD = (
    *("wonderful", "moving", "clever", "charming", "fresh", "warm", "brilliant", "delightful"),
    *("memorable", "generous", "witty", "superb"),
)
BAD = (
    *("dull", "clumsy", "cold", "tired", "shallow", "careless", "noisy", "tedious"),
    *("bland", "rude", "predictable", "awful"),
)
FEELINGS = {
    True: ("i loved it", "i would go again", "we stayed until the last minute", "worth every coin"),
    False: ("i wanted my money back", "we left early", "never again", "a waste of an evening"),
}
ASIDES = (
    *("on a rainy tuesday", "with my sister", "after a long day", "in the old town"),
    *("as everyone knows by now", "for my birthday", "without any plan", "last winter"),
)
DEGREES = ("really", "quite", "very", "simply", "rather", "so")


def review(rng: random.Random, positive: bool) -> str:
    """One sentence that says what `positive` says."""
    thing = rng.choice(list(THINGS))
    part, other = rng.sample(THINGS[thing], 2)
    kind = rng.randrange(6)
    says, denies = (GOOD, BAD) if positive else (BAD, GOOD)
    word, second = rng.sample(says, 2)
    degree, aside = rng.choice(DEGREES), rng.choice(ASIDES)
    if kind == 0:
        return f"the {part} of this {thing} is {degree} {word} , and the {other} is {second}"
    if kind == 1:
        return f"we saw this {thing} {aside} and the {part} was {word}"
    if kind == 2:
        return f"the {part} was not {rng.choice(denies)} at all , {rng.choice(FEELINGS[positive])}"
    if kind == 3:
        return (
            f"the {part} seemed {rng.choice(denies)} at first , but the {other} was {degree} {word}"
            f" and {rng.choice(FEELINGS[positive])}"
        )
    if kind == 4:
        return f"{aside} , a {word} {thing} with a {second} {part}"
    return f"i had heard about the {part} of this {thing} {aside} : {degree} {word}"


def lines() -> list[str]:
    """All lines, distinct, half of them positive."""
    rng = random.Random(SEED)
    found: dict[str, None] = {}
    while len(found) < COUNT:
        positive = len(found) % 2 == 0
        found[f"{'positive' if positive else 'negative'}\t{review(rng, positive)}"] = None
    return list(found)


if __name__ == "__main__":
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text("\n".join(lines()) + "\n", encoding="utf-8", newline="\n")
    print(PLACE)
