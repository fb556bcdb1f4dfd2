"""Attention that people can train, look into, question, and ship.

The public names below are imported when they are first touched, so that `import keras_attention`
costs nothing: the layer needs only Keras, the reader of `.tflite` files no TensorFlow. The layers
are registered with Keras whenever Keras is imported, so that saved models load.
"""

import importlib
from typing import TYPE_CHECKING

from keras_attention import _moved, _registration
from keras_attention.errors import UserError
from keras_attention.version import __version__

if TYPE_CHECKING:
    from keras_attention.config import Config
    from keras_attention.layers.attention import Attention
    from keras_attention.models.inference import InferenceModel
    from keras_attention.plots.heatmap import plot_attention
    from keras_attention.readers.translation import Translation
    from keras_attention.readers.translator import Translator

_MODULE_OF = {
    "Attention": "layers.attention",
    "Config": "config",
    "InferenceModel": "models.inference",
    "Translation": "readers.translation",
    "Translator": "readers.translator",
    "plot_attention": "plots.heatmap",
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

_moved.install()
_registration.install()


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        if name == "Attention":
            # Saved models may hold these layers, too; imported, they are known to Keras' loading.
            importlib.import_module(f"{__name__}.layers.sequence")
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    except ModuleNotFoundError as error:
        # Imported here: whoever has all parts never needs it.
        from keras_attention._runtime.installation import error_of_missing_module

        missing = error_of_missing_module(error, f"keras_attention.{name}")
        if missing is None:
            raise
        raise ModuleNotFoundError(str(missing), name=error.name) from None


def __dir__():
    return sorted(__all__)
