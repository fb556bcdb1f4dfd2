"""Translates files of any size on Apache Beam: on this machine, on Flink, on Spark or on Dataflow.

    pip install "keras-attention-seq2seq[beam]"     (in a clone: -r requirements-beam.txt)
    python -m keras_attention.beam EXPORT 'texts/*.txt' --output translated [Beam's own options]

Each input line is one source text (UTF-8; plain, gzip or bzip2 by suffix). A PATTERN that is the
name of a file on this machine is that file, whatever signs are in it. Two kinds of files are
written, each line beginning with where it came from, `FILE<TAB>LINE<TAB>`, since the order is that
of the work:

    OUTPUT-translations-00000-of-00004.tsv    ... translation, log-probability, confidence
    OUTPUT-malformed-00000-of-00001.tsv       ... what is wrong, the line as ASCII

Every input line is in one of the two; where a file cannot be read on, the line that would have come
next is malformed, and other files are translated. `sort -t$'\\t' -k1,1 -k2,2n` brings back the
order. On one machine, `--direct_num_workers 2 --direct_running_mode multi_processing` uses two
cores. EXPORT is a folder that every worker can read, for instance in its container image.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import pathlib
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from keras_attention._runtime.command_line import Parser, exit_with_user_errors
from keras_attention._runtime.installation import missing_extra
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import read_manifest
from keras_attention.pairs.lines import is_blank, strip_line
from keras_attention.readers.translator import Translator, needs_tensorflow


def _tell_what_is_needed(arguments: list[str]) -> None:
    raise missing_extra("beam", "beam")


try:
    import apache_beam as beam
    from apache_beam.io import fileio
    from apache_beam.io.filesystem import BeamIOError, CompressionTypes
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.metrics import Metrics
    from apache_beam.ml.inference.base import KeyedModelHandler, ModelHandler, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
except ImportError:
    if __name__ == "__main__":  # where nothing further on would turn it into one line
        exit_with_user_errors(_tell_what_is_needed, [])
    _tell_what_is_needed([])

# Sources are batched with others of the same range of lengths; the last range is open.
LENGTH_BOUNDARIES = [8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256, 512, 1024]
ROWS_PER_BATCH = 256

NAMESPACE = "keras_attention"


class Result(NamedTuple):
    """What a model makes of one text."""

    text: str
    log_probability: float
    confidence: float


class ExportHandler(ModelHandler[str, Result, Translator]):
    """Lets `RunInference` translate texts with an export, greedily.

    Texts, also keyed ones, are batched with texts of similar length, so that little is padding.
    An export with weights in an open format is read without TensorFlow; of an older one every
    worker loads the SavedModel.

    Args:
        export: The export folder, as every worker sees it.
        rows_per_batch: Texts that are translated together at most.
    """

    def __init__(self, export: str, rows_per_batch: int = ROWS_PER_BATCH):
        super().__init__(
            max_batch_size=rows_per_batch,
            batch_length_fn=text_length,
            batch_bucket_boundaries=LENGTH_BOUNDARIES,
        )
        self._export = export

    def load_model(self) -> Translator:
        """The opened export; called once on each worker."""
        if needs_tensorflow(self._export, None):
            from keras_attention._runtime.quiet import import_tensorflow_quietly

            import_tensorflow_quietly()
        return Translator.load(self._export)

    def run_inference(
        self, batch: Sequence[str], model: Translator, inference_args: dict | None = None
    ) -> Iterable[Result]:
        """Translates the texts of one batch; where they are long, the model takes few at a time."""
        return [Result(t.text, t.log_probability, t.confidence) for t in model.translate(batch)]

    def get_metrics_namespace(self) -> str:
        return NAMESPACE


def text_length(element: str | tuple[Any, str]) -> int:
    """Characters of a text, which may have a key before it."""
    return len(element if isinstance(element, str) else element[1])


MALFORMED = "malformed"


class ReadLines(beam.DoFn):
    """Paths into `((path, line number from 1), line as bytes)`; blank lines count, too.

    Where a file cannot be read, its next line goes to the output `malformed` with the reason: one
    broken file among many does not stop the others.
    """

    def process(self, path: str) -> Iterator:
        number = 0
        try:
            with _opened(path) as file:
                while raw := file.readline():
                    number += 1
                    yield (path, number), strip_line(number, raw)
        except (OSError, EOFError, zlib.error, BeamIOError) as error:
            reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            Metrics.counter(NAMESPACE, "malformed").inc()
            yield beam.pvalue.TaggedOutput(MALFORMED, ((path, number + 1), reason, b""))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A file's bytes, decompressed by its suffix.

    Beam's own decompression takes a file that was cut off for a whole one.
    """
    unpacking: dict[str, Callable[[Any], Any]] = {
        ".gz": lambda file: gzip.GzipFile(fileobj=file),
        ".bz2": bz2.BZ2File,
    }
    unpack = unpacking.get(pathlib.PurePath(path).suffix)
    kind = CompressionTypes.UNCOMPRESSED if unpack else CompressionTypes.AUTO
    with FileSystems.open(path, "application/octet-stream", compression_type=kind) as file:
        if unpack is None:
            yield file
        else:
            with unpack(file) as unpacked:
                yield unpacked


