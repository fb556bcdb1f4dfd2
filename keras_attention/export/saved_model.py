"""A run into a SavedModel for TF Serving: strings in, strings, scores and attention out.

Letters in shape comments: n texts, k beam width, T longest output, S tokens of the longest source.
"""

from __future__ import annotations

import pathlib

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.export.warmup import write_warmup
from keras_attention.models.inference import InferenceModel
from keras_attention.readers.calibration import confidence_of
from keras_attention.readers.run import Run
from keras_attention.text.vocabulary_graph import SourceGraph, TargetGraph

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


class ServingModule(tf.Module):
    """Tokenisation, decoding and detokenisation of a run as three signatures.

    Args:
        run: Read with `trained_run.load_run`, so that no cuDNN operator is traced.
        beam_width: k of the `beam` signature.
        length_penalty: See `decoding.beam_search`.
    """

    def __init__(self, run: Run, beam_width: int, length_penalty: float):
        super().__init__()
        self._source = SourceGraph(run.source)
        model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
        # Saving follows plain variables. The Keras model itself stays out of the module: its
        # objects would be saved too, and loading needs none of them.
        self._weights = [variable.value for variable in run.model.variables]
        target = TargetGraph(run.target)
        source = self._source

        def scored(decoded):
            """The outputs that every signature has."""
            length = tf.cast(decoded.lengths, tf.float32)
            return {
                "text": target.decode(decoded.token_ids, decoded.lengths)[0],
                "log_probability": decoded.log_probability,
                "confidence": confidence_of(
                    run.calibration, decoded.log_probability, length, tf.math
                ),
            }

        @tf.function(input_signature=[_TEXTS], autograph=False)
        def serving_default(text):
            return scored(model.greedy(source.encode(text).ids))

        @tf.function(input_signature=[_TEXTS], autograph=False)
        def attention(text):
            encoded = source.encode(text)
            decoded = model.greedy(encoded.ids)
            return {
                **scored(decoded),
                "source_tokens": encoded.tokens,
                "source_length": encoded.lengths,
                "target_tokens": target.decode(decoded.token_ids, decoded.lengths)[1],
                "target_length": decoded.lengths,
                "attention_weights": decoded.attention_weights,
            }

        @tf.function(input_signature=[_TEXTS], autograph=False)
        def beam(text):
            encoded = source.encode(text)
            decoded = model.beam(encoded.ids, beam_width, length_penalty)
            outputs = {
                **scored(decoded),
                "source_tokens": encoded.tokens,
                "source_length": encoded.lengths,
                "target_tokens": target.decode(decoded.token_ids, decoded.lengths)[1],
                "target_length": decoded.lengths,
            }
            if model.has_attention:
                outputs["attention_weights"] = decoded.attention_weights
            return outputs

        self._functions = {"serving_default": serving_default, "beam": beam}
        if model.has_attention:
            self._functions["attention"] = attention

    def signatures(self) -> dict[str, tf.types.experimental.ConcreteFunction]:
        """The signatures by name, traced."""
        return {name: f.get_concrete_function() for name, f in self._functions.items()}


def write_saved_model(
    run: Run, folder: pathlib.Path, name: str, beam_width: int, length_penalty: float
) -> None:
    """Writes one version folder as TF Serving loads it.

    Args:
        run: What to export.
        folder: Created; the SavedModel with warm-up requests and batching parameters in it.
        name: The model's name in the warm-up requests.
        beam_width, length_penalty: Of the `beam` signature.

    Raises:
        RuntimeError: a cuDNN or a custom operator got into the graph.
    """
    module = ServingModule(run, beam_width, length_penalty)
    signatures = module.signatures()
    tf.saved_model.save(module, str(folder), signatures=signatures)
    check_operators(folder)
    write_warmup(folder, name, sorted(signatures))
    (folder / BATCHING_FILE).write_text(BATCHING_PARAMETERS, encoding="utf-8")


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
