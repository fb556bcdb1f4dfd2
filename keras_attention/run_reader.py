"""Strings into translations with the models of a run, one batch at a time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attention.calibration import Calibration, confidence_of, mean_of
from keras_attention.decoding import IMPOSSIBLE, Decoded
from keras_attention.ensemble import Ensemble
from keras_attention.errors import UserError
from keras_attention.inference import InferenceModel, StepDecoder
from keras_attention.trained_run import load_run
from keras_attention.translation import Translation
from keras_attention.vocabulary import Vocabulary

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
        return [
            self._translation(self._source.split(text), Decoded(*(part[row] for part in decoded)))
            for row, text in enumerate(texts)
        ]

    def _beam(self, beam_width: int, length_penalty: float):
        key = (beam_width, length_penalty)
        if key not in self._beams:
            search = functools.partial(
                self._model.beam, beam_width=beam_width, length_penalty=length_penalty
            )
            self._beams[key] = tf.function(search, input_signature=[_IDS], autograph=False)
        return self._beams[key]

    def _translation(self, source_tokens: list[str], decoded: Decoded) -> Translation:
        hypotheses = [
            self._hypothesis(tuple(source_tokens), Decoded(*(part[k] for part in decoded)))
            for k in range(len(decoded.lengths))
            if decoded.log_probability[k] > IMPOSSIBLE / 2
        ]
        best, *others = hypotheses
        return dataclasses.replace(best, alternatives=tuple(others))

    def _hypothesis(self, source_tokens: tuple[str, ...], decoded: Decoded) -> Translation:
        length = int(decoded.lengths)
        tokens = self._target.tokens_of(decoded.token_ids[:length])
        weights = None
        if self.has_attention:
            weights = decoded.attention_weights[:length, : len(source_tokens)]
        log_probability = float(decoded.log_probability)
        return Translation(
            text=self._target.join(tokens),
            log_probability=log_probability,
            confidence=float(confidence_of(self.calibration, log_probability, length)),
            source_tokens=source_tokens,
            target_tokens=tokens,
            attention_weights=weights,
        )
