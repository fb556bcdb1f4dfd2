"""Strings into translations, whatever file the model lies in."""

from __future__ import annotations

import math
import os
import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from keras_attention._runtime.keras_settings import require_plain_tensorflow
from keras_attention.batching.batches import POSITIONS_PER_BATCH
from keras_attention.engine.calibration import Meaning
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import is_export, read_manifest
from keras_attention.folders.run_folder import is_run
from keras_attention.pairs.exceptions import Exceptions
from keras_attention.readers.exceptions import (
    exception_to,
    exceptions_of_export,
    exceptions_of_litert_file,
)
from keras_attention.readers.promises import (
    best_of,
    confidence_for,
    sets_for,
    width_for,
    with_answer_set,
)
from keras_attention.readers.translation import Translation
from keras_attention.text.arguments import (
    checked_integer,
    checked_number,
    checked_paths,
    checked_texts,
)
from keras_attention.text.repair import repaired
from keras_attention.text.tokens import VocabularyKind
from keras_attention.text.vocabulary import Vocabulary

# A batch holds at most this many texts, and this many source positions with padding.
ROWS_PER_BATCH = 256
# A beam search holds at most this many hypotheses at once: states, scores of the whole vocabulary
# and attention for each. So a wide beam takes smaller batches, and the widest one text alone.
HYPOTHESES_PER_BATCH = 2_048
WIDEST_BEAM = 1_000
WHY_NOT_WIDER = "every hypothesis takes memory of its own, and this wide a beam adds nothing"


ENGINES = ("numpy", "tensorflow")


class Reader(Protocol):
    """One kind of model file, opened.

    A reader may also have `least_rows_per_batch`, where few texts should be divided among threads,
    `most_rows_per_batch`, where it is not `ROWS_PER_BATCH`, `needs_warm_up`, False where the first
    batch need not be by itself, `confidence_means`, where confidence is something else than the
    probability of being right, `source_vocabulary`, where it knows what the training sources were
    made of, `only_beam_width`, where it can decode with no other than that one and greedily, and
    `calibration`.
    """

    has_attention: bool
    batches_at_once: int  # How many batches it can translate at the same time

    @property
    def source_kind(self) -> VocabularyKind:
        """What the tokens of a source are."""

    @property
    def target_kind(self) -> VocabularyKind:
        """What the tokens of an answer are."""

    def translate_batch(
        self, texts: Sequence[str], beam_width: int, length_penalty: float | None
    ) -> list[Translation]:
        """Translates texts together, each as if it were alone."""


