"""Reads an exported SavedModel with plain TensorFlow, without the model code."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import warnings
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attention._runtime.threads import CONCURRENT_BATCHES
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import described_version, read_manifest
from keras_attention.folders.saved_model_files import DAMAGED, load_saved_model, reason_of
from keras_attention.folders.weights_folder import (
    has_weights,
    read_calibration,
    vocabularies_for_cutting,
)
from keras_attention.readers.process import ProcessBound
from keras_attention.readers.translation import Translation

# Log-probabilities below this fill a beam wider than there are outputs.
NO_HYPOTHESIS = -5e8


class SavedModelReader(ProcessBound):
    """Translates with the version in an export folder that its manifest describes.

    Args:
        export: The export folder.

    Raises:
        UserError: the folder holds no whole export, or its SavedModel cannot be loaded.
    """

    batches_at_once = CONCURRENT_BATCHES

    def __init__(self, export: str | pathlib.Path):
        super().__init__()
        export = pathlib.Path(export)
        manifest = read_manifest(export)
        self.source_kind = manifest["source_tokens"]
        self.target_kind = manifest["target_tokens"]
        self.has_attention = manifest["has_attention"]
        self.confidence_means = manifest.get("confidence_means", "right")  # as always before
        self.only_beam_width = self._beam_width = manifest["beam_width"]
        self._length_penalty = manifest["length_penalty"]
        self._longest_text = manifest.get("longest_text", math.inf)  # exports before had none
        self.calibration = read_calibration(export) if has_weights(export, manifest) else None
        self._source, self._target = vocabularies_for_cutting(export, manifest)
        folder = described_version(export, manifest)
        try:
            self._model = load_saved_model(folder)
        except PermissionError as error:
            raise UserError(f"{error.filename}: may not be read; ask its owner") from None
        except DAMAGED as error:
            raise UserError(
                f"{folder}: cannot be loaded: {reason_of(error)}; export the run again"
            ) from None

    def translate_batch(
        self, texts: Sequence[str], beam_width: int = 1, length_penalty: float | None = None
    ) -> list[Translation]:
        """Translates texts together, greedily or with the beam that the export was made with.

        A penalty of None is the export's own.

        Raises:
            UserError: another beam width or length penalty.
        """
        self.check_process()
        beam = beam_width > 1
        if beam and beam_width != self._beam_width:
            raise UserError(
                f"--beam-width: this export decodes with {self._beam_width} or greedily; use that, "
                "or export again with --beam-width"
            )
        if beam and length_penalty not in (None, self._length_penalty):
            raise UserError(
                f"--length-penalty: this export was made with {self._length_penalty:g}; use that"
            )
        self._warn_of_long(texts)
        name = "beam" if beam else "attention" if self.has_attention else "serving_default"
        outputs = self._model.signatures[name](text=tf.constant(list(texts), tf.string))
        names = ["text", "log_probability", "confidence"]
        optional = ("attention_weights", "target_tokens", "target_length", "token_confidence")
        names += [name for name in optional if name in outputs]
        columns = [outputs[name].numpy() for name in names]
        if not beam:
            columns = [column[:, None] for column in columns]
        fixed = outputs["from_exceptions"].numpy() if "from_exceptions" in outputs else ()
        translations = [
            self._translation(
                text, dict(zip(names, (column[row] for column in columns), strict=True))
            )
            for row, text in enumerate(texts)
        ]
        for row in np.flatnonzero(fixed).tolist():
            translations[row] = dataclasses.replace(translations[row], from_exceptions=True)
        return translations

    def _translation(self, source: str, columns: dict[str, np.ndarray]) -> Translation:
        """One source's hypotheses, of which the columns hold a row each, as one translation."""
        source_tokens = tuple(self._source.split(source))
        hypotheses = []
        for k, text in enumerate(columns["text"].tolist()):
            text = text.decode("utf-8")
            target_tokens = self._target_tokens(text, columns, k)
            weights = columns.get("attention_weights")
            trust = columns.get("token_confidence")
            hypotheses.append(
                Translation(
                    text=text,
                    log_probability=float(columns["log_probability"][k]),
                    confidence=float(columns["confidence"][k]),
                    source_tokens=source_tokens,
                    target_tokens=target_tokens,
                    attention_weights=(
                        None
                        if weights is None
                        else _cut(weights[k], len(target_tokens), len(source_tokens))
                    ),
                    token_confidence=None if trust is None else trust[k, : len(target_tokens)],
                )
            )
        best, *others = hypotheses
        others = [other for other in others if other.log_probability > NO_HYPOTHESIS]
        return dataclasses.replace(best, alternatives=tuple(others))

    def _target_tokens(self, text: str, columns: dict[str, np.ndarray], k: int) -> tuple[str, ...]:
        """Of a hypothesis; where the signature has only texts, as the vocabulary cuts them.

        For subwords that may differ from the pieces that the model chose, which make the same text.
        """
        if "target_tokens" not in columns:
            return tuple(self._target.split(text))
        tokens = columns["target_tokens"][k, : columns["target_length"][k]].tolist()
        return tuple(token.decode("utf-8") for token in tokens)

    def _warn_of_long(self, texts: Sequence[str]) -> None:
        for text in texts:
            if len(text) > self._longest_text:
                warnings.warn(
                    f"a source of {len(text)} characters is longer than the {self._longest_text} "
                    "that this export reads, so it is answered with an empty text of confidence "
                    f"0; export with a larger --longest-text: {text[:40]!r}...",
                    stacklevel=2,
                )


def _cut(weights: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """`[T, S]` without padding; a source that the graph refused to read has weights nowhere."""
    if columns > weights.shape[1]:
        return np.zeros((rows, columns), weights.dtype)
    return weights[:rows, :columns]