class CheckLines(beam.DoFn):
    """Lines as bytes into texts; what is no text goes to the output `malformed` with its reason.

    Args:
        longest_source: Characters that a text may have.
    """

    def __init__(self, longest_source: int):
        self._longest_source = longest_source

    def process(self, element: tuple[tuple[str, int], bytes]) -> Iterator:
        place, line = element
        text, reason = None, None
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"invalid UTF-8 at byte {error.start + 1}"
        else:
            if is_blank(line):
                reason = "empty"
            elif "\0" in text:
                reason = "holds a NUL character"
            elif len(text) > self._longest_source:
                reason = f"{len(text)} characters, more than {self._longest_source}"
        Metrics.counter(NAMESPACE, "malformed" if reason else "well_formed").inc()
        if reason:
            yield beam.pvalue.TaggedOutput(MALFORMED, (place, reason, line))
        else:
            yield place, text


def translate_files(
    pipeline: beam.Pipeline, export: str, patterns: Sequence[str], output: str, longest_source: int
) -> None:
    """Adds reading, translating and writing to a pipeline; see the module for the files."""
    read = (
        pipeline
        | "Patterns" >> beam.Create(list(patterns))
        | fileio.MatchAll(fileio.EmptyMatchTreatment.DISALLOW)
        | "Paths" >> beam.Map(lambda match: match.path)
        | "Read lines" >> beam.ParDo(ReadLines()).with_outputs(MALFORMED, main="lines")
    )
    lines = (
        read.lines
        | "Spread over workers" >> beam.Reshuffle()
        | "Check" >> beam.ParDo(CheckLines(longest_source)).with_outputs(MALFORMED, main="texts")
    )
    _ = (
        lines.texts
        | "Translate" >> RunInference(KeyedModelHandler(ExportHandler(export)))
        | "Translation lines" >> beam.Map(_format_result)
        | "Write translations"
        >> beam.io.WriteToText(f"{output}-translations", file_name_suffix=".tsv")
    )
    _ = (
        (read[MALFORMED], lines[MALFORMED])
        | "All malformed" >> beam.Flatten()
        | "Malformed lines" >> beam.Map(_format_malformed)
        | "Write malformed" >> beam.io.WriteToText(f"{output}-malformed", file_name_suffix=".tsv")
    )


def _format_result(element: tuple[tuple[str, int], Result]) -> str:
    (path, number), result = element
    scores = f"{result.log_probability:.6f}\t{result.confidence:.6f}"
    return f"{path}\t{number}\t{result.text}\t{scores}"


def _format_malformed(element: tuple[tuple[str, int], str, bytes]) -> str:
    (path, number), reason, line = element
    return f"{path}\t{number}\t{reason}\t{ascii(line)}"


