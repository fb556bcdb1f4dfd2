"""A run into an export folder: built aside, checked against each other, then moved into place."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.os_errors import describe
from keras_attention.engine.calibration import MEANINGS, meaning_of
from keras_attention.errors import UserError
from keras_attention.evaluation.parity import (
    HOSTILE_SOURCES,
    Parity,
    compare,
    milliseconds_per_call,
)
from keras_attention.evaluation.reports.card import Card
from keras_attention.export.litert import write_litert
from keras_attention.export.publish import publish, remove_leftovers
from keras_attention.export.requirements import needs
from keras_attention.export.saved_model import ServingLimits, write_saved_model
from keras_attention.export.warmup import replay_warmup
from keras_attention.export.weights import write_run_weights
from keras_attention.folders.card_file import may_write_card, write_card
from keras_attention.folders.export_layout import (
    BUILDING,
    FORMAT,
    INFERENCE,
    LITERT,
    SERVING,
    WEIGHTS,
    read_manifest,
    write_manifest,
)
from keras_attention.folders.run_folder import is_run
from keras_attention.folders.saved_model_files import load_saved_model, reason_of
from keras_attention.pairs.exceptions import EXCEPTIONS, Exceptions, write_exceptions
from keras_attention.pairs.splits import load_part
from keras_attention.readers.engine_reader import EngineReader
from keras_attention.readers.exceptions import exceptions_of_export
from keras_attention.readers.run import AnyRun
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import POSITIONS_PER_BATCH, Translator
from keras_attention.text.repair import repair
from keras_attention.version import __version__

# Texts of the run's test data that every artefact is checked on.
CHECKED = 5000
RANDOM_SOURCES = 500  # where there are no test data
LEAST_SOURCE_LENGTH = 64

# What an export can be asked for. Above the last two a hypothesis that does not exist could win a
# beam, and phones run out of memory.
RANGES = {
    "beam_width": (1, 1000),
    "length_penalty": (0, 2),
    "longest_source": (1, 100_000),
    "longest_text": (1, 1_000_000),
    "largest_batch": (POSITIONS_PER_BATCH, 2**40),  # what our own readers send at once
}


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """How to export.

    Attributes:
        name: The model's name in TF Serving and of the LiteRT files.
        beam_width: Hypotheses of the `beam` signature.
        length_penalty: See `decoding.beam_search`.
        longest_source: Tokens that the LiteRT files read.
        longest_text, largest_batch: See `saved_model.ServingLimits`.
        exceptions: A dictionary that wins over the model; it may be empty, to be filled later.
        metrics: The content of the run's `metrics.json`, for the model card; without it there is
            none.

    Raises:
        UserError: a number is out of range.
    """

    name: str
    beam_width: int = 5
    length_penalty: float = 0.0
    longest_source: int = LEAST_SOURCE_LENGTH
    longest_text: int = ServingLimits.longest_text
    largest_batch: int = ServingLimits.largest_batch
    exceptions: Exceptions | None = None
    metrics: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                flag = "--" + name.replace("_", "-")
                raise UserError(
                    f"{flag}: must be between {least:g} and {most:g}. Received: {name}={value}"
                )


@dataclasses.dataclass(frozen=True)
class Row:
    """One artefact in the table at the end.

    Attributes:
        artefact: Its path in the export folder, with what of it was called.
        bytes: Its size.
        milliseconds: Median time of one sentence.
        parity: Against the Keras model of the run.
    """

    artefact: str
    bytes: int
    milliseconds: float
    parity: Parity


def export(run: AnyRun, sources: list[str], out: pathlib.Path, options: ExportOptions) -> list[Row]:
    """Writes all artefacts, each checked against the Keras model on `sources` and hostile texts.

    Nothing in `out` changes before everything is built and checked. The version folder appears
    whole, near the end; the manifest last.

    Raises:
        UserError: `out` cannot be written to, is a run, or is written to by another process; an
            artefact that must agree does not.
    """
    if is_run(out):
        raise UserError(f"--out: {out} is a run folder; name another folder")
    with folder_lock(out):
        remove_leftovers(out)
        aside = pathlib.Path(tempfile.mkdtemp(prefix=BUILDING, dir=out))
        try:
            _build(run, aside, options)
            rows = _check(run, sources, aside, options)
            if may_write_card(out):
                _write_card(run, options, aside)
            publish(aside, out, {row.artefact: _figures(row) for row in rows})
        except OSError as error:
            raise UserError(
                f"{out}: cannot be written to: "
                f"{describe(error, 'choose another folder with --out')}"
            ) from None
        except (tf.errors.ResourceExhaustedError, tf.errors.PermissionDeniedError) as error:
            raise UserError(
                f"{out}: cannot be written to: {reason_of(error)}; choose another folder with --out"
            ) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return rows


def checked_sources(run: AnyRun) -> list[str]:
    """Sources to check an export on: of the run's test pairs.

    Where its data cannot be read, they are random ones, and a warning says so.
    """
    config = run.config
    try:
        pairs = load_part(
            config.data, "test", config.seed, config.source_tokens, config.target_tokens
        )
    except UserError as error:
        warnings.warn(
            f"the run's test data cannot be read ({error}); checking on {RANDOM_SOURCES} random "
            "sources, and the LiteRT files read "
            f"{LEAST_SOURCE_LENGTH} tokens unless --longest-source says otherwise",
            stacklevel=2,
        )
        return random_sources(run, RANDOM_SOURCES)
    return [pair.source for pair in pairs[:CHECKED]]


def longest_source_of(run: AnyRun, sources: list[str]) -> int:
    """Tokens that LiteRT files should read: 64, or the longest of `sources` if that is longer."""
    return max(LEAST_SOURCE_LENGTH, *(len(run.source.split(source)) for source in sources))


def longest_text_of(sources: list[str]) -> int:
    """Characters that the SavedModel should read: 4,096, or the longest of `sources` if longer."""
    return max([ServingLimits.longest_text, *map(len, sources)])


def random_sources(run: AnyRun, n: int) -> list[str]:
    """Texts of random known tokens, 1 to 30 long, drawn with the run's seed."""
    rng = np.random.default_rng(run.config.seed)
    lengths = rng.integers(1, 31, n)
    return [run.source.join(rng.choice(run.source.tokens, length)) for length in lengths]


