"""A run into LiteRT files: the whole greedy decoder in one signature, builtin operators only.

Letters in shape comments: S longest source, T longest output; the batch is always 1.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.lite.tools import flatbuffer_utils

from keras_attention._runtime.undocumented import freeze_variables
from keras_attention.engine.calibration import MEANINGS, calibration_to_dict, meaning_of
from keras_attention.export.confidence_graph import confidence, token_confidence
from keras_attention.export.litert_encoder import until_last_token
from keras_attention.export.requirements import least_runtime
from keras_attention.readers.litert_reader import (
    FORMAT,
    SIGNATURE,
    TENSOR_OF_KIND,
    vocabulary_entries,
)
from keras_attention.readers.run import AnyRun
from keras_attention.text.vocabulary import RESERVED, UNKNOWN
from keras_attention.text.vocabulary_graph import code_points_of

# The code of an operator that the file names itself; a Flex operator is one.
_CUSTOM = flatbuffer_utils.schema_fb.BuiltinOperator.CUSTOM


def write_litert(run: AnyRun, folder: pathlib.Path, name: str, longest_source: int) -> None:
    """Writes `NAME.tflite`, `NAME.int8.tflite` (weights quantised) and `NAME.json`.

    Args:
        run: Read with `trained_run.load_run`.
        folder: Existing; the files are written into it.
        name: NAME.
        longest_source: S in tokens; what is longer has to be cut by the caller.

    Raises:
        RuntimeError: the model needs an operator that is not a LiteRT builtin, or a shape in it
            depends on the input.
    """
    decoder = greedy_signature(run, longest_source)
    with tempfile.TemporaryDirectory() as saved_model:
        # Only a SavedModel's signature keeps the names of inputs and outputs through conversion.
        tf.saved_model.save(_module(decoder), saved_model, signatures={SIGNATURE: decoder})
        plain = _convert(saved_model, [])
        quantised = _convert(saved_model, [tf.lite.Optimize.DEFAULT])
    (folder / f"{name}.tflite").write_bytes(plain)
    (folder / f"{name}.int8.tflite").write_bytes(quantised)
    runtimes = {f"{name}.tflite": plain, f"{name}.int8.tflite": quantised}
    description = _description(
        run, longest_source, {file: least_runtime(model) for file, model in runtimes.items()}
    )
    text = json.dumps(description, ensure_ascii=False, indent=1)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def greedy_signature(run: AnyRun, longest_source: int) -> tf.types.experimental.PolymorphicFunction:
    """The decoder as one function of constants, batch 1 and fixed lengths.

    Returns:
        From `code_points` or `token_ids` int32 `[1, S]`, zero-padded, to the same of the answer
        int32 `[1, T]`, `attention_weights` float32 `[1, T, S]`, `token_confidence` float32
        `[1, T]`, `log_probability` and `confidence` float32 `[1]`.
    """
    model = run.inference_model(until_last_token)
    input_name, output_name = (TENSOR_OF_KIND[side.kind] for side in (run.source, run.target))
    spec = tf.TensorSpec([1, longest_source], tf.int32, name=input_name)
    known = code_points_of(run.source) if run.source.kind == "char" else None
    answers = np.arange(len(run.target), dtype=np.int32)
    if run.target.kind == "char":
        answers[len(RESERVED) :] = code_points_of(run.target)

    @tf.function(input_signature=[spec], autograph=False)
    def with_variables(tokens):
        ids = _ids(tokens, known)
        decoded = model.greedy(ids, litert_compatible=True)
        results = {
            output_name: tf.gather(tf.constant(answers), decoded.token_ids),
            "log_probability": decoded.log_probability,
            "confidence": confidence(run.calibration, ids, decoded),
            "token_confidence": token_confidence(run.calibration, decoded),
        }
        if model.has_attention:
            results["attention_weights"] = decoded.attention_weights
        return results

    # With variables, conversion succeeds and running fails: the loops' bodies find them empty.
    concrete = with_variables.get_concrete_function()
    frozen = freeze_variables(concrete)
    names = sorted(concrete.structured_outputs)

    @tf.function(input_signature=[spec], autograph=False)
    def with_constants(tokens):
        return dict(zip(names, frozen(tokens), strict=True))

    return with_constants


def check_operators(model: bytes) -> None:
    """Raises RuntimeError unless all operators of a `.tflite` file are builtins of LiteRT."""
    foreign = sorted(
        (code.customCode or b"?").decode()
        for code in flatbuffer_utils.convert_bytearray_to_object(model).operatorCodes
        if code.customCode or code.builtinCode == _CUSTOM
    )
    if foreign:
        raise RuntimeError(f"operators that are not LiteRT builtins: {foreign}")


def check_shapes(model: bytes) -> None:
    """Raises RuntimeError unless all shapes in a `.tflite` file are known beforehand.

    LiteRT's compiled models, those of LiteRT.js among them, answer wrongly where one is not.
    """
    unknown = sorted(
        tensor.name.decode()
        for graph in flatbuffer_utils.convert_bytearray_to_object(model).subgraphs
        for tensor in graph.tensors
        if tensor.shapeSignature is not None and (tensor.shapeSignature < 0).any()
    )
    if unknown:
        raise RuntimeError(f"tensors whose shapes depend on the input: {unknown[:5]}")


def _ids(tokens: tf.Tensor, known: np.ndarray | None) -> tf.Tensor:
    """int32 `[1, S]` into ids, 0 behind the last token that is not 0.

    A 0 between other tokens would be U+0000, which is unknown like every character that is not in
    `known`. Without `known` the tokens are ids already.
    """
    if known is None:
        ids = tokens
    else:
        same = tf.cast(tf.equal(tokens[..., None], tf.constant(known)), tf.int32)  # [1, S, known]
        ids = tf.reduce_sum(same * tf.range(len(RESERVED), len(RESERVED) + len(known)), axis=-1)
    ids = tf.where(tf.equal(ids, 0), UNKNOWN, ids)
    positions = tf.range(1, tokens.shape[1] + 1)
    last = tf.reduce_max(tf.where(tf.not_equal(tokens, 0), positions, 0), axis=-1, keepdims=True)
    return tf.where(positions <= last, ids, 0)


def _module(function: Callable) -> tf.Module:
    module = tf.Module()
    module.function = function
    return module


def _convert(saved_model: str, optimizations: list) -> bytes:
    converter = tf.lite.TFLiteConverter.from_saved_model(saved_model, signature_keys=[SIGNATURE])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    converter.optimizations = optimizations
    model = converter.convert()
    check_operators(model)
    check_shapes(model)
    return model


def _description(run: AnyRun, longest_source: int, runtimes: dict[str, str]) -> dict:
    description = {
        "format": FORMAT,
        "signature": SIGNATURE,
        "longest_source": longest_source,
        "longest_output": run.longest_output,
        "source_tokens": run.source.kind,
        "target_tokens": run.target.kind,
        "normal_form": run.source.normal_form,
        "confidence_means": meaning_of(run.calibration),
        "confidence": MEANINGS[meaning_of(run.calibration)],
        # Of the float32 file; each file's own follows.
        "least_runtime": next(iter(runtimes.values())),
        "least_runtimes": runtimes,
        # Of the promises, which no file computes; its maps are in the files.
        "calibration": run.calibration
        and calibration_to_dict(dataclasses.replace(run.calibration, familiarity=None, sets=())),
    }
    for side, vocabulary in (("source", run.source), ("target", run.target)):
        if vocabulary.kind != "char":  # whose tensor holds code points
            description[f"{side}_vocabulary"] = vocabulary_entries(vocabulary)
    return description
