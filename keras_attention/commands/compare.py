"""Trains fixed-vector, peeky and attention models side by side: figures and one table.

Three tasks: the data, and copy and reverse of random strings of 5 to 60 letters. A comparison that
was interrupted goes on where it was when it is started again with the same --out.
"""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Sequence

from keras_attention._runtime.files import replacing
from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores
from keras_attention.commands import verb_parser
from keras_attention.errors import UserError


def run(arguments: list[str]) -> None:
    parser = verb_parser("compare", __doc__)
    parser.add_argument("--data", default="data/dates", metavar="PATH", help="default: data/dates")
    parser.add_argument("--out", metavar="DIR", help="default: comparisons/NAME, NAME of the data")
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="models each (default: 1)"
    )
    parser.add_argument("--epochs", type=int, metavar="N", help="default: what each task needs")
    options = parser.parse_args(arguments)
    for name in ("seeds", "epochs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"--{name}: must be at least 1. Received: {value}")
    divide_cores()
    import_tensorflow_quietly()
    from keras_attention.comparison.comparison import compare, length_table, make_tasks, table
    from keras_attention.comparison.figures import plot_curves, plot_gradient_norms, plot_lengths
    from keras_attention.plots.figure_files import save_figure

    # The data first: a mistake in them leaves no empty folder behind.
    tasks = make_tasks(options.data, seed=1, epochs=options.epochs)
    place = options.out or pathlib.Path("comparisons") / pathlib.Path(options.data).stem
    with folder_lock(place) as out:
        results = compare(tasks, range(1, options.seeds + 1), out, print)
        save_figure(plot_curves(results), out / "exact_match_per_epoch.png")
        save_figure(plot_lengths(results), out / "exact_match_by_length.png")
        save_figure(plot_gradient_norms(results), out / "gradient_norms.png")
        lines = table(results)
        _write_csv(out / "table.csv", lines)
        _print_table(lines)
        for task in tasks:
            lines = length_table(results, task.name)
            _write_csv(out / f"by_length_{task.name}.csv", lines)
            print(f"\n{task.name}: exact match by source length")
            _print_table(lines)
        print(f"\nfigures and tables are in {out}")


def _write_csv(path: pathlib.Path, lines: Sequence[tuple[str, ...]]) -> None:
    with (
        replacing(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows(lines)


def _print_table(lines: Sequence[tuple[str, ...]]) -> None:
    print()
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