def _build(run: AnyRun, aside: pathlib.Path, options: ExportOptions) -> None:
    """Lays everything out as an export of version 1 whose manifest has no figures yet."""
    folder = aside / SERVING / options.name / "1"
    folder.parent.mkdir(parents=True)
    limits = ServingLimits(options.longest_text, options.largest_batch)
    how = options.beam_width, options.length_penalty, limits
    dictionary = None
    if options.exceptions is not None:
        dictionary = aside / pathlib.PurePath(EXCEPTIONS).name
        write_exceptions(dictionary, options.exceptions)
    write_saved_model(run, folder, options.name, *how, dictionary)
    served = load_saved_model(folder)
    replay_warmup(served, folder)
    inference = run.inference_model()
    inference(tf.zeros([1, 1], tf.int32))  # Keras saves the weights of what was called once
    inference.save(aside / INFERENCE)
    (aside / LITERT).mkdir()
    write_litert(run, aside / LITERT, options.name, options.longest_source)
    write_run_weights(run, aside, options.name, options.beam_width, options.length_penalty)
    write_manifest(aside, _description(run, options, aside, served.signatures))


def _write_card(run: AnyRun, options: ExportOptions, aside: pathlib.Path) -> None:
    if not {"test", "valid", "parameters"} <= options.metrics.keys():
        return
    tokens = len(run.source.tokens), len(run.target.tokens)
    card = Card(options.name, run.config, options.metrics, tokens, read_manifest(aside))
    write_card(aside, card.to_markdown())


