"""Dates read by a trained model, by dateparser and by python-dateutil: exact match and time.

    pip install -r requirements-benchmarks.txt
    python benchmarks/date_parsers.py MODEL [--other-models MODEL ...]

MODEL is a run, an export or a .tflite file. Three lists: the test dates of `data/dates`, of forms
that the model was trained on; the same number of dates as people and programs type them, in forms
that training data never show (`TYPED`, a held-out date each); and half of both mixed, for the
question whether the model's confidence tells its right answers from its wrong ones. The parsers get
what their settings allow: the languages, month before day, two-digit years as POSIX reads them.
About three minutes on two cores, nearly all of it dateparser's.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import itertools
import pathlib
import random
import sys
import time
from collections.abc import Callable, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.result_files import add_out_option, write_results  # noqa: E402
from keras_attention.commands import load_translator  # noqa: E402
from keras_attention.datasets.dates import MONTHS, form_of  # noqa: E402
from keras_attention.evaluation.confidence import (  # noqa: E402
    accuracy_coverage,
    auroc,
    expected_calibration_error,
)
from keras_attention.pairs.pair import Pair  # noqa: E402
from keras_attention.pairs.pair_files import read_pairs, write_pairs  # noqa: E402

# Whatever a template of `datasets.dates` writes as well, in any letter case, is left out.
TYPED = (
    "{name} {day} {year}",
    "{name} {day},{year}",
    "{name} {day:02}, {year}",
    "{abbr}. {day}, {year}",
    "{abbr} {day} {year}",
    "{abbr} {day}, '{short}",
    "{day} {name}, {year}",
    "{day}-{abbr}-{year}",
    "{day}-{abbr}-{short}",
    "{day} {abbr}. {year}",
    "the {day}{suffix} of {name}, {year}",
    "{day}{suffix} {abbr} {year}",
    "{abbr} {day}{suffix} {year}",
    "{year} {name} {day}",
    "{year}-{abbr}-{day:02}",
    "{week}, {abbr} {day}, {year}",
    "{weekday} {day} {name} {year}",
    "{weekday}, {day} {name} {year}",
    "{month}-{day}-{year}",
    "{month} / {day} / {year}",
    "{year} {month:02} {day:02}",
    "{year}{month:02}{day:02}",
    "{year}-{month:02}-{day:02}T00:00:00",
    "{name} {day}, {year} at 5pm",
    "{typo} {day}, {year}",
    "{year}년 {month:02}월 {day:02}일",
    "{year}. {month:02}. {day:02}",
    "{month}월 {day}일 {year}년",
    "'{short}년 {month}월 {day}일",
)
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL")
    add_out_option(parser, "date_parsers")
    parser.add_argument("--typed-out", metavar="FILE.tsv", help="write the typed dates there")
    parser.add_argument(
        "--other-models", nargs="*", default=[], metavar="MODEL", help="also read the typed dates"
    )
    options = parser.parse_args()
    test = read_pairs(ROOT / "data/dates/test.tsv")
    typed, template_of = typed_pairs(test)
    if options.typed_out:
        write_pairs(options.typed_out, typed)
    translator = load_translator(options.model)
    translator.translate([pair.source for pair in test[:300]])  # compiles

    def model(sources: Sequence[str]) -> list[str]:
        return [translation.text for translation in translator.translate(sources)]

    ways = {
        "the model": model,
        "dateparser": one_by_one(dateparser_reader()),
        "python-dateutil": one_by_one(dateutil_reader()),
    }
    results = accuracies(ways, test, typed, template_of)
    print_accuracies(results)
    results["confidence"] = confidence(translator, test, typed)
    print_confidence(results["confidence"])
    results["other_seeds"] = [
        share_right(load_translator(other), typed) for other in options.other_models
    ]
    print("\nOther models on the typed forms:", *results["other_seeds"])
    write_results(options.out, results)


def typed_pairs(test: list[Pair]) -> tuple[list[Pair], list[str]]:
    """As many typed dates as test dates, and the template of each."""
    rng = random.Random(SEED)
    pairs, templates = [], []
    following = itertools.cycle(TYPED)
    for pair in test:
        date = datetime.date.fromisoformat(pair.target)
        source = pair.source
        while form_of(source):
            template = next(following)
            source = written(date, template, rng)
        pairs.append(Pair(source, pair.target))
        templates.append(template)
    return pairs, templates


def written(date: datetime.date, template: str, rng: random.Random) -> str:
    name = MONTHS[date.month - 1]
    place = 1 + int(rng.random() * (len(name) - 1))
    teen = date.day in (11, 12, 13)
    weekday = date.strftime("%A")
    return template.format(
        name=name,
        abbr=name[:3],
        typo=name[:place] + name[place + 1 :],  # a letter, not the first, is missing
        weekday=weekday,
        week=weekday[:3],
        day=date.day,
        suffix="th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th"),
        month=date.month,
        year=date.year,
        short=f"{date.year % 100:02}",
    )


def posix_year(year: int) -> int:
    return year if year >= 100 else year + (1900 if year >= 69 else 2000)


def dateutil_reader() -> Callable[[str], str]:
    from dateutil import parser

    class PosixYears(parser.parserinfo):
        def convertyear(self, year, century_specified=False):
            return year if century_specified else posix_year(year)

    info = PosixYears(dayfirst=False, yearfirst=False)
    return lambda text: parser.parse(text, info).date().isoformat()


def dateparser_reader() -> Callable[[str], str]:
    import dateparser

    settings = {"DATE_ORDER": "MDY", "PREFER_DATES_FROM": "current_period"}
    read = dateparser.parse
    return lambda text: read(text, languages=["en", "ko"], settings=settings).date().isoformat()


def one_by_one(read: Callable[[str], str]) -> Callable[[Sequence[str]], list[str]]:
    """Reads many; what a parser refuses is an empty answer."""

    def read_all(sources: Sequence[str]) -> list[str]:
        answers = []
        for source in sources:
            try:
                answers.append(read(source))
            except (ValueError, OverflowError, AttributeError, TypeError):
                answers.append("")
        return answers

    return read_all


def accuracies(ways: dict, test: list[Pair], typed: list[Pair], template_of: list[str]) -> dict:
    """Exact match of each way on each list and each typed form, and its time for a date."""
    right_of, readers = {}, []
    for name, read_all in ways.items():
        started = time.perf_counter()
        answers = read_all([pair.source for pair in [*test, *typed]])
        milliseconds = 1000 * (time.perf_counter() - started) / (len(test) + len(typed))
        right = [a == p.target for a, p in zip(answers, [*test, *typed], strict=True)]
        right_of[name] = right[len(test) :]
        readers.append(
            {
                "reader": name,
                "test": sum(right[: len(test)]) / len(test),
                "typed": sum(right_of[name]) / len(typed),
                "ms": milliseconds,
            }
        )
    rows = collections.defaultdict(list)
    for row, template in enumerate(template_of):
        rows[template].append(row)
    forms = [
        {
            "example": typed[chosen[0]].source,
            "n": len(chosen),
            **{n: sum(right_of[n][row] for row in chosen) / len(chosen) for n in ways},
        }
        for chosen in rows.values()
    ]
    return {"readers": readers, "forms": forms}


def print_accuracies(results: dict) -> None:
    print("| | test forms | typed forms | ms a date |\n|---|---|---|---|")
    for row in results["readers"]:
        print(f"| {row['reader']} | {row['test']:.4f} | {row['typed']:.4f} | {row['ms']:.3f} |")
    names = [row["reader"] for row in results["readers"]]
    print(f"\n| typed form | n | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for row in results["forms"]:
        cells = " | ".join(f"{row[name]:.2f}" for name in names)
        print(f"| `{row['example']}` | {row['n']} | {cells} |")


def share_right(translator, pairs: list[Pair]) -> float:
    translations = translator.translate([pair.source for pair in pairs])
    right = [t.text == pair.target for t, pair in zip(translations, pairs, strict=True)]
    return sum(right) / len(right)


def confidence(translator, test: list[Pair], typed: list[Pair]) -> list[dict]:
    """What the confidence is worth on test forms, and on a mixture with forms never seen."""
    half, found = len(test) // 2, []
    for name, pairs in (("test forms", test), ("half typed forms", [*test[:half], *typed[half:]])):
        translations = translator.translate([pair.source for pair in pairs])
        right = [t.text == pair.target for t, pair in zip(translations, pairs, strict=True)]
        confidences = [t.confidence for t in translations]
        points = accuracy_coverage(confidences, right)
        found.append(
            {
                "pairs": name,
                "n": len(pairs),
                "exact_match": sum(right) / len(right),
                "calibration_error": float(expected_calibration_error(confidences, right)),
                "auroc": auroc(confidences, right),
                "coverage": [
                    {
                        "coverage": point.coverage,
                        "min_confidence": float(point.min_confidence),
                        "exact_match": float(point.exact_match),
                    }
                    for point in points
                ],
            }
        )
    return found


def print_confidence(found: list[dict]) -> None:
    for row in found:
        area = row["auroc"]
        print(
            f"\n{row['pairs']} (n={row['n']}): exact match {row['exact_match']:.4f}, expected "
            f"calibration error {row['calibration_error']:.4f}, AUROC of "
            f"right against wrong {'–' if area is None else f'{area:.4f}'}"
        )
        for point in row["coverage"]:
            print(
                f"  {point['coverage']:>6.1%} with confidence of at least "
                f"{point['min_confidence']:.4f}: {point['exact_match']:.4f}"
            )


if __name__ == "__main__":
    main()
