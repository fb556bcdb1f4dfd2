"""Exact match of a date model on each written form: `python -m benchmarks.date_forms MODEL`.

MODEL is a run, an export or a .tflite file; the pairs are those of data/dates/test.tsv. Prints a
Markdown table. About 5 s for a run on 2 cores.
"""

import collections
import pathlib
import sys

from keras_attention.commands import load_translator
from keras_attention.datasets.dates import form_of
from keras_attention.pairs.pair_files import read_pairs

TEST = pathlib.Path(__file__).parent.parent / "data" / "dates" / "test.tsv"


def main(model: str) -> None:
    pairs = read_pairs(TEST)
    translations = load_translator(model).translate([pair.source for pair in pairs])
    right, total, example = collections.Counter(), collections.Counter(), {}
    for pair, translation in zip(pairs, translations, strict=True):
        form = form_of(pair.source)
        total[form] += 1
        right[form] += translation.text == pair.target
        example.setdefault(form, pair.source)
    print("| form | example | n | exact match |\n|---|---|---|---|")
    for form in sorted(total):
        share = right[form] / total[form]
        print(f"| `{form}` | {example[form]} | {total[form]} | {share:.4f} |")
    share = right.total() / total.total()
    print(f"| all | | {total.total()} | {share:.4f} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.date_forms MODEL")
    main(sys.argv[1])