def _check_inputs(patterns: Sequence[str]) -> list[str]:
    """The patterns, in which a file of this machine is spelt so that it stands for itself alone."""
    checked = []
    for pattern in patterns:
        if os.path.isdir(pattern):
            raise UserError(f"{pattern}: is a folder; name its files, for instance {pattern}/*")
        if os.path.isfile(pattern):
            pattern = "".join(f"[{sign}]" if sign in "[*?" else sign for sign in pattern)
        if not FileSystems.match([pattern], limits=[1])[0].metadata_list:
            raise UserError(f"{pattern}: no such file; name existing text files")
        checked.append(pattern)
    return checked


def _check_output(output: str) -> None:
    there = FileSystems.match([f"{output}-*"], limits=[1])[0].metadata_list
    if there:  # of other runs, with another number of files
        raise UserError(f"--output: {there[0].path} exists already; choose another prefix")
    if "://" in output:
        return
    folder = pathlib.Path(output).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"--output: {folder} cannot be written to: {error.strerror}; choose another prefix"
        ) from None


def _beam_options(arguments: list[str]) -> PipelineOptions:
    """Beam's own options; an unknown one is refused where the work runs on this machine.

    Elsewhere, the runner's job server knows more of them than this installation does.
    """
    parser = Parser(prog="python -m keras_attention.beam", add_help=False)
    for kind in PipelineOptions.__subclasses__():
        kind._add_argparse_args(parser)  # the hook by which Beam's users define options
    known, unknown = parser.parse_known_args(arguments)
    if unknown and _is_local(known.runner):
        parser.error(f"unrecognized arguments: {unknown[0]}")
    return PipelineOptions(arguments)


def _is_local(runner: str | None) -> bool:
    return runner in (None, "DirectRunner", "PrismRunner")


@contextlib.contextmanager
def _without_leftovers(output: str) -> Iterator[None]:
    """Removes Beam's temporary folders where the work fails."""
    try:
        yield
    except BaseException:
        if "://" not in output:
            path = pathlib.Path(output)
            for folder in path.parent.iterdir():
                if folder.name.startswith(f"beam-temp-{path.name}-"):
                    shutil.rmtree(folder, ignore_errors=True)
        raise


def main(arguments: list[str]) -> None:
    parser = Parser(prog="python -m keras_attention.beam", description=__doc__)
    parser.add_argument("export", metavar="EXPORT", help="an export folder")
    parser.add_argument("inputs", metavar="PATTERN", nargs="+", help="text files, * allowed")
    parser.add_argument("--output", required=True, metavar="PREFIX", help="begins all output names")
    parser.add_argument(
        "--longest-source",
        type=int,
        default=10_000,
        metavar="N",
        help="characters of a line, above which it counts as malformed (default: 10000)",
    )
    options, for_beam = parser.parse_known_args(arguments)
    if options.longest_source < 1:
        raise UserError(f"--longest-source: must be at least 1. Received: {options.longest_source}")
    beam_options = _beam_options(for_beam)
    inputs = _check_inputs(options.inputs)
    if _is_local(beam_options.view_as(StandardOptions).runner):
        read_manifest(pathlib.Path(options.export))  # elsewhere, only the workers may see it
    _check_output(options.output)
    with _without_leftovers(options.output):
        pipeline = beam.Pipeline(options=beam_options)
        translate_files(pipeline, options.export, inputs, options.output, options.longest_source)
        result = pipeline.run()
        result.wait_until_finish()
    counters = result.metrics().query()["counters"]
    counts = {c.key.metric.name: c.result for c in counters if c.key.metric.namespace == NAMESPACE}
    print(
        f"{counts.get('well_formed', 0)} lines translated, {counts.get('malformed', 0)} malformed"
    )


if __name__ == "__main__":
    # Classes of the module __main__ could not be found again by the workers.
    from keras_attention import beam as importable

    exit_with_user_errors(importable.main, sys.argv[1:])
