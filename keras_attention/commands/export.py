"""Writes and checks everything that a run is deployed with.

Writes a SavedModel for TF Serving (strings in, strings, scores and attention out), the inference
model for Keras, and LiteRT files, each checked against the run; see docs/shipping.md. Several runs
become one model that decodes by the mean of their probabilities.
"""

from __future__ import annotations

import pathlib

from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention.commands import members_of, verb_parser
from keras_attention.errors import UserError


def run(arguments: list[str]) -> None:
    options = _parse(arguments)
    folders = members_of(options.run)
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
    sources = checked_sources(loaded)
    longest_source = options.longest_source
    if longest_source is None:
        longest_source = longest_source_of(loaded, sources)
    length_penalty = options.length_penalty
    if length_penalty is None:
        length_penalty = length_penalty_of_members(folders or [options.run])
    wanted = ExportOptions(
        name,
        options.beam_width,
        length_penalty,
        longest_source,
        longest_text_of(sources) if options.longest_text is None else options.longest_text,
        options.largest_batch,
    )
    print(
        f"exporting {options.run} to {out}, checking every artefact on {len(sources)} sources",
        flush=True,  # it takes a while, and a pipe would show it at the end
    )
    _print_table(export(loaded, sources, out, wanted))


def _parse(arguments: list[str]):
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
    return parser.parse_args(arguments)


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
