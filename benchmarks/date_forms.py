"""Exact match of a date model on each written form: `python -m benchmarks.date_forms MODEL`.

MODEL is a run, an export or a .tflite file; the pairs are those of data/dates/test.tsv. Prints a
Markdown table. About 5 s for a run on 2 cores.
"""

import argparse
import collections
import pathlib

from benchmarks.result_files import add_out_option, write_results
from keras_attention.commands import load_translator
from keras_attention.datasets.dates import form_of
from keras_attention.pairs.pair_files import read_pairs

TEST = pathlib.Path(__file__).parent.parent / "data" / "dates" / "test.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL")
    add_out_option(parser, "date_forms")
    options = parser.parse_args()
    pairs = read_pairs(TEST)
    translations = load_translator(options.model).translate([pair.source for pair in pairs])
    right, total, example = collections.Counter(), collections.Counter(), {}
    for pair, translation in zip(pairs, translations, strict=True):
        form = form_of(pair.source)
        total[form] += 1
        right[form] += translation.text == pair.target
        example.setdefault(form, pair.source)
    print("| form | example | n | exact match |\n|---|---|---|---|")
    rows = []
    for form in sorted(total):
        share = right[form] / total[form]
        rows.append({"form": form, "n": total[form], "exact_match": share})
        print(f"| `{form}` | {example[form]} | {total[form]} | {share:.4f} |")
    share = right.total() / total.total()
    print(f"| all | | {total.total()} | {share:.4f} |")
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