def _check(
    run: AnyRun, sources: list[str], aside: pathlib.Path, options: ExportOptions
) -> list[Row]:
    """Compares every artefact with the Keras model.

    Raises:
        UserError: one that must agree does not.
    """
    name, beam_width = options.name, options.beam_width
    texts = [*sources, *map(repair, HOSTILE_SOURCES)]  # nobody is to be warned of our own bytes
    texts += list(options.exceptions or ())[:CHECKED]
    penalty = options.length_penalty
    keras_model = Translator(
        RunReader(run.inference_model(), run.source, run.target, run.calibration),
        options.exceptions,
    )
    greedy = keras_model.translate(texts)
    beams = keras_model.translate(texts, beam_width, penalty)

    def row(artefact: str, translator: Translator, reference, width: int = 1) -> Row:
        # What is longer LiteRT cuts and the SavedModel refuses, so that they cannot agree.
        longest = options.longest_source if artefact.startswith(LITERT) else math.inf
        longest_text = options.longest_text if artefact.startswith(SERVING) else math.inf
        rows = [
            i
            for i, (text, answer) in enumerate(zip(texts, greedy, strict=True))
            if len(answer.source_tokens) <= longest and len(text) <= longest_text
        ]
        read = [texts[i] for i in rows]
        theirs = translator.translate(read, width, penalty)
        typical = sorted(read, key=len)[len(read) // 2]
        return Row(
            artefact,
            _size(aside / artefact.split()[0]),
            milliseconds_per_call(lambda: translator.translate([typical], width, penalty)),
            compare([reference[i] for i in rows], theirs),
        )

    reloaded = RunReader(
        keras.saving.load_model(aside / INFERENCE, compile=False),
        *(run.source, run.target, run.calibration),
    )
    saved_model = Translator(SavedModelReader(aside))
    plain, quantised = (f"{LITERT}/{name}{suffix}" for suffix in (".tflite", ".int8.tflite"))
    litert = [Translator.load(aside / path) for path in (plain, quantised)]
    weights = f"{WEIGHTS}/{name}.safetensors"
    engine = Translator(EngineReader.load_export(aside), exceptions_of_export(aside))
    rows = [
        row(INFERENCE, Translator(reloaded, options.exceptions), greedy),
        row(f"{SERVING}/{name}", saved_model, greedy),
        row(f"{SERVING}/{name} beam", saved_model, beams, beam_width),
        row(weights, engine, greedy),
        row(f"{weights} beam", engine, beams, beam_width),
        row(plain, litert[0], greedy),
    ]
    for checked in rows:
        if not checked.parity.holds:
            raise UserError(
                f"{checked.artefact}: does not agree with the run, so nothing was exported: "
                f"{checked.parity.first_difference}"
            )
    # Quantised weights are other weights: what differs is told, not refused.
    return [*rows, row(quantised, litert[1], greedy)]


def _description(
    run: AnyRun, options: ExportOptions, aside: pathlib.Path, signatures: Mapping
) -> dict:
    """What the manifest says of the model; the figures of the checks come later."""
    return {
        "format": FORMAT,
        "name": options.name,
        "version": 1,
        "software": {
            "keras_attention": __version__,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
        },
        "source_tokens": run.source.kind,
        "target_tokens": run.target.kind,
        "normal_form": run.source.normal_form,
        "members": len(run.members),
        "has_attention": run.config.has_attention,
        "confidence_means": meaning_of(run.calibration),
        "confidence": MEANINGS[meaning_of(run.calibration)],
        "longest_output": run.longest_output,
        "beam_width": options.beam_width,
        "length_penalty": options.length_penalty,
        "litert_longest_source": options.longest_source,
        "longest_text": options.longest_text,
        "largest_batch": options.largest_batch,
        "needs": needs(aside, options.name),
        "signatures": {name: _tensors(signatures[name]) for name in sorted(signatures)},
    }


def _tensors(function) -> dict:
    """Names, dtypes and shapes (null is any length) of a signature's inputs and outputs."""

    def described(specs: dict) -> dict:
        return {
            name: {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}
            for name, spec in sorted(specs.items())
        }

    inputs = function.structured_input_signature[1]
    return {"inputs": described(inputs), "outputs": described(function.structured_outputs)}


def _figures(row: Row) -> dict:
    return {
        "n": row.parity.n,
        "same_text": row.parity.same_text,
        "score_difference": row.parity.score_difference,
        "attention_difference": row.parity.attention_difference,
    }


def _size(path: pathlib.Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(part.stat().st_size for part in path.rglob("*") if part.is_file())
