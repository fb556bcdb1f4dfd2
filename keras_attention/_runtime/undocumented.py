"""What the package uses of Keras and TensorFlow beyond their documented interfaces.

Methods of Keras that a subclass or a context replaces are named where they are replaced, and
checked there by `require_method` whenever they are used. Private paths of Keras and TensorFlow are
imported here alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


def require_method(owner: type, name: str) -> None:
    """Checks that a class of Keras still has a method that this package replaces.

    Without the check a later Keras that renamed it would go on silently with a method of its own.

    Raises:
        RuntimeError: it has not.
    """
    if not callable(getattr(owner, name, None)):
        import keras

        raise RuntimeError(
            f"Keras has no method {owner.__name__}.{name}, which this package replaces; install "
            f"the version of Keras that requirements.txt names. Received: keras {keras.__version__}"
        )


@contextlib.contextmanager
def replaced_method(
    instance: Any, name: str, make: Callable[[Callable], Callable]
) -> Iterator[None]:
    """Gives one object of Keras another method while the block runs, then puts it back.

    `make` is given the object's own method and returns the one that replaces it.

    The object is changed for all threads; so keep the block short, such as the tracing of a graph.

    Raises:
        RuntimeError: the object's class has no such method, see `require_method`.
    """
    require_method(type(instance), name)
    attributes = vars(instance)  # past Keras' tracking of what is assigned
    before = {name: attributes[name]} if name in attributes else {}
    attributes[name] = make(getattr(instance, name))
    try:
        yield
    finally:
        del attributes[name]
        attributes.update(before)


def freeze_variables(concrete_function: Any) -> Any:
    """A concrete function with its variables' values as constants, for LiteRT's converter."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    return convert_variables_to_constants_v2(concrete_function)


def functional_class() -> type:
    """The class of Keras' functional models, which the documented interface does not name."""
    from keras.src.models.functional import Functional

    return Functional


def operator_of(name: str) -> Any:
    """TensorFlow's definition of an operator (`OpDef`), None where it knows none of this name."""
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(name)
