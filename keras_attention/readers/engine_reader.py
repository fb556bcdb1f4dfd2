"""Strings into translations in NumPy alone: from a run, from an export's weights, from memory."""

from __future__ import annotations

import os
import pathlib
import zipfile
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from keras_attention.config import Config, load_config
from keras_attention.engine import blas, search, weights
from keras_attention.engine import edits as edited
from keras_attention.engine.architecture import Architecture
from keras_attention.engine.calibration import (
    Calibration,
    Meaning,
    load_calibration,
    mean_of,
    meaning_of,
)
from keras_attention.engine.decoder import UNKNOWN, Model
from keras_attention.engine.edits import Edits, checked_order, checked_positions, checked_rows
from keras_attention.engine.ensemble import Ensemble
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import (
    CALIBRATION,
    CONFIG,
    MODEL,
    VOCABULARY,
    length_penalty_of,
)
from keras_attention.folders.run_reading import reading_run
from keras_attention.folders.weights_folder import read_weights
from keras_attention.readers.hypotheses import translations_of
from keras_attention.readers.members import Kind, check_members, length_penalty_of_members
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import Vocabulary, load_vocabularies

# Numbers that a search holds at a time, at most: attention of all steps, candidates of one.
LARGEST_ARRAY = 1 << 25


def available_cores() -> int:
    """Cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return cores or 1


class EngineReader:
    """Translates with a model in NumPy and the vocabularies that it was trained with.

    It is read only: threads may share it, and a forked process may go on with it.

    Args:
        model: A model or an ensemble.
        source, target: The vocabularies of the two sides.
        calibration: From log-probability to confidence; without it the confidence is the
            probability itself.
        length_penalty: Of a beam search for which no other is named.
    """

    least_rows_per_batch = 32  # fewer are not worth a thread
    # In small batches the threads wait for each other: between two operations only one may run.
    most_rows_per_batch = 1024
    needs_warm_up = False

    def __init__(
        self,
        model: search.Decoder,
        source: Vocabulary,
        target: Vocabulary,
        calibration: Calibration | None = None,
        length_penalty: float = 0.0,
    ):
        self.calibration = calibration
        self.has_attention = model.has_attention
        self.source_kind = source.kind
        self.target_kind = target.kind
        self.batches_at_once = available_cores()
        self._model = model
        self.source_vocabulary = self._source = source
        self._target = target
        self._length_penalty = length_penalty

    @classmethod
    def load(cls, path: str | pathlib.Path) -> EngineReader:
        """Reads a finished run folder.

        Raises:
            UserError: there is no run, it is not finished, a file of it is damaged or belongs to
                another run, or a training replaced it meanwhile.
        """
        return cls(*_read_run(path)[1:], length_penalty_of(path))

    @classmethod
    def load_ensemble(cls, paths: Sequence[str | pathlib.Path]) -> EngineReader:
        """Reads finished run folders that decode together.

        Their confidence is that of the mean of their maps, and their length penalty the mean.

        Raises:
            UserError: as `load`, or if two runs do not fit together.
        """
        configs, models, sources, targets, maps = zip(*map(_read_run, paths), strict=True)
        attention = [config.has_attention for config in configs]
        check_members(paths, list(map(Kind, sources, targets, attention)))
        penalty = length_penalty_of_members(paths)
        return cls(Ensemble(models), sources[0], targets[0], mean_of(maps), penalty)

    @classmethod
    def load_export(cls, export: str | pathlib.Path) -> EngineReader:
        """Reads the weights in an export folder.

        Raises:
            UserError: the folder holds no whole export, or its weights are damaged.
        """
        exported = read_weights(pathlib.Path(export))
        models = exported.models
        return cls(
            models[0] if len(models) == 1 else Ensemble(models),
            exported.source,
            exported.target,
            exported.calibration,
            exported.length_penalty,
        )

    @property
    def confidence_means(self) -> Meaning:
        """What the confidence of an answer is."""
        return meaning_of(self.calibration)

    def translate_batch(
        self, texts: Sequence[str], beam_width: int = 1, length_penalty: float | None = None
    ) -> list[Translation]:
        """Translates texts together; each result is what the text alone would give."""
        penalty = self._length_penalty if length_penalty is None else length_penalty
        encoded = self._source.encode(texts)
        order = np.argsort(-encoded.lengths, kind="stable")  # the search wants the longest first
        sources = self._source.split_all(texts)
        found: dict[int, Translation] = {}
        first = 0
        with blas.one_thread():
            while first < len(order):
                longest = int(encoded.lengths[order[first]])
                rows = order[first : first + self._rows_that_fit(longest, beam_width)]
                first += len(rows)
                ids, lengths = encoded.padded(rows), encoded.lengths[rows]
                if beam_width == 1:
                    decoded = search.greedy(self._model, ids, lengths)
                else:
                    decoded = search.beam(self._model, ids, lengths, beam_width, penalty)
                places = rows.tolist()
                read = [sources[place] for place in places]
                batch = translations_of(
                    read, decoded, self._target, self.calibration, (ids, lengths)
                )
                found.update(zip(places, batch, strict=True))
        return [found[row] for row in range(len(texts))]

    def what_if(
        self,
        text: str,
        prefix: str,
        hidden: Sequence[int],
        erased: Sequence[int],
        weights: str | Sequence[int],
        rows: Mapping[int, Sequence[float]],
    ) -> Translation:
        """See `Translator.what_if`."""
        if not isinstance(self._model, Model) or not self._model.has_attention:
            raise UserError(
                "what_if: needs a single model with attention; name one run folder or its export"
            )
        ids = self._source.encode([text]).flat
        edits = Edits(
            self._prefix_ids(prefix),
            checked_positions(hidden, "hidden", len(ids)),
            checked_positions(erased, "erased", len(ids)),
            weights == "uniform",
            None if isinstance(weights, str) else checked_order(weights, len(ids)),
            checked_rows(rows, len(ids), self._model.longest_output),
        )
        with blas.one_thread():
            decoded = edited.decode(self._model, ids, edits)
        source = tuple(self._source.split(text))
        read = ids[None], np.array([len(ids)])
        return translations_of([source], decoded, self._target, self.calibration, read)[0]

    def _prefix_ids(self, prefix: str) -> tuple[int, ...]:
        ids = self._target.encode([prefix]).flat.tolist()
        for token, known in zip(self._target.split(prefix), ids, strict=True):
            if known == UNKNOWN:
                raise ValueError(
                    f"prefix must be made of tokens that the model can say. Received: {token!r}"
                )
        if len(ids) >= self._model.longest_output:
            raise ValueError(
                f"prefix must have fewer tokens than the longest answer, "
                f"{self._model.longest_output}. Received: {len(ids)}"
            )
        return tuple(ids)

    def _rows_that_fit(self, longest_source: int, beam_width: int) -> int:
        model = self._model
        attention = longest_source * model.longest_output if model.has_attention else 0
        each = beam_width * max(attention, model.target_size, 1)
        return max(1, LARGEST_ARRAY // each)


def engine_from_model(
    model, config: Config, source: Vocabulary, target: Vocabulary, longest_output: int | None = None
) -> EngineReader:
    """A reader of the weights that a live Keras training model has now.

    Training it further changes nothing: make another one, which takes about a millisecond.

    Args:
        model: The training model, see `models.training_model.build_training_model`.
        config: What it was built from.
        source, target: The vocabularies.
        longest_output: Where the config leaves it open.
    """
    architecture = Architecture.of(config, longest_output)
    arrays = weights.of_keras_model(model)
    return EngineReader(Model(architecture, arrays, len(source), len(target)), source, target)


def _read_run(
    path: str | pathlib.Path,
) -> tuple[Config, Model, Vocabulary, Vocabulary, Calibration | None]:
    with reading_run(path) as folder:
        return _read(folder)


def _read(
    path: pathlib.Path,
) -> tuple[Config, Model, Vocabulary, Vocabulary, Calibration | None]:
    config = load_config(path / CONFIG)
    source, target = load_vocabularies(path / VOCABULARY)
    try:
        arrays = weights.read_keras_file(path / MODEL)
        model = Model(Architecture.of(config), arrays, len(source), len(target))
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{path / MODEL}: cannot be read: {reason}; copy the run folder again, or train again"
        ) from None
    return config, model, source, target, load_calibration(path / CALIBRATION)
