"""Alignment by attention against the gold alignment of data/dates.

    python -m benchmarks.letter_alignment runs/dates

The alignment error rate of Och and Ney (2003), over the test dates that are answered rightly: 1 -
(|A and S| + |A and P|) / (|A| + |S|), where A are the links, S the sure and P all gold ones. Three
rules: the project's; the largest weight of each token alone; the best path in order alone.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.readers.attention_links import links_of, path_in_order
from keras_attention.readers.translator import Translator

RULES = {
    "rule": lambda weights: [link.source for link in links_of(weights)],
    "largest weight": lambda weights: np.argmax(weights, axis=1).tolist(),
    "path in order": lambda weights: path_in_order(weights).tolist(),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", metavar="RUN", help="a run on data/dates")
    parser.add_argument("--most", type=int, default=5000, metavar="N", help="test dates, at most")
    add_out_option(parser, "letter_alignment")
    options = parser.parse_args()
    pairs = read_pairs(ROOT / "data/dates/test.tsv")[: options.most]
    found = Translator.load(options.run).translate([pair.source for pair in pairs])
    right = [(p, f) for p, f in zip(pairs, found, strict=True) if p.target == f.text]
    rows = []
    for name, rule in RULES.items():
        sure = possible = ours = gold = 0
        for pair, answer in right:
            links = {(place, row) for row, place in enumerate(rule(answer.attention_weights))}
            strict = {(link.source, link.target) for link in pair.alignment if link.sure}
            either = {(link.source, link.target) for link in pair.alignment}
            sure, possible = sure + len(links & strict), possible + len(links & either)
            ours, gold = ours + len(links), gold + len(strict)
        error = 1 - (sure + possible) / (ours + gold)
        rows.append(
            {"rule": name, "n": len(right), "error": error, "precision": possible / ours}
            | {"recall": sure / gold}
        )
        print(
            f"{name}: alignment error rate {error:.4f}, precision {possible / ours:.4f}, "
            f"recall {sure / gold:.4f}"
        )
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
