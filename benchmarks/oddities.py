"""Odd inputs: how many are turned away, with the familiarity of a run and without it.

    python -m benchmarks.oddities runs/dates

Writes kinds of odd input that no part of the program has ever been fitted on, answers them, and
counts those whose confidence is below 0.5. The 24 hand-written ones are incomplete or impossible
dates and no dates; the other kinds are made from test sources. An area is under the ROC curve of
the confidence, odd against ordinary test dates.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.evaluation.confidence import auroc
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.readers.engine_reader import EngineReader
from keras_attention.readers.translator import Translator

EACH = 300
ORDINARY = 5000
HAND_WRITTEN = (
    "february 30, 2001",
    "2011-04",
    "february 31, 1999",
    "april 31, 2010",
    "2001-13-05",
    "1999-00-12",
    "2015-02-29",
    "june 0, 2003",
    "september 1994",
    "march 12",
    "12",
    "2003년 3월",
    "3월 25일",
    "2003년 13월 5일",
    "2003년 2월 30일",
    "1994",
    "tuesday",
    "hello",
    "september 27",
    "27, 1994",
    "45/45/45",
    "september 27, 19",
    "30 february 2012",
    "november 31st, 1988",
)
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)


def impossible(rng: random.Random) -> str:
    """A day that its month never has."""
    month = rng.choice((2, 4, 6, 9, 11))
    day, year = 30 if month == 2 else 31, rng.randint(1970, 2060)
    name = MONTHS[month - 1]
    forms = (f"{name} {day}, {year}", f"{day} {name} {year}", f"{year}-{month:02}-{day}")
    return rng.choice((*forms, f"{year}년 {month}월 {day}일"))


def incomplete(rng: random.Random) -> str:
    """A date without its day, its month or its year."""
    month, day, year = rng.randint(1, 12), rng.randint(1, 28), rng.randint(1970, 2060)
    name = MONTHS[month - 1]
    forms = (f"{name} {day}", f"{day} {name}", f"{year}-{month:02}", f"{name} {year}", f"{year}")
    return rng.choice((*forms, f"{year}년 {month}월", f"{month}월 {day}일"))


def cut(source: str, rng: random.Random) -> str:
    """The beginning or the end of a source."""
    size = max(1, int(len(source) * rng.uniform(0.3, 0.8)))
    return source[:size] if rng.random() < 0.5 else source[-size:]


def shuffled(source: str, rng: random.Random) -> str:
    return "".join(rng.sample(source, len(source)))


def made(sources: list[str], rng: random.Random) -> dict[str, list[str]]:
    """The odd inputs by kind."""
    some = [rng.choice(sources) for _ in range(EACH)]
    characters = sorted({character for source in sources for character in source})
    return {
        "hand-written": list(HAND_WRITTEN),
        "impossible": [impossible(rng) for _ in range(EACH)],
        "incomplete": [incomplete(rng) for _ in range(EACH)],
        "cut": [cut(source, rng) for source in some],
        "two at once": [f"{source} {rng.choice(sources)}" for source in some],
        "shuffled": [shuffled(source, rng) for source in some],
        "noise": ["".join(rng.choices(characters, k=rng.randint(3, 20))) for _ in some],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", metavar="RUN", help="a run on data/dates")
    parser.add_argument("--ordinary", type=int, default=ORDINARY, metavar="N")
    add_out_option(parser, "oddities")
    options = parser.parse_args()
    reader = EngineReader.load(options.run)
    if reader.calibration is None or reader.calibration.familiarity is None:
        sys.exit(f"{options.run}: has no familiarity; train it again")
    pairs = read_pairs(ROOT / "data/dates/test.tsv")[: options.ordinary]
    sources = [pair.source for pair in pairs]
    odd = made(sources, random.Random(1))
    fitted, rows = reader.calibration, []
    for name in ("without", "with"):
        kept = fitted.familiarity if name == "with" else None
        reader.calibration = dataclasses.replace(fitted, familiarity=kept)
        confidences = {
            kind: [each.confidence for each in Translator(reader).translate(texts)]
            for kind, texts in {"ordinary": sources, **odd}.items()
        }
        ordinary = confidences.pop("ordinary")
        answered = sum(value >= 0.5 for value in ordinary) / len(ordinary)
        for kind, values in confidences.items():
            area = auroc([*ordinary, *values], [True] * len(ordinary) + [False] * len(values))
            turned_away = sum(value < 0.5 for value in values)
            rows.append(
                {
                    "familiarity": name,
                    "kind": kind,
                    "n": len(values),
                    "turned_away": turned_away,
                    "share": turned_away / len(values),
                    "area": area,
                    "ordinary_answered": answered,
                    "ordinary_n": len(ordinary),
                }
            )
            print(f"{name} familiarity, {kind}: {turned_away} of {len(values)}, area {area:.3f}")
        print(f"{name} familiarity: {answered:.4f} of {len(ordinary)} ordinary dates answered")
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
