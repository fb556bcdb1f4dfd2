"""Reads exported `.tflite` files, with NumPy and `ai-edge-litert` only.

Letters in shape comments: S longest source, T longest output; the batch is always 1.
"""

from __future__ import annotations

import collections
import functools
import json
import pathlib
import warnings
from collections.abc import Sequence

import numpy as np

from keras_attention._runtime.installation import missing_extra
from keras_attention._runtime.quiet import silent_standard_error
from keras_attention.engine.calibration import (
    MEANINGS,
    Calibration,
    Meaning,
    calibration_from_dict,
)
from keras_attention.errors import UserError
from keras_attention.readers.translation import Translation
from keras_attention.text.normal_form import NO_FORM
from keras_attention.text.tokens import VocabularyKind
from keras_attention.text.vocabulary import RESERVED, Vocabulary

FORMAT = 1
SIGNATURE = "greedy"
# The tensor of a side is called by the kind of its tokens: code points need no vocabulary.
TENSOR_OF_KIND: dict[VocabularyKind, str] = {
    "char": "code_points",
    "word": "token_ids",
    "subword": "token_ids",
}
# Stands for U+0000, since 0 is padding: it is in no vocabulary, and so is U+0000.
NO_CHARACTER = -1


class LiteRTReader:
    """Translates with a `.tflite` file, greedily and one text at a time.

    Threads may share it, and a forked process may go on with it.

    Args:
        path: The file. `NAME.json` beside it holds the vocabulary of a side of words or subwords
            and names the normal form of sources; of a character-level model whose sources have none
            it may be missing.
        threads: Threads of the interpreter.

    Raises:
        UserError: the file or its description is missing or damaged, it is not one of ours, or
            `ai-edge-litert` is not installed.
    """

    only_beam_width = 1
    batches_at_once = 1  # an interpreter holds the tensors of one call

    def __init__(self, path: str | pathlib.Path, threads: int = 1):
        path = pathlib.Path(path)
        self._interpreters = _Interpreters(path, threads)
        inputs, outputs = self._interpreters.inputs, self._interpreters.outputs
        self.has_attention = "attention_weights" in outputs
        self._input, self._output = _tensor_of(path, inputs), _tensor_of(path, outputs)
        self.longest_source = int(inputs[self._input]["shape"][1])
        described = _read_description(path, self._input, self._output)
        self._source, self._target, self.confidence_means, self.calibration = described
        # Without tokens it only cuts texts into characters.
        self.source_vocabulary = self._source if self._source.tokens else None
        self.source_kind, self.target_kind = self._source.kind, self._target.kind

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Of source and target; those of characters are empty."""
        return self._source, self._target

    def translate_batch(
        self, texts: Sequence[str], beam_width: int = 1, length_penalty: float | None = None
    ) -> list[Translation]:
        """Translates texts one after the other.

        A source of more than `longest_source` tokens is cut there, with a warning.

        Raises:
            UserError: a beam width above 1.
        """
        if beam_width != 1:
            raise UserError("--beam-width: a .tflite file decodes greedily; use 1, or an export")
        return [self._translate(text) for text in texts]

    def _translate(self, text: str) -> Translation:
        tokens, ids = self._encode(text)
        if len(ids) > self.longest_source:
            warnings.warn(
                f"a source of {len(ids)} tokens was cut to the {self.longest_source} that this "
                f"file reads; export with a larger --longest-source: {text[:40]!r}...",
                stacklevel=2,
            )
            tokens, ids = tokens[: self.longest_source], ids[: self.longest_source]
        padded = np.zeros((1, self.longest_source), np.int32)
        padded[0, : len(ids)] = ids
        results = self._interpreters.run(**{self._input: padded})
        answer = results[self._output][0]
        target_tokens = self._decode(answer[: np.count_nonzero(answer)])
        weights = None
        if self.has_attention:
            weights = results["attention_weights"][0, : len(target_tokens), : len(tokens)].copy()
        trust = results.get("token_confidence")  # files of earlier versions have none
        return Translation(
            text=self._target.join(target_tokens),
            log_probability=float(results["log_probability"][0]),
            confidence=float(results["confidence"][0]),
            source_tokens=tuple(tokens),
            target_tokens=target_tokens,
            attention_weights=weights,
            token_confidence=None if trust is None else trust[0, : len(target_tokens)],
        )

    def _encode(self, text: str) -> tuple[list[str], np.ndarray]:
        tokens = self._source.split(text)
        if self._input == TENSOR_OF_KIND["char"]:  # the file numbers characters itself
            return tokens, np.array([ord(c) or NO_CHARACTER for c in tokens], np.int32)
        return tokens, self._source.encode([text]).flat

    def _decode(self, answer: np.ndarray) -> tuple[str, ...]:
        if self._output == TENSOR_OF_KIND["char"]:
            return tuple(chr(point) for point in answer)
        return self._target.tokens_of(answer.tolist())


def vocabulary_entries(vocabulary: Vocabulary) -> list[str | None]:
    """A vocabulary as `NAME.json` holds it: token ids index it, reserved ids are null."""
    return [None] * len(RESERVED) + list(vocabulary.tokens)


class _Interpreters:
    """As many interpreters of one file as calls are made at the same time.

    An interpreter holds the tensors of one call: two threads in it end the process. Whoever calls
    takes an idle one, or makes another from the same bytes, whatever has become of the file; so
    there is no lock that a fork could leave closed.

    Attributes:
        inputs, outputs: LiteRT's descriptions of the signature's tensors.
    """

    def __init__(self, path: pathlib.Path, threads: int):
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise missing_extra(str(path), "application") from None
        if not path.is_file():
            raise UserError(f"{path}: no such file; name a .tflite file of an export")
        self._make = functools.partial(Interpreter, num_threads=threads)
        try:
            self._content = path.read_bytes()
            runner = self._new()
            self.inputs, self.outputs = runner.get_input_details(), runner.get_output_details()
            with silent_standard_error():  # the first call announces LiteRT's CPU kernels
                runner(**{name: np.zeros(t["shape"], np.int32) for name, t in self.inputs.items()})
        except PermissionError:
            raise UserError(f"{path}: may not be read; ask its owner") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, RuntimeError, KeyError):
            raise UserError(
                f"{path}: is not a .tflite file with a signature {SIGNATURE!r}; export the run "
                "again"
            ) from None
        self._idle = collections.deque([runner])  # its operations need no lock

    def run(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Calls the signature; the arrays belong to the caller."""
        try:
            runner = self._idle.pop()
        except IndexError:
            runner = self._new()
        results = runner(**inputs)
        self._idle.append(runner)
        return results

    def _new(self):
        return self._make(model_content=self._content).get_signature_runner(SIGNATURE)


