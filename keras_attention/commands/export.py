"""Writes and checks everything that a run is deployed with.

Writes a SavedModel for TF Serving (strings in, strings, scores and attention out), the inference
model for Keras, and LiteRT files, each checked against the run; see docs/shipping.md. Several runs
become one model that decodes by the mean of their probabilities.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

from keras_attention._runtime.files import check_place, write_text
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import load_translator, members_of, verb_parser
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import is_export
from keras_attention.folders.run_folder import is_finished, is_run, read_metrics
from keras_attention.pairs.exceptions import Exceptions, read_exceptions
from keras_attention.pairs.pair_files import read_pairs

REFUSED = 3  # not 2: nobody made a mistake


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    folders = members_of(options.run)
    if not folders and is_export(options.run) and not is_run(options.run):
        _replace_exceptions(pathlib.Path(options.run), options)
        return
    name, out = _name_and_place(folders or [options.run], options.out)
    _check_utf8(name, out)

    import_tensorflow_quietly()
    from keras_attention.export.exporter import (
        ExportOptions,
        checked_sources,
        export,
        longest_source_of,
        longest_text_of,
    )
    from keras_attention.readers.members import length_penalty_of_members
    from keras_attention.readers.run import load_ensemble, load_run

    loaded = load_ensemble(folders) if folders else load_run(options.run)
    if options.against:
        _compare(options)
    sources = checked_sources(loaded)
    longest_source = options.longest_source
    if longest_source is None:
        longest_source = longest_source_of(loaded, sources)
    longest_text = options.longest_text
    if longest_text is None:
        longest_text = longest_text_of(sources)
    exceptions = options.exceptions and read_exceptions(
        options.exceptions, loaded.source, loaded.target, loaded.longest_output, longest_text
    )
    length_penalty = options.length_penalty
    if length_penalty is None:
        length_penalty = length_penalty_of_members(folders or [options.run])
    wanted = ExportOptions(
        name,
        options.beam_width,
        length_penalty,
        longest_source,
        longest_text,
        options.largest_batch,
        exceptions,
        read_metrics(options.run) if not folders and is_finished(options.run) else {},
    )
    print(
        f"exporting {options.run} to {out}, checking every artefact on {len(sources)} sources",
        flush=True,  # it takes a while, and a pipe would show it at the end
    )
    _print_table(export(loaded, sources, out, wanted))
    if exceptions is not None:
        print(_about_exceptions(options.run, exceptions))


def _about_exceptions(model: str, exceptions: Exceptions) -> str:
    """How many there are, and how many of them the model itself would answer alike."""
    answers = load_translator(model).translate(list(exceptions))
    alike = sum(a.text == e for a, e in zip(answers, exceptions.values(), strict=True))
    count = f"{len(exceptions)} exception{'s' * (len(exceptions) != 1)}"
    return f"{count}, of which the model alone answers {alike} alike"


def _replace_exceptions(export: pathlib.Path, options: argparse.Namespace) -> None:
    """`export EXPORT --exceptions FILE`: the same model with another dictionary."""
    if not options.exceptions or options.out or options.against:
        raise UserError(
            f"RUN: {export} is an export already; name a run, or give --exceptions alone for "
            "another dictionary beside its model"
        )
    import_tensorflow_quietly()
    from keras_attention.export.new_exceptions import publish_exceptions

    exceptions, version = publish_exceptions(export, options.exceptions)
    print(f"{export}: version {version}, {len(exceptions)} exceptions; the model is as before")


def _compare(options: argparse.Namespace) -> None:
    """Ends the command where the run is significantly worse than the export that it would replace.

    Raises:
        SystemExit: it is; the status tells this from a mistake.
    """
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.evaluation.reports.change import Change

    models = [load_translator(path) for path in (options.against, options.run)]
    pairs = read_pairs(options.data, models[1].source_kind, models[1].target_kind)
    old, new = (evaluate(model, pairs) for model in models)
    change = Change.of(pairs, old, new)
    print(change.to_text())
    if options.comparison:
        write_text(options.comparison, json.dumps(change.to_dict(), ensure_ascii=False, indent=1))
    if not change.worse:
        return
    what = " and ".join(change.worse)
    if not options.publish_worse:
        print(
            f"refused: {options.run} is significantly worse than {options.against} by {what}; "
            "nothing was published. --publish-worse overrules this",
            file=sys.stderr,
        )
        raise SystemExit(REFUSED)
    print(f"published all the same: it is significantly worse by {what}")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = verb_parser("export", __doc__)
    parser.add_argument(
        "run",
        metavar="RUN",
        help="the run folder to ship; several, joined by commas, are shipped as one ensemble",
    )
    parser.add_argument(
        "--out",
        metavar="EXPORT",
        help="default: exports/NAME, NAME of the run, or of several joined by +",
    )
    parser.add_argument(
        "--beam-width", type=int, default=5, metavar="K", help="of the beam signature (default: 5)"
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        metavar="A",
        help="rank hypotheses by log_probability / length ** A (default: what training chose, else "
        "0)",
    )
    parser.add_argument(
        "--longest-source",
        type=int,
        metavar="S",
        help="tokens that the LiteRT files read (default: 64, or the run's longest test source)",
    )
    parser.add_argument(
        "--longest-text",
        type=int,
        metavar="N",
        help="characters of a text that the SavedModel reads; a longer one is answered with an "
        "empty text and confidence 0 (default: 4096, or the run's longest test source)",
    )
    parser.add_argument(
        "--largest-batch",
        type=int,
        default=2**19,
        metavar="N",
        help="characters of a batch that the SavedModel takes, every text padded to the longest "
        "(default: 524288)",
    )
    parser.add_argument(
        "--exceptions",
        metavar="FILE",
        help="a dictionary, lines source<TAB>answer, that wins over the model; EXPORT in place of "
        "RUN publishes the same model with another one",
    )
    _add_comparison_options(parser)
    options = parser.parse_args(arguments)
    for flag in ("data", "comparison", "publish_worse"):
        if getattr(options, flag) and not options.against:
            raise UserError(f"--{flag.replace('_', '-')}: needs --against EXPORT")
    if options.against and not options.data:
        raise UserError("--against: needs --data FILE, the pairs to compare on")
    if options.comparison:
        check_place("--comparison", options.comparison)
    return options


def _add_comparison_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--against",
        metavar="EXPORT",
        help="compare with this export first, on --data, and publish nothing if the run is "
        f"significantly worse (status {REFUSED})",
    )
    parser.add_argument("--data", metavar="FILE", help="the pairs for --against")
    parser.add_argument(
        "--comparison", metavar="FILE.json", help="write what --against finds as JSON"
    )
    parser.add_argument(
        "--publish-worse", action="store_true", help="publish whatever --against finds"
    )


def _name_and_place(folders: list[str], out: str | None) -> tuple[str, pathlib.Path]:
    """What a model is called, and where its export goes."""
    names = [pathlib.Path(folder).resolve().name for folder in folders]
    # An ensemble is something of its own, and is called as its user calls it.
    name = pathlib.Path(out).resolve().name if out and len(names) > 1 else "+".join(names)
    return name, pathlib.Path(out or pathlib.Path("exports") / name)


def _check_utf8(name: str, out: pathlib.Path) -> None:
    """TensorFlow takes paths as UTF-8 only, and would fail in the middle of the work."""
    for place, path in (("--out", str(out.absolute())), ("RUN", name)):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise UserError(
                f"{place}: {path} is not UTF-8, and TensorFlow writes no other paths; choose "
                "another folder"
            ) from None


def _print_table(rows) -> None:
    header = ("artefact", "kB", "ms/sentence", "same text", "score diff", "attention diff")
    lines = [header]
    for row in rows:
        parity = row.parity
        lines.append(
            (
                row.artefact,
                f"{row.bytes / 1000:.0f}",
                f"{row.milliseconds:.2f}",
                f"{parity.same_text}/{parity.n}",
                f"{parity.score_difference:.1e}",
                f"{parity.attention_difference:.1e}",
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        first, *rest = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([line[0].ljust(widths[0]), *rest]))
