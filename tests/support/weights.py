"""Models of random weights made in NumPy alone: nothing here imports TensorFlow or Keras."""

from __future__ import annotations

import hashlib
import pathlib

import numpy as np

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.calibration import Calibration
from keras_attention.engine.decoder import END, PADDING, START, UNKNOWN
from keras_attention.folders.export_layout import FORMAT, write_manifest
from keras_attention.folders.weights_folder import write_weights
from keras_attention.text.vocabulary import Vocabulary
from tests.support.texts import TOKENS_OF_KIND

LONGEST_OUTPUT = 9
PLAIN = {
    "encoder": "lstm",
    "bidirectional": True,
    "layers": 1,
    "units": 16,
    "embedding_size": 8,
    "attention": "dot",
    "attentional_layer": False,
    "reverse_source": False,
    "initial_state": "full",
    "longest_output": LONGEST_OUTPUT,
}
# Log-probabilities into confidences that are not the probabilities.
CALIBRATION = Calibration(0.8, 1.2, 0.3, -0.05, 500, 100)


def random_weights(
    export: pathlib.Path,
    tokens: tuple[str, str] = ("char", "char"),
    seed: int = 0,
    members: int = 1,
    **options,
) -> pathlib.Path:
    """An export of which only the weights and the manifest exist.

    The weights are large, so that no two tokens are nearly as likely and attention is sharp, and
    what must never be said would be the likeliest of all, were it not for the mask.
    """
    export.mkdir(parents=True)
    architecture = Architecture(**(PLAIN | options))
    vocabularies = tuple(Vocabulary(kind, TOKENS_OF_KIND[kind]) for kind in tokens)
    rng = np.random.default_rng(seed)
    models = [(architecture, _arrays(architecture, vocabularies, rng)) for _ in range(members)]
    write_weights(export, "random", models, vocabularies, CALIBRATION, 1, 0.0)
    content = (export / "weights" / "random.safetensors").read_bytes()
    manifest = {
        "format": FORMAT,
        "name": "random",
        "version": 1,
        "source_tokens": tokens[0],
        "target_tokens": tokens[1],
        "has_attention": architecture.has_attention,
        "beam_width": 1,
        "length_penalty": 0.0,
        "files": {"weights/random.safetensors": {"sha256": hashlib.sha256(content).hexdigest()}},
    }
    write_manifest(export, manifest)
    return export


def _arrays(architecture, vocabularies, rng) -> dict[str, np.ndarray]:
    arrays = {}
    for name, shape in architecture.weight_shapes(*map(len, vocabularies)).items():
        scale = 2.0 if name.startswith("affine") else 0.8
        arrays[name] = (scale * rng.standard_normal(shape)).astype(np.float32)
    bias = arrays["affine/bias"] * 0
    bias[[PADDING, START, UNKNOWN]] = 20.0
    bias[END] = 1.0
    return arrays | {"affine/bias": bias}
