"""Audits a model's attention: is it an explanation? A report with a verdict."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from keras_attention._runtime.progress import ProgressLines, duration
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import verb_parser
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.explanation import PARTS
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import Splits, StreamedSplits, load_part, open_splits

if TYPE_CHECKING:  # so that --help and mistakes need no TensorFlow
    from keras_attention.explanation.reporting.report import Report

EXAMPLES = 500
BAR = 30


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    import_tensorflow_quietly()
    import tensorflow as tf

    from keras_attention._runtime.lock import folder_lock
    from keras_attention.explanation.audit import audit_run, choose
    from keras_attention.explanation.measures.attribution_model import SequenceAttributionModel
    from keras_attention.explanation.pages.write import write_report
    from keras_attention.readers.run import load_run

    loaded = load_run(options.run)
    SequenceAttributionModel(loaded)  # refuses a model without attention before data is read
    pairs = _pairs(options, loaded.config)
    splits = _splits(loaded.config) if options.train_baselines else None
    chosen = choose(pairs, options.examples or len(pairs), options.seed)
    place = options.out or pathlib.Path("explanations") / _name(options.run)
    with folder_lock(place) as out:
        tf.config.experimental.enable_op_determinism()
        # Trainings of baselines draw bars; what this command prints is the outcome.
        with contextlib.redirect_stdout(sys.stderr):
            report = audit_run(
                loaded,
                chosen,
                options.seed,
                parts=(options.only,) if options.only else PARTS,
                progress=_ShownProgress(),
                splits=splits,
            )
        write_report(report, out)
    _print_outcomes(report)
    print(out / "report.html")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = verb_parser("explain", __doc__)
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument(
        "data", metavar="DATA.tsv", nargs="?", help="pairs to audit (default: the run's test part)"
    )
    parser.add_argument("--out", metavar="DIR", help="default: explanations/NAME, NAME of the run")
    parser.add_argument(
        "--only", metavar="PART", choices=PARTS, help=f"one part: {', '.join(PARTS)}; no verdict"
    )
    parser.add_argument(
        "--train-baselines",
        action="store_true",
        help="train uniform attention, no attention and other seeds for comparison: takes minutes",
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"how many pairs, drawn by --seed (default: {EXAMPLES}; 0: all)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    options = parser.parse_args(arguments)
    for name, least in (("examples", 0), ("seed", 0)):
        if getattr(options, name) < least:
            raise UserError(
                f"--{name}: must be at least {least}. Received: {getattr(options, name)}"
            )
    return options


def _pairs(options: argparse.Namespace, config: Config) -> list[Pair]:
    """The pairs to audit: those of DATA.tsv, else the test part of the run's data."""
    kinds = config.source_tokens, config.target_tokens
    if options.data is not None:
        return read_pairs(options.data, *kinds)
    with _told_what_to_do("give DATA.tsv"):
        return load_part(config.data, "test", config.seed, *kinds)


def _splits(config: Config) -> Splits | StreamedSplits:
    """All that the run was trained on; large training data stay in their files."""
    with _told_what_to_do("leave out --train-baselines"):
        return open_splits(
            config.data,
            config.seed,
            config.source_tokens,
            config.target_tokens,
            in_memory=config.shuffle_buffer,
        )


@contextlib.contextmanager
def _told_what_to_do(wish: str) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise UserError(f"the data that the run was trained on: {error}; or {wish}") from None


def _print_outcomes(report: Report) -> None:
    for judgement in report.verdict.judgements:
        value = judgement.number.value
        shown = "undefined" if value is None else f"{value:.3f}"
        print(f"{judgement.outcome:>9}  {judgement.criterion.question} {shown}")
    print(f"{report.verdict.overall}: {report.verdict.reason}")


def _name(path: str) -> str:
    return pathlib.Path(path).resolve().name


class _ShownProgress:
    """A bar that fills on a terminal; elsewhere a line now and then, and one for each part."""

    def __init__(self):
        self._lines: dict[str, ProgressLines] = {}

    def __call__(self, part: str, done: int, total: int) -> None:
        lines = self._lines.setdefault(part, ProgressLines(total, self._tell, unit=f"{part}:"))
        if sys.stderr.isatty():
            filled = BAR * done // max(total, 1)
            left = f" about {duration(lines.seconds_left(done))} left" if done < total else ""
            self._tell(
                f"\r{part:>14} {'█' * filled}{'░' * (BAR - filled)} {done}/{total}{left:<20}",
                "\n" if done >= total else "",
            )
        elif done >= total:
            self._tell(f"{part}: done")
        else:
            lines.tell(done)

    @staticmethod
    def _tell(text: str, end: str = "\n") -> None:
        print(text, end=end, file=sys.stderr, flush=True)
