"""Strings into translations with the models of a run, one batch at a time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attention._runtime.threads import CONCURRENT_BATCHES
from keras_attention.errors import UserError
from keras_attention.models.decoding import NO_HYPOTHESIS, Decoded
from keras_attention.models.ensemble import Ensemble
from keras_attention.models.inference import InferenceModel, StepDecoder
from keras_attention.readers.calibration import Calibration, confidence_of, mean_of
from keras_attention.readers.run import load_run
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import Vocabulary

_IDS = tf.TensorSpec([None, None], tf.int32)


class RunReader:
    """Translates with an inference model and the vocabularies that it was trained with.

    Args:
        model: The inference model, or an ensemble; trained further, it translates with the new
            weights.
        source, target: The vocabularies of the two sides.
        calibration: From log-probability to confidence; without it the confidence is the
            probability itself.

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
    ):
        self.calibration = calibration
        self.has_attention = model.has_attention
        self.source_kind = source.kind
        self.target_kind = target.kind
        self._model = model
        self._source = source
        self._target = target
        self._greedy = tf.function(model.greedy, input_signature=[_IDS], autograph=False)
        self._beams = {}  # a traced function for every width and penalty

    @classmethod
    def load(cls, path) -> RunReader:
        """Reads a finished run folder; raises `UserError` as `trained_run.load_run` does."""
        run = load_run(path)
        model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
        return cls(model, run.source, run.target, run.calibration)

    @classmethod
    def load_ensemble(cls, paths: Sequence) -> RunReader:
        """Reads finished run folders that decode together.

        Their confidence is that of the mean of their maps.

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
                InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
                for run in runs
            ]
        )
        calibration = mean_of([run.calibration for run in runs])
        return cls(model, first.source, first.target, calibration)

    def translate_batch(
        self, texts: Sequence[str], beam_width: int = 1, length_penalty: float | None = None
    ) -> list[Translation]:
        """Translates texts together; each result is what the text alone would give."""
        encoded = self._source.encode(texts)
        ids = tf.constant(encoded.padded(np.arange(len(texts))))
        if beam_width == 1:
            decoded = Decoded(*(part.numpy()[:, None] for part in self._greedy(ids)))
        else:
            beam = self._beam(beam_width, length_penalty or 0.0)
            decoded = Decoded(*(part.numpy() for part in beam(ids)))
        return self._translations([tuple(self._source.split(text)) for text in texts], decoded)

    def _beam(self, beam_width: int, length_penalty: float):
        key = (beam_width, length_penalty)
        if key not in self._beams:
            search = functools.partial(
                self._model.beam, beam_width=beam_width, length_penalty=length_penalty
            )
            self._beams[key] = tf.function(search, input_signature=[_IDS], autograph=False)
        return self._beams[key]

    def _translations(self, sources: list[tuple[str, ...]], decoded: Decoded) -> list[Translation]:
        """The rows of arrays `[n, k, ...]` as results, each with its k - 1 alternatives."""
        # Converted at once: one number at a time costs as much as the decoding.
        scores = decoded.log_probability.astype(np.float64)
        confidence = confidence_of(self.calibration, scores, decoded.lengths)
        possible = (scores > NO_HYPOTHESIS).tolist()
        scores, confidence, lengths = (p.tolist() for p in (scores, confidence, decoded.lengths))
        token_ids = decoded.token_ids.tolist()

        def hypothesis(row: int, k: int) -> Translation:
            length, source_tokens = lengths[row][k], sources[row]
            tokens = self._target.tokens_of(token_ids[row][k][:length])
            weights = None
            if self.has_attention:
                weights = decoded.attention_weights[row, k, :length, : len(source_tokens)]
            return Translation(
                text=self._target.join(tokens),
                log_probability=scores[row][k],
                confidence=confidence[row][k],
                source_tokens=source_tokens,
                target_tokens=tokens,
                attention_weights=weights,
            )

        results = []
        for row, is_possible in enumerate(possible):
            best, *others = (hypothesis(row, k) for k, real in enumerate(is_possible) if real)
            results.append(
                dataclasses.replace(best, alternatives=tuple(others)) if others else best
            )
        return results
