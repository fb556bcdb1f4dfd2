"""Audits a model's attention: is it an explanation? A report with a verdict."""

from __future__ import annotations

import pathlib
import sys

from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import verb_parser
from keras_attention.errors import UserError
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import load_split

# Names of the parts, here, so that --help and mistakes need no TensorFlow.
PARTS = ("agreement", "interventions", "adversarial", "erasure", "alignment")
EXAMPLES = 500
BAR = 30


def run(arguments: list[str]) -> None:
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

    import_tensorflow_quietly()
    import tensorflow as tf

    from keras_attention._runtime.files import make_folder
    from keras_attention.explanation.audit import audit_run, choose
    from keras_attention.explanation.measures.subject import SequenceSubject
    from keras_attention.explanation.pages.write import write_report
    from keras_attention.readers.run import load_run

    loaded = load_run(options.run)
    SequenceSubject(loaded)  # refuses a model without attention before data is read
    pairs, train = _pairs(options, loaded.config)
    count = options.examples or len(pairs)
    out = make_folder(options.out or pathlib.Path("explanations") / _name(options.run))
    tf.config.experimental.enable_op_determinism()
    report = audit_run(
        loaded,
        choose(pairs, count, options.seed),
        options.seed,
        parts=(options.only,) if options.only else PARTS,
        progress=_show_progress,
        train=train,
    )
    write_report(report, out)
    for judgement in report.verdict.judgements:
        value = judgement.number.value
        shown = "undefined" if value is None else f"{value:.3f}"
        print(f"{judgement.outcome:>9}  {judgement.criterion.question} {shown}")
    print(f"{report.verdict.overall}: {report.verdict.reason}")
    print(out / "report.html")


def _pairs(options, config):
    """The pairs to audit, and those to train baselines on or None."""

    def part(name: str):
        try:
            return load_split(
                config.data, name, config.seed, config.source_tokens, config.target_tokens
            )
        except UserError as error:
            wish = "give DATA.tsv" if options.data is None else "leave out --train-baselines"
            raise UserError(f"the data that the run was trained on: {error}; or {wish}") from None

    if options.data is not None:
        pairs = read_pairs(options.data, config.source_tokens, config.target_tokens)
    else:
        pairs = part("test")
    return pairs, (part("train") if options.train_baselines else None)


def _name(path: str) -> str:
    return pathlib.Path(path).resolve().name


def _show_progress(part: str, done: int, total: int) -> None:
    """A bar that fills on a terminal, one line for each part elsewhere."""
    if sys.stderr.isatty():
        filled = BAR * done // max(total, 1)
        end = "\n" if done >= total else ""
        print(
            f"\r{part:>14} {'█' * filled}{'░' * (BAR - filled)} {done}/{total}",
            end=end,
            file=sys.stderr,
            flush=True,
        )
    elif done >= total:
        print(f"{part}: done", file=sys.stderr, flush=True)
