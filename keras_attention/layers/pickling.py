"""Pickles of models import this package where they are read, so that its layers are known there.

Keras pickles a model as the bytes of its `.keras` file, which name a layer but not what to import.
A process that has not imported this package, such as a worker of a spawned pool, could not read
them; a pool would start such a worker again and again.
"""

import copyreg
from collections.abc import Callable
from typing import Any

import keras

from keras_attention._runtime.undocumented import functional_class

try:
    _Functional = functional_class()
except ImportError:
    # A Keras that keeps it elsewhere. No model has the exact type Model, so nothing changes then,
    # and the pickles of functional models are Keras' own.
    _Functional = keras.Model

_PACKAGE = __name__.partition(".")[0]


def reduce_model(model: keras.Model) -> tuple[Callable, tuple]:
    """What Keras' own reduction says, read through `rebuild` where the model holds our layers."""
    function, arguments = model.__reduce__()
    modules = {type(layer).__module__ for layer in model._flatten_layers()}
    if any(module.partition(".")[0] == _PACKAGE for module in modules):
        return rebuild, (function, *arguments)
    return function, arguments


def rebuild(function: Callable, *arguments: Any) -> keras.Model:
    """Calls Keras' own function; finding this one has imported the layers beside it."""
    return function(*arguments)


# Of Keras' own kinds of models; the module of a subclass imports this package itself.
for _kind in (_Functional, keras.Sequential):
    copyreg.pickle(_kind, reduce_model)