def _tensor_of(path: pathlib.Path, tensors: dict) -> str:
    for name in TENSOR_OF_KIND.values():
        if name in tensors:
            return name
    raise UserError(f"{path}: has tensors {sorted(tensors)}, not those of this program's exports")


def _read_description(
    path: pathlib.Path, source_tensor: str, target_tensor: str
) -> tuple[Vocabulary, Vocabulary, Meaning, Calibration | None]:
    """Vocabularies that cut and join the texts of both sides, and what the confidence is.

    Vocabularies of characters are empty. Also the calibration, without what the file computes.
    """
    description = path.with_name(path.name.removesuffix(".tflite").removesuffix(".int8") + ".json")
    characters = TENSOR_OF_KIND["char"]
    if source_tensor == target_tensor == characters and not description.is_file():
        return Vocabulary("char", ()), Vocabulary("char", ()), "right", None
    try:
        content = json.loads(description.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise UserError(f"{description}: is of another format; export the run again")
        means = content.get("confidence_means", "right")  # as always in earlier versions
        if means not in MEANINGS:
            raise ValueError(means)
        calibration = content.get("calibration")
        return (
            _vocabulary(content, "source", source_tensor, content["normal_form"]),
            _vocabulary(content, "target", target_tensor, NO_FORM),
            means,
            calibration and calibration_from_dict(calibration),
        )
    except OSError:
        raise UserError(
            f"{description}: is missing; a model of words or subwords needs it beside {path.name}"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{description}: is damaged; export the run again") from None


def _vocabulary(content: dict, side: str, tensor: str, form: str) -> Vocabulary:
    if tensor == TENSOR_OF_KIND["char"]:
        return Vocabulary("char", (), form)
    kind = content[f"{side}_tokens"]
    if TENSOR_OF_KIND[kind] != tensor:
        raise ValueError(kind)
    return Vocabulary(kind, tuple(content[f"{side}_vocabulary"][len(RESERVED) :]), form)
