"""Strings into translations with the Keras models of a run, in TensorFlow."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from keras_attention._runtime.threads import CONCURRENT_BATCHES
from keras_attention.engine.calibration import Calibration, mean_of
from keras_attention.engine.search import Decoded
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import length_penalty_of
from keras_attention.models.ensemble import Ensemble
from keras_attention.models.inference import InferenceModel, StepDecoder
from keras_attention.readers.hypotheses import translations_of
from keras_attention.readers.process import ProcessBound
from keras_attention.readers.run import load_run
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import Vocabulary

_IDS = tf.TensorSpec([None, None], tf.int32)


class RunReader(ProcessBound):
    """Translates with an inference model and the vocabularies that it was trained with.

    Args:
        model: The inference model, or an ensemble; trained further, it translates with the new
            weights.
        source, target: The vocabularies of the two sides.
        calibration: From log-probability to confidence; without it the confidence is the
            probability itself.
        length_penalty: Of a beam search for which no other is named.

    Attributes:
        calibration: As given; may be set later, when it has been fitted.
    """

    batches_at_once = CONCURRENT_BATCHES

    def __init__(
        self,
        model: StepDecoder,
        source: Vocabulary,
        target: Vocabulary,
        calibration: Calibration | None = None,
        length_penalty: float = 0.0,
    ):
        super().__init__()
        self.calibration = calibration
        self.has_attention = model.has_attention
        self.source_kind = source.kind
        self.target_kind = target.kind
        self._model = model
        self._length_penalty = length_penalty
        self._source = source
        self._target = target
        self._greedy = tf.function(model.greedy, input_signature=[_IDS], autograph=False)
        # A traced function for every width and penalty.
        self._beams: dict[tuple[int, float], Callable] = {}

    @classmethod
    def load(cls, path) -> RunReader:
        """Reads a finished run folder; raises `UserError` as `trained_run.load_run` does."""
        run = load_run(path)
        model = InferenceModel.from_training_model(run.model, run.config, run.longest_output)
        return cls(model, run.source, run.target, run.calibration, length_penalty_of(path))

    @classmethod
    def load_ensemble(cls, paths: Sequence) -> RunReader:
        """Reads finished run folders that decode together.

        Their confidence is that of the mean of their maps, and their length penalty the mean.

        Raises:
            UserError: as `trained_run.load_run` does, or if two runs have different vocabularies.
        """
        runs = [load_run(path) for path in paths]
        first = runs[0]
        for path, run in zip(paths, runs, strict=True):
            if (run.source, run.target) != (first.source, first.target):
                raise UserError(
                    f"{path}: has other vocabularies than {paths[0]}; runs that decode together "
                    "must be trained on the same data with the same token options"
                )
            if run.config.has_attention != first.config.has_attention:
                raise UserError(
                    f"{path}: has {'' if run.config.has_attention else 'no '}attention, and "
                    f"{paths[0]} is of the other kind; runs that decode together must agree in that"
                )
        model = Ensemble(
            [
                InferenceModel.from_training_model(run.model, run.config, run.longest_output)
                for run in runs
            ]
        )
        calibration = mean_of([run.calibration for run in runs])
        penalty = statistics.fmean(map(length_penalty_of, paths))
        return cls(model, first.source, first.target, calibration, penalty)

    def translate_batch(
        self, texts: Sequence[str], beam_width: int = 1, length_penalty: float | None = None
    ) -> list[Translation]:
        """Translates texts together; each result is what the text alone would give."""
        self.check_process()
        encoded = self._source.encode(texts)
        ids = tf.constant(encoded.padded(np.arange(len(texts))))
        if beam_width == 1:
            columns = [part.numpy()[:, None] for part in self._greedy(ids)]
        else:
            penalty = self._length_penalty if length_penalty is None else length_penalty
            beam = self._beam(beam_width, penalty)
            columns = [part.numpy() for part in beam(ids)]
        decoded = Decoded(*columns)
        if not self.has_attention:
            decoded = decoded._replace(attention_weights=None)
        sources = [tuple(self._source.split(text)) for text in texts]
        read = ids.numpy(), encoded.lengths
        return translations_of(sources, decoded, self._target, self.calibration, read)

    def _beam(self, beam_width: int, length_penalty: float):
        key = (beam_width, length_penalty)
        if key not in self._beams:
            search = functools.partial(
                self._model.beam, beam_width=beam_width, length_penalty=length_penalty
            )
            self._beams[key] = tf.function(search, input_signature=[_IDS], autograph=False)
        return self._beams[key]
