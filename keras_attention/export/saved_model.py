"""A run into a SavedModel for TF Serving: strings in, strings, scores and attention out.

Letters in shape comments: n texts, k beam width, T longest output, S tokens of the longest source.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.export.confidence_graph import confidence, p_values, token_confidence
from keras_attention.export.warmup import write_warmup
from keras_attention.folders.export_layout import SOURCE_VOCABULARY
from keras_attention.models.decoding import NEG_INF, Decoded
from keras_attention.readers.run import AnyRun
from keras_attention.text.exceptions_graph import ExceptionsGraph
from keras_attention.text.vocabulary import Vocabulary
from keras_attention.text.vocabulary_graph import EncodedTexts, SourceGraph, TargetGraph

_TEXTS = tf.TensorSpec([None], tf.string, name="text")

# Batches of requests that TF Serving may join; it reads this file from the version folder when
# started with --enable_batching --enable_per_model_batching_parameters.
BATCHING_FILE = "batching_params.pbtxt"
BATCHING_PARAMETERS = """\
max_batch_size { value: 64 }
batch_timeout_micros { value: 1000 }
max_enqueued_batches { value: 1000 }
num_batch_threads { value: 2 }
"""


@dataclasses.dataclass(frozen=True)
class ServingLimits:
    """What the graph itself refuses, whatever serves it.

    Attributes:
        longest_text: Characters, that is code points as sent. A longer text is answered with an
            empty text, `log_probability` -1e9 and `confidence` 0; other rows are as ever.
        largest_batch: Texts times characters of the longest that is read. A batch beyond is an
            INVALID_ARGUMENT error.
    """

    longest_text: int = 4096
    largest_batch: int = 2**19


class ServingModule(tf.Module):
    """Tokenisation, decoding and detokenisation of a run as three signatures.

    Args:
        run: Read with `trained_run.load_run`, so that no cuDNN operator is traced.
        beam_width: k of the `beam` signature.
        length_penalty: See `decoding.beam_search`.
        limits: See `ServingLimits`.
        exceptions: The file of a dictionary that wins over the model; see `pairs.exceptions`.
    """

    def __init__(
        self,
        run: AnyRun,
        beam_width: int,
        length_penalty: float,
        limits: ServingLimits | None = None,
        exceptions: pathlib.Path | None = None,
    ):
        super().__init__()
        self._source = SourceGraph(run.source)
        # Saving follows plain variables. The Keras model itself stays out of the module: its
        # objects would be saved too, and loading needs none of them.
        self._weights = [v.value for member in run.members for v in member.model.variables]
        self._exceptions = None
        if exceptions is not None:
            sides = run.source, run.target
            self._exceptions = ExceptionsGraph(exceptions, *sides, run.longest_output)
        how = beam_width, length_penalty, limits or ServingLimits()
        answers = _Answers(run, self._source, *how, self._exceptions)
        methods = {"serving_default": answers.serving_default, "beam": answers.beam}
        if run.config.has_attention:
            methods["attention"] = answers.attention
        self._functions = {
            name: tf.function(method, input_signature=[_TEXTS], autograph=False)
            for name, method in methods.items()
        }

    def signatures(self) -> dict[str, tf.types.experimental.ConcreteFunction]:
        """The signatures by name, traced."""
        return {name: f.get_concrete_function() for name, f in self._functions.items()}


class _Answers:
    """The signatures as Python methods, each from string `[n]`; no part of what is saved."""

    def __init__(
        self,
        run: AnyRun,
        source: SourceGraph,
        beam_width: int,
        length_penalty: float,
        limits: ServingLimits,
        exceptions: ExceptionsGraph | None,
    ):
        self._exceptions = exceptions
        self._source = source
        self._target = TargetGraph(run.target)
        self._model = run.inference_model()
        self._calibration = run.calibration
        self._beam = beam_width, length_penalty
        self._limits = limits

    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        encoded, kept = self._encode(text)
        outputs = self._scored(self._model.greedy(encoded.ids), encoded, kept)
        return self._with_exceptions(outputs, encoded)

    def attention(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        encoded, kept = self._encode(text)
        return self._shown(self._model.greedy(encoded.ids), encoded, kept)

    def beam(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        encoded, kept = self._encode(text)
        decoded = self._model.beam(encoded.ids, *self._beam)
        outputs = self._shown(decoded, encoded, kept)
        promised = p_values(self._calibration, decoded, *self._beam)
        if promised is not None:
            outputs["p_value"] = promised * _like(kept, promised)
        return outputs

    def _encode(self, text: tf.Tensor) -> tuple[EncodedTexts, tf.Tensor]:
        """The texts with an empty one in place of each that is too long.

        Also int32 `[n]`, 0 where that was done and 1 elsewhere: products with it are exact, and
        cost less than a choice between tensors.
        """
        longest = self._limits.longest_text
        # What cannot be short enough goes before its characters are looked at: of UTF-8 a
        # character has at most 4 bytes, and so has what becomes one U+FFFD.
        text = tf.where(tf.strings.length(text) > 4 * longest, _filler(longest), text)
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        lengths = tf.strings.length(text, unit="UTF8_CHAR")  # [n]
        too_long = lengths > longest
        read = tf.cast(tf.where(too_long, 0, lengths), tf.int64)
        size = tf.size(read, out_type=tf.int64) * tf.reduce_max(tf.concat([read, [0]], axis=0))
        check = tf.debugging.Assert(
            size <= self._limits.largest_batch,
            [
                "The batch is too large: its number of texts times the length of the longest may "
                f"be {self._limits.largest_batch}, and is",
                size,
            ],
        )
        with tf.control_dependencies([check]):
            text = tf.where(too_long, "", text)
        return self._source.encode(text), tf.cast(lengths <= longest, tf.int32)

    def _scored(
        self, decoded: Decoded, encoded: EncodedTexts, kept: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The outputs that every signature has: `[n]`, or `[n, k]` of a beam."""
        score = decoded.log_probability
        factor = _like(kept, score)
        return {
            "text": self._texts(decoded, kept)[0],
            "log_probability": score * factor + NEG_INF * (1 - factor),
            "confidence": confidence(self._calibration, encoded.ids, decoded) * factor,
        }

    def _shown(
        self, decoded: Decoded, encoded: EncodedTexts, kept: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The outputs of a signature that shows tokens, and attention where there is any."""
        trust = token_confidence(self._calibration, decoded)
        outputs = {
            **self._scored(decoded, encoded, kept),
            "source_tokens": encoded.tokens,
            "source_length": encoded.lengths,
            "target_tokens": self._texts(decoded, kept)[1],
            "target_length": decoded.lengths * _like(kept, decoded.lengths),
            "token_confidence": trust * _like(kept, trust),
        }
        if self._model.has_attention:
            weights = decoded.attention_weights
            outputs["attention_weights"] = weights * _like(kept, weights)
        return self._with_exceptions(outputs, encoded)

    def _with_exceptions(
        self, outputs: dict[str, tf.Tensor], encoded: EncodedTexts
    ) -> dict[str, tf.Tensor]:
        """The outputs with the dictionary's answers in place of the model's.

        Such an answer is certain, the only hypothesis of its beam, and looks at nothing.
        `from_exceptions` bool `[n]` tells of it.
        """
        if self._exceptions is None:
            return outputs
        answers = self._exceptions.answers(encoded)
        found = answers != ""  # [n]
        fixed = {"text": answers, "log_probability": 0.0, "confidence": 1.0}
        if "target_tokens" in outputs:
            fixed["target_tokens"], fixed["target_length"] = self._exceptions.tokens(answers)
        is_beam = outputs["text"].shape.rank == 2
        absent = {"text": "", "log_probability": NEG_INF, "target_tokens": ""}
        for name, value in fixed.items():
            fixed[name] = tf.convert_to_tensor(value, outputs[name].dtype)
            if is_beam:
                first = tf.range(tf.shape(outputs[name])[1]) == 0  # [k]
                first = tf.reshape(first, [1, -1] + [1] * (outputs[name].shape.rank - 2))
                row = fixed[name][:, None] if fixed[name].shape.rank else fixed[name]
                fixed[name] = tf.where(first, row, tf.cast(absent.get(name, 0), row.dtype))
        if "attention_weights" in outputs:
            fixed["attention_weights"] = tf.zeros_like(outputs["attention_weights"])
        if "token_confidence" in outputs:
            length = fixed["target_length"][..., None]
            steps = tf.range(tf.shape(outputs["token_confidence"])[-1])
            fixed["token_confidence"] = tf.cast(steps < length, tf.float32)
        if "p_value" in outputs:
            fixed["p_value"] = tf.cast(first, tf.float32) * tf.ones_like(outputs["p_value"])
        return outputs | {
            "from_exceptions": found,
            **{
                name: tf.where(_beside(found, outputs[name]), value, outputs[name])
                for name, value in fixed.items()
            },
        }

    def _texts(self, decoded: Decoded, kept: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Texts and their tokens; of a refused text both are empty, as padding is."""
        ids, lengths = decoded.token_ids, decoded.lengths
        return self._target.decode(ids * _like(kept, ids), lengths * _like(kept, lengths))


def _filler(longest: int) -> str:
    """A text that is too long, and no longer than that."""
    return "." * (longest + 1)


def _beside(rows: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """`[n]` with the rank of outputs."""
    return tf.reshape(rows, [-1] + [1] * (outputs.shape.rank - 1))


def _like(kept: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """`[n]` with the type and the rank of outputs, to be multiplied with them."""
    return tf.cast(_beside(kept, outputs), outputs.dtype)


def write_saved_model(
    run: AnyRun,
    folder: pathlib.Path,
    name: str,
    beam_width: int,
    length_penalty: float,
    limits: ServingLimits | None = None,
    exceptions: pathlib.Path | None = None,
) -> None:
    """Writes one version folder as TF Serving loads it.

    Args:
        run: What to export.
        folder: Created; the SavedModel with warm-up requests and batching parameters in it.
        name: The model's name in the warm-up requests.
        beam_width, length_penalty: Of the `beam` signature.
        limits: See `ServingLimits`.
        exceptions: See `ServingModule`.

    Raises:
        RuntimeError: a cuDNN or a custom operator got into the graph.
    """
    module = ServingModule(run, beam_width, length_penalty, limits, exceptions)
    signatures = module.signatures()
    tf.saved_model.save(module, str(folder), signatures=signatures)
    check_operators(folder)
    write_warmup(folder, name, sorted(signatures))
    _write_source_vocabulary(run.source, folder / SOURCE_VOCABULARY)
    (folder / BATCHING_FILE).write_text(BATCHING_PARAMETERS, encoding="utf-8")


def _write_source_vocabulary(vocabulary: Vocabulary, path: pathlib.Path) -> None:
    description = {
        "kind": vocabulary.kind,
        "normal_form": vocabulary.normal_form,
        "tokens": list(vocabulary.tokens),
    }
    path.write_text(json.dumps(description, ensure_ascii=False) + "\n", encoding="utf-8")


def check_operators(folder: pathlib.Path) -> None:
    """Raises RuntimeError unless all operators of a SavedModel are core CPU operators."""
    proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    graphs = [graph.graph_def for graph in proto.meta_graphs]
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for g in graphs for function in g.library.function for node in function.node_def]
    names = {node.op for node in nodes}
    odd = sorted(n for n in names if "Cudnn" in n or "PyFunc" in n)
    if odd:
        raise RuntimeError(f"operators that a plain CPU server lacks: {odd}")