class Translator:
    """Translates any number of strings with a trained model.

    Args:
        reader: What reads the model; `Translator.load` chooses it.
        exceptions: The dictionary beside the model, whose answers win. A SavedModel has it inside.
    """

    def __init__(self, reader: Reader, exceptions: Exceptions | None = None):
        self._reader = reader
        self._exceptions = exceptions

    @classmethod
    def load(
        cls,
        path: str | pathlib.Path | Sequence[str | pathlib.Path],
        engine: str | None = None,
    ) -> Translator:
        """Opens a model.

        Args:
            path: A run folder, an export folder, or a `.tflite` file. A sequence of run folders
                decodes as an ensemble, by the mean of the runs' probabilities at every step.
            engine: What computes: "numpy", which imports neither TensorFlow nor Keras, or
                "tensorflow", the Keras model of a run or the SavedModel of an export. By default
                NumPy, and TensorFlow for an export without weights in an open format, as those
                from before version 0.2. A `.tflite` file always runs in LiteRT.

        Raises:
            TypeError: `path` is neither a path nor a sequence of paths.
            ValueError: the sequence is empty, or there is no such engine.
            UserError: nothing that can be read as a model is there, the engine cannot read it, the
                runs of an ensemble do not fit together, or Keras, where it computes, was told to
                use another backend than TensorFlow or other numbers than float32.
        """
        if engine not in (None, *ENGINES):
            raise ValueError(f"engine must be one of {ENGINES}. Received: engine={engine!r}")
        if not isinstance(path, (str, os.PathLike)):
            return cls(_run_reader(engine).load_ensemble(checked_paths(path)))
        path = pathlib.Path(path)
        try:
            path.stat()
        except PermissionError:
            raise UserError(f"{path}: may not be read; ask its owner") from None
        except (OSError, ValueError):
            pass  # said below
        if path.suffix == ".tflite" and not path.is_dir():
            if engine is not None:
                raise UserError(f"--engine: {path} runs in LiteRT; leave the option out")
            from keras_attention.readers.litert_reader import LiteRTReader

            small = LiteRTReader(path)
            return cls(small, exceptions_of_litert_file(path, *small.vocabularies))
        if is_run(path):
            return cls(_run_reader(engine).load(path))
        if is_export(path):
            reader, has_own = _open_export(path, engine)
            return cls(reader, None if has_own else exceptions_of_export(path))
        what = "is not a model" if path.exists() else "does not exist"
        raise UserError(f"{path}: {what}; name a run folder, an export folder or a .tflite file")

    @property
    def has_attention(self) -> bool:
        """Whether translations carry attention weights."""
        return self._reader.has_attention

    @property
    def source_kind(self) -> VocabularyKind:
        """ "char", "word" or "subword": what the tokens of a source are."""
        return self._reader.source_kind

    @property
    def target_kind(self) -> VocabularyKind:
        """ "char", "word" or "subword": what the tokens of an answer are."""
        return self._reader.target_kind

    @property
    def source_vocabulary(self) -> Vocabulary | None:
        """The tokens that sources are made of, all others being unknown to the model.

        None where the file does not hold them, as a SavedModel.
        """
        return getattr(self._reader, "source_vocabulary", None)

    @property
    def confidence_means(self) -> Meaning:
        """ "right" or "quality": what the confidence of an answer is, a probability of being right
        or the quality to expect."""
        return getattr(self._reader, "confidence_means", "right")

    def translate(
        self,
        texts: Sequence[str | bytes],
        beam_width: int = 1,
        length_penalty: float | None = None,
        progress: Callable[[int, int], None] | None = None,
        n_best: int | None = None,
        coverage: float | None = None,
    ) -> list[Translation]:
        """Translates texts and answers in their order.

        Every text is answered: characters that the model never saw are its unknown token, and what
        is not valid UTF-8 becomes U+FFFD.

        Args:
            texts: The sources. Inside, texts of similar length are decoded together.
            beam_width: Hypotheses kept; 1 decodes greedily. With more, `alternatives` of a result
                holds the others, best first.
            length_penalty: See `decoding.beam_search`. By default that of the export, or the one
                that training chose for the run.
            progress: Called now and then with how many texts are translated, and of how many.
                From threads, one at a time.
            n_best: Hypotheses returned: each result with `n_best` - 1 alternatives, or fewer where
                there are no more. The beam is as wide, or wider if `beam_width` is.
            coverage: Gives each result its `answer_set`, which holds the right answer with this
                probability; above 0 and below 1. The beam is the one that the promise was made
                with. What the promise means: docs/trust.md.

        Raises:
            TypeError: `texts` is one string and not a sequence of them, or one of them is no
                string; `beam_width` is no integer or `length_penalty` no number.
            ValueError: `beam_width` is not from 1 to `WIDEST_BEAM`, `texts` is an array of several
                dimensions, `length_penalty` is not finite.
            UserError: the model file cannot decode with this beam width, or `coverage` is asked of
                a model without such a promise.
        """
        if coverage is not None:
            sets = sets_for(self._reader, coverage, beam_width, length_penalty, n_best)
            found = self._translate(texts, sets.beam_width, 0.0, progress)
            return [with_answer_set(each, sets, coverage) for each in found]
        if n_best is not None:
            n_best = checked_integer(n_best, "n_best", 1, WIDEST_BEAM, WHY_NOT_WIDER)
            beam_width = checked_integer(beam_width, "beam_width", 1, WIDEST_BEAM, WHY_NOT_WIDER)
            beam_width = width_for(self._reader, n_best, beam_width)
        found = self._translate(texts, beam_width, length_penalty, progress)
        return found if n_best is None else [best_of(each, n_best) for each in found]

    def confidence_for(self, most_wrong: float) -> float:
        """The least confidence of answers among which at most a share of `most_wrong` is wrong.

        The promise is for greedy decoding, and fails for at most 5 in 100 draws of the pairs that
        it was made from.

        Raises:
            UserError: the promise cannot be made.
        """
        return confidence_for(self._reader, most_wrong)

    def _translate(
        self,
        texts: Sequence[str | bytes],
        beam_width: int,
        length_penalty: float | None,
        progress: Callable[[int, int], None] | None,
    ) -> list[Translation]:
        given = checked_texts(texts)
        beam_width = checked_integer(beam_width, "beam_width", 1, WIDEST_BEAM, WHY_NOT_WIDER)
        length_penalty = checked_number(length_penalty, "length_penalty")
        cleaned = list(repaired(given, "texts[{}]".format, stacklevel=4))
        found = self._from_exceptions(cleaned)
        asked = [row for row in range(len(cleaned)) if row not in found]
        most = self._rows_per_batch(len(asked), beam_width)
        batches = [
            [asked[place] for place in places]
            for places in _batches_by_length([cleaned[row] for row in asked], most)
        ]

        made, telling = [0], threading.Lock()

        def translate_rows(rows: list[int]) -> list[Translation]:
            batch = self._reader.translate_batch(
                [cleaned[row] for row in rows], beam_width, length_penalty
            )
            if progress is not None:
                with telling:
                    made[0] += len(rows)
                    progress(made[0], len(cleaned))
            return batch

        for rows, batch in zip(batches, self._map(translate_rows, batches), strict=True):
            found.update(zip(rows, batch, strict=True))
        return [found[row] for row in range(len(cleaned))]

    def _from_exceptions(self, texts: Sequence[str]) -> dict[int, Translation]:
        """The dictionary's answers, by the row of their text."""
        if not self._exceptions:
            return {}
        answers = {row: self._exceptions.answer_to(text) for row, text in enumerate(texts)}
        return {
            row: exception_to(texts[row], answer, self._exceptions, self.has_attention)
            for row, answer in answers.items()
            if answer is not None
        }

    def what_if(
        self,
        text: str,
        *,
        prefix: str = "",
        hidden: Sequence[int] = (),
        erased: Sequence[int] = (),
        weights: str | Sequence[int] = "own",
        rows: Mapping[int, Sequence[float]] | None = None,
    ) -> Translation:
        """Answers a text greedily under changes, to question what the attention weights do.

        Changes to weights apply in this order: hidden positions are left out before the softmax,
        then `weights` is applied, then `rows`.

        Args:
            text: The source, S tokens.
            prefix: What the answer must begin with, whatever the model thinks of it.
            hidden: Source positions, from 0, that attention cannot look at. The encoder reads them.
            erased: Source positions at which the encoder reads the unknown token.
            weights: "own", the model's; "uniform", all visible positions alike; or a permutation of
                0 to S - 1, by which the weights of every step change places.
            rows: Weights of single steps, by step from 0: S numbers that sum to 1.

        Returns:
            The answer; `attention_weights` are those that were used, and `log_probability` counts
            the prefix as well.

        Raises:
            ValueError: a position, a step, a permutation or a row does not fit, or the prefix is
                too long or holds a token that the model cannot say.
            UserError: the model is an ensemble, has no attention, or is not computed in NumPy.
        """
        if isinstance(weights, str) and weights not in ("own", "uniform"):
            raise ValueError(
                "weights must be 'own', 'uniform' or a permutation of the source's positions. "
                f"Received: weights={weights!r}"
            )
        asked = getattr(self._reader, "what_if", None)
        if asked is None:
            raise UserError(
                "what_if: needs a run or an export that is computed in NumPy, not a .tflite file "
                "and not --engine tensorflow"
            )
        (cleaned,) = repaired(checked_texts([text]), "texts[{}]".format, stacklevel=3)
        return asked(cleaned, prefix, hidden, erased, weights, rows or {})

    def _map(self, translate_rows: Callable, batches: list[list[int]]) -> Iterator:
        """All batches, translated; several at a time where the reader can."""
        alone = 1 if getattr(self._reader, "needs_warm_up", True) else 0
        yield from map(translate_rows, batches[:alone])  # a graph may have to be traced
        batches = batches[alone:]
        if self._reader.batches_at_once == 1 or len(batches) < 2:
            yield from map(translate_rows, batches)
            return
        # A decoder's steps wait for each other and leave cores idle, which another batch can use.
        pool = ThreadPoolExecutor(self._reader.batches_at_once)
        try:
            # The longest first, so that no thread begins one when the others have ended.
            yield from reversed(list(pool.map(translate_rows, reversed(batches))))
        finally:
            pool.shutdown(cancel_futures=True)

    def _rows_per_batch(self, n: int, beam_width: int) -> int:
        """Texts of a batch: so many that every thread has as many batches, of few texts one."""
        threads = self._reader.batches_at_once
        most = getattr(self._reader, "most_rows_per_batch", ROWS_PER_BATCH)
        most = min(most, max(1, HYPOTHESES_PER_BATCH // beam_width))
        least = getattr(self._reader, "least_rows_per_batch", most)
        batches = max(1, math.ceil(n / (most * threads))) * threads
        return min(most, max(least, math.ceil(n / batches)))


def needs_tensorflow(path: str | pathlib.Path, engine: str | None) -> bool:
    """Whether opening a model would import TensorFlow, which a command does quietly beforehand."""
    if engine is not None:
        return engine == "tensorflow"
    path = pathlib.Path(path)
    is_litert_file = path.suffix == ".tflite" and not path.is_dir()
    if is_litert_file or is_run(path) or not is_export(path):
        return False
    from keras_attention.folders.weights_folder import has_weights

    return not has_weights(path, read_manifest(path))


def _run_reader(engine: str | None):
    """What reads run folders; TensorFlow is imported only where it is asked for."""
    if engine == "tensorflow":
        require_plain_tensorflow()
        from keras_attention.readers.run_reader import RunReader

        return RunReader
    from keras_attention.readers.engine_reader import EngineReader

    return EngineReader


def _open_export(path: pathlib.Path, engine: str | None) -> tuple[Reader, bool]:
    """What reads an export, and whether the dictionary beside the model is part of it."""
    from keras_attention.folders.weights_folder import has_weights
    from keras_attention.readers.engine_reader import EngineReader

    weights = has_weights(path, read_manifest(path))
    if engine == "numpy" and not weights:
        raise UserError(
            f"{path}: has no weights in an open format; export the run again, or use "
            "--engine tensorflow"
        )
    if weights and engine != "tensorflow":
        return EngineReader.load_export(path), False
    from keras_attention.readers.saved_model_reader import SavedModelReader

    return SavedModelReader(path), True


def _batches_by_length(texts: Sequence[str], most: int) -> Iterator[list[int]]:
    rows: list[int] = []
    for row in sorted(range(len(texts)), key=lambda row: len(texts[row])):
        full = len(rows) == most
        if rows and (full or (len(rows) + 1) * len(texts[row]) > POSITIONS_PER_BATCH):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
