"""Strings into translations, whatever file the model lies in."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from keras_attention.batching.batches import POSITIONS_PER_BATCH
from keras_attention.errors import UserError
from keras_attention.readers.export_layout import is_export
from keras_attention.readers.run_folder import is_run
from keras_attention.readers.translation import Translation
from keras_attention.text.repair import clean

# A batch holds at most this many texts, and this many source positions with padding.
ROWS_PER_BATCH = 256


class Reader(Protocol):
    """One kind of model file, opened."""

    has_attention: bool
    source_kind: str
    target_kind: str
    batches_at_once: int  # How many batches it can translate at the same time

    def translate_batch(
        self, texts: Sequence[str], beam_width: int, length_penalty: float | None
    ) -> list[Translation]:
        """Translates texts together, each as if it were alone."""


class Translator:
    """Translates any number of strings with a trained model.

    Args:
        reader: What reads the model; `Translator.load` chooses it.
    """

    def __init__(self, reader: Reader):
        self._reader = reader

    @classmethod
    def load(cls, path: str | pathlib.Path | Sequence[str | pathlib.Path]) -> Translator:
        """Opens a model.

        Args:
            path: A run folder, an export folder, or a `.tflite` file. TensorFlow is imported for
                the two folders only. A sequence of run folders decodes as an ensemble, by the mean
                of the runs' probabilities at every step.

        Raises:
            UserError: nothing that can be read as a model is there, or the runs of an ensemble do
                not fit together.
        """
        if not isinstance(path, (str, os.PathLike)):
            from keras_attention.readers.run_reader import RunReader

            return cls(RunReader.load_ensemble([pathlib.Path(part) for part in path]))
        path = pathlib.Path(path)
        if path.suffix == ".tflite":
            from keras_attention.readers.litert_reader import LiteRTReader

            return cls(LiteRTReader(path))
        if is_run(path):
            from keras_attention.readers.run_reader import RunReader

            return cls(RunReader.load(path))
        if is_export(path):
            from keras_attention.readers.saved_model_reader import SavedModelReader

            return cls(SavedModelReader(path))
        what = "is not a model" if path.exists() else "does not exist"
        raise UserError(f"{path}: {what}; name a run folder, an export folder or a .tflite file")

    @property
    def has_attention(self) -> bool:
        """Whether translations carry attention weights."""
        return self._reader.has_attention

    @property
    def source_kind(self) -> str:
        """ "char" or "word": what the tokens of a source are."""
        return self._reader.source_kind

    @property
    def target_kind(self) -> str:
        """ "char" or "word": what the tokens of an answer are."""
        return self._reader.target_kind

    def translate(
        self,
        texts: Sequence[str | bytes],
        beam_width: int = 1,
        length_penalty: float | None = None,
    ) -> list[Translation]:
        """Translates texts and answers in their order.

        Every text is answered: characters that the model never saw are its unknown token, and what
        is not valid UTF-8 becomes U+FFFD.

        Args:
            texts: The sources. Inside, texts of similar length are decoded together.
            beam_width: Hypotheses kept; 1 decodes greedily. With more, `alternatives` of a result
                holds the others, best first.
            length_penalty: See `decoding.beam_search`. By default that of an export, else 0.

        Raises:
            TypeError: `texts` is one string and not a sequence of them.
            ValueError: `beam_width` is below 1.
            UserError: the model file cannot decode with this beam width.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts must be a sequence of strings. Received: texts={texts!r}")
        if beam_width < 1:
            raise ValueError(f"beam_width must be at least 1. Received: beam_width={beam_width}")
        cleaned = [clean(text) for text in texts]
        batches = list(_batches_by_length(cleaned))

        def translate_rows(rows: list[int]) -> list[Translation]:
            return self._reader.translate_batch(
                [cleaned[row] for row in rows], beam_width, length_penalty
            )

        results: list[Translation | None] = [None] * len(cleaned)
        for rows, batch in zip(batches, self._map(translate_rows, batches), strict=True):
            for row, result in zip(rows, batch, strict=True):
                results[row] = result
        return results

    def _map(self, translate_rows: Callable, batches: list[list[int]]) -> Iterator:
        """All batches, translated; several at a time where the reader can."""
        yield from map(translate_rows, batches[:1])  # by itself: a graph may have to be traced
        if self._reader.batches_at_once == 1 or len(batches) < 3:
            yield from map(translate_rows, batches[1:])
            return
        # A decoder's steps wait for each other and leave cores idle, which another batch can use.
        pool = ThreadPoolExecutor(self._reader.batches_at_once)
        try:
            yield from pool.map(translate_rows, batches[1:])
        finally:
            pool.shutdown(cancel_futures=True)


def _batches_by_length(texts: Sequence[str]) -> Iterator[list[int]]:
    rows: list[int] = []
    for row in sorted(range(len(texts)), key=lambda row: len(texts[row])):
        full = len(rows) == ROWS_PER_BATCH
        if rows and (full or (len(rows) + 1) * len(texts[row]) > POSITIONS_PER_BATCH):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
