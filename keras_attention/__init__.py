"""Attention that people can train, look into, question, and ship.

The public names below are imported when they are first touched, so that `import keras_attention`
costs nothing: the layer needs only Keras, the reader of `.tflite` files no TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING

from keras_attention.errors import UserError
from keras_attention.version import __version__

if TYPE_CHECKING:
    from keras_attention.attention import Attention
    from keras_attention.config import Config
    from keras_attention.inference import InferenceModel
    from keras_attention.translation import Translation
    from keras_attention.translator import Translator
    from keras_attention.visualize import plot_attention

_MODULE_OF = {
    "Attention": "attention",
    "Config": "config",
    "InferenceModel": "inference",
    "Translation": "translation",
    "Translator": "translator",
    "plot_attention": "visualize",
}

__all__ = [
    "Attention",
    "Config",
    "InferenceModel",
    "Translation",
    "Translator",
    "UserError",
    "__version__",
    "plot_attention",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Attention":
        # Saved models may hold these layers, too; imported, they are known to Keras' loading.
        importlib.import_module(f"{__name__}.sequence_layers")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__():
    return sorted(__all__)
