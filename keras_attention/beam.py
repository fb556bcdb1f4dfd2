"""Translates files of any size on Apache Beam: on this machine, on Flink, on Spark or on Dataflow.

    pip install -r requirements-beam.txt
    python -m keras_attention.beam EXPORT 'texts/*.txt' --output translated [Beam's own options]

Each input line is one source text (UTF-8; plain, gzip or bzip2 by suffix). Two kinds of files are
written, each line beginning with where it came from, `FILE<TAB>LINE<TAB>`, since the order is that
of the work:

    OUTPUT-translations-00000-of-00004.tsv    ... translation, log-probability, confidence
    OUTPUT-malformed-00000-of-00001.tsv       ... what is wrong, the line as ASCII

Every input line is in one of the two. `sort -t$'\\t' -k1,1 -k2,2n` brings back the order. On one
machine, `--direct_num_workers 2 --direct_running_mode multi_processing` uses two cores. EXPORT is a
folder that every worker can read, for instance in its container image.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from keras_attention._runtime.command_line import Parser, exit_with_user_errors
from keras_attention.batching.batches import POSITIONS_PER_BATCH
from keras_attention.errors import UserError
from keras_attention.pairs.lines import is_blank, strip_line
from keras_attention.readers.export_layout import described_version, read_manifest


def _tell_what_is_needed(arguments: list[str]) -> None:
    raise UserError(
        "beam: needs the packages of requirements-beam.txt; `pip install -r requirements-beam.txt`"
    )


try:
    import apache_beam as beam
    from apache_beam.io import fileio
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


class SavedModelHandler(ModelHandler[str, Result, Any]):
    """Lets `RunInference` translate texts with the SavedModel of an export, greedily.

    Texts, also keyed ones, are batched with texts of similar length, so that little is padding.
    Beam's own TensorFlow handler cannot be used: under Keras 3 it refuses a SavedModel.

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

    def load_model(self) -> Any:
        """The loaded SavedModel; called once on each worker, which alone imports TensorFlow."""
        from keras_attention._runtime.quiet import import_tensorflow_quietly

        export = pathlib.Path(self._export)
        folder = described_version(export, read_manifest(export))
        import_tensorflow_quietly()
        import tensorflow as tf

        return tf.saved_model.load(str(folder))

    def run_inference(
        self, batch: Sequence[str], model: Any, inference_args: dict | None = None
    ) -> Iterable[Result]:
        """Translates the texts of one batch, few at a time where they are long."""
        rows = max(1, POSITIONS_PER_BATCH // max(map(len, batch)))
        return [
            result
            for first in range(0, len(batch), rows)
            for result in _translate(batch[first : first + rows], model)
        ]

    def get_metrics_namespace(self) -> str:
        return NAMESPACE


def _translate(texts: Sequence[str], model: Any) -> Iterator[Result]:
    import tensorflow as tf

    outputs = model.signatures["serving_default"](text=tf.constant(list(texts), tf.string))
    names = ("text", "log_probability", "confidence")
    columns = (outputs[name].numpy().tolist() for name in names)
    for text, log_probability, confidence in zip(*columns, strict=True):
        yield Result(text.decode(), log_probability, confidence)


def text_length(element: str | tuple[Any, str]) -> int:
    """Characters of a text, which may have a key before it."""
    return len(element if isinstance(element, str) else element[1])


class ReadLines(beam.DoFn):
    """Paths into `((path, line number from 1), line as bytes)`; blank lines count, too."""

    def process(self, path: str) -> Iterator[tuple[tuple[str, int], bytes]]:
        with FileSystems.open(path, mime_type="application/octet-stream") as file:
            number = 0
            while raw := file.readline():
                number += 1
                yield (path, number), strip_line(number, raw)


class CheckLines(beam.DoFn):
    """Lines as bytes into texts; what is no text goes to the output `malformed` with its reason.

    Args:
        longest_source: Characters that a text may have.
    """

    MALFORMED = "malformed"

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
            yield beam.pvalue.TaggedOutput(self.MALFORMED, (place, reason, line))
        else:
            yield place, text


def translate_files(
    pipeline: beam.Pipeline, export: str, patterns: Sequence[str], output: str, longest_source: int
) -> None:
    """Adds reading, translating and writing to a pipeline; see the module for the files."""
    lines = (
        pipeline
        | "Patterns" >> beam.Create(list(patterns))
        | fileio.MatchAll(fileio.EmptyMatchTreatment.DISALLOW)
        | "Paths" >> beam.Map(lambda match: match.path)
        | "Read lines" >> beam.ParDo(ReadLines())
        | "Spread over workers" >> beam.Reshuffle()
        | "Check" >> beam.ParDo(CheckLines(longest_source)).with_outputs(main="texts")
    )
    _ = (
        lines.texts
        | "Translate" >> RunInference(KeyedModelHandler(SavedModelHandler(export)))
        | "Translation lines" >> beam.Map(_format_result)
        | "Write translations"
        >> beam.io.WriteToText(f"{output}-translations", file_name_suffix=".tsv")
    )
    _ = (
        lines[CheckLines.MALFORMED]
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


def _check_files(options: argparse.Namespace) -> None:
    for pattern in options.inputs:
        if not FileSystems.match([pattern], limits=[1])[0].metadata_list:
            raise UserError(f"{pattern}: no such file; name existing text files")
    there = FileSystems.match([f"{options.output}-*"], limits=[1])[0].metadata_list
    if there:  # of other runs, with another number of files
        raise UserError(f"--output: {there[0].path} exists already; choose another prefix")


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
    beam_options = PipelineOptions(for_beam)
    _check_files(options)
    if beam_options.view_as(StandardOptions).runner in (None, "DirectRunner"):
        read_manifest(pathlib.Path(options.export))  # elsewhere, only the workers may see it
    pipeline = beam.Pipeline(options=beam_options)
    translate_files(
        pipeline, options.export, options.inputs, options.output, options.longest_source
    )
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
