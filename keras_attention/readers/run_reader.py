"""Strings into translations with the Keras models of a run, in TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from keras_attention._runtime.threads import CONCURRENT_BATCHES
from keras_attention.engine.calibration import Calibration, Meaning, meaning_of
from keras_attention.engine.search import Decoded
from keras_attention.folders.run_folder import length_penalty_of
from keras_attention.models.inference import StepDecoder
from keras_attention.readers.hypotheses import translations_of
from keras_attention.readers.members import length_penalty_of_members
from keras_attention.readers.process import ProcessBound
from keras_attention.readers.run import load_ensemble, load_run
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
        self.source_vocabulary = self._source = source
        self._target = target
        self._greedy = tf.function(model.greedy, input_signature=[_IDS], autograph=False)
        # A traced function for every width and penalty.
        self._beams: dict[tuple[int, float], Callable] = {}

    @classmethod
    def load(cls, path) -> RunReader:
        """Reads a finished run folder; raises `UserError` as `trained_run.load_run` does."""
        run = load_run(path)
        model = run.inference_model()
        return cls(model, run.source, run.target, run.calibration, length_penalty_of(path))

    @classmethod
    def load_ensemble(cls, paths: Sequence) -> RunReader:
        """Reads finished run folders that decode together.

        Their confidence is that of the mean of their maps, and their length penalty the mean.

        Raises:
            UserError: as `run.load_run` does, or if two runs do not fit together.
        """
        runs = load_ensemble(paths)
        sides = runs.source, runs.target
        penalty = length_penalty_of_members(paths)
        return cls(runs.inference_model(), *sides, runs.calibration, penalty)

    @property
    def confidence_means(self) -> Meaning:
        """What the confidence of an answer is."""
        return meaning_of(self.calibration)

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
        sources = self._source.split_all(texts)
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
