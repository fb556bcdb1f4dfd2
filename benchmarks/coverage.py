"""Sets of answers and abstaining: what is promised against what is measured on test.

    python -m benchmarks.coverage --dates runs/dates --data FOLDER [--languages kor hun ...]

FOLDER is that of `benchmarks.g2p`. A language whose run is missing under `--out` is trained first,
with `configs/g2p.json` (`--epochs` for fewer). Measures sets of coverage 0.9, 0.95 and 0.99, with
intervals of 95 %, and the promise of at most so many wrong. A language stands in the results as
soon as it is measured; what is there already is measured again only with `--again`.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib

from benchmarks.g2p import PARTS, prepare
from benchmarks.result_files import ROOT, add_out_option, read_results, write_results
from keras_attention.errors import UserError
from keras_attention.evaluation.evaluation import evaluate
from keras_attention.evaluation.trust.measured import COVERAGES, abstention, measure_sets
from keras_attention.folders.run_folder import is_finished
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.readers.translator import Translator

LANGUAGES = (
    *("ady", "arm", "bul", "dut", "fre", "geo", "gre", "hin"),
    *("hun", "ice", "jpn", "kor", "lit", "rum", "vie"),
)
MOST_WRONG = (0.01, 0.02, 0.05, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dates", metavar="RUN", help="a run on data/dates")
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="see benchmarks.g2p")
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES), choices=LANGUAGES)
    parser.add_argument("--runs", type=pathlib.Path, default="runs/coverage", metavar="FOLDER")
    parser.add_argument("--epochs", type=int, metavar="N", help="fewer than the recipe has")
    parser.add_argument("--most", type=int, default=2000, metavar="N", help="test pairs, at most")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    add_out_option(parser, "coverage")
    options = parser.parse_args()
    if options.dates:
        test = ROOT / "data/dates/test.tsv"
        write(options, measured("dates", pathlib.Path(options.dates), test, options.most))
    known = set()
    if options.out.is_file() and not options.again:
        known = {row["task"] for row in read_results(options.out.stem, options.out.parent)}
    for language in options.languages if options.data else ():
        if language not in known:
            folder = options.runs / "data" / language
            prepare(options.data, folder, language)
            run = options.runs / language
            train(options, folder, run)
            test = folder / f"{PARTS['test']}.tsv"
            write(options, measured(language, run, test, options.most))


def train(options, folder: pathlib.Path, run: pathlib.Path) -> None:
    """Trains one language, unless that is done."""
    if is_finished(run):
        return
    from keras_attention.commands.train import run as train_verb

    epochs = ["--epochs", str(options.epochs)] if options.epochs else []
    places = ["--data", str(folder), "--out", str(run)]
    train_verb(["--config", str(ROOT / "configs/g2p.json"), *places, "--resume", *epochs])


def measured(task: str, run: pathlib.Path, test: pathlib.Path, most: int) -> dict:
    """A row of results."""
    translator = Translator.load(run)
    pairs = read_pairs(test, translator.source_kind, translator.target_kind)
    answers = evaluate(translator, pairs)
    row: dict = {"task": task, "n": len(pairs), "exact_match": answers.exact_match, "sets": []}
    for coverage in COVERAGES:
        sets = measure_sets(translator, pairs[:most], coverage)
        row["sets"].append(dataclasses.asdict(sets))
        print(f"{task}: {sets.to_text().splitlines()[0]}", flush=True)
    row["abstention"] = []
    for share in MOST_WRONG:
        try:
            least = translator.confidence_for(share)
        except UserError as error:
            row["abstention"].append({"most_wrong": share, "refused": str(error)})
            continue
        row["abstention"].append(abstention(answers, least, share))
    return row


def write(options, row: dict) -> None:
    write_results(options.out, [row], ("task",))


if __name__ == "__main__":
    main()
