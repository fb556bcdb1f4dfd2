"""Registers with Keras what saved models hold, once Keras is imported, and imports it for nobody.

`keras.saving.load_model` knows custom classes by their registered names only. Whoever has imported
this package, before or after Keras, expects that to be enough.
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys

_PACKAGE = __package__

# The classes that `.keras` files hold, and where they are.
SAVED_CLASSES = {
    "Attention": "layers.attention",
    "ReverseSequence": "layers.sequence",
    "Peek": "layers.sequence",
    "RecurrentStep": "layers.sequence",
    "InferenceModel": "models.inference",
    "Ensemble": "models.ensemble",
}


def install() -> None:
    """Registers now where Keras is imported already, else once it will be."""
    if sys.modules.get("keras") is not None:
        _register(importlib.import_module("keras"))  # waits where another thread imports it
    elif not any(isinstance(finder, _KerasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _KerasFinder())


def _register(keras) -> None:
    known = keras.saving.get_custom_objects()
    for name, module in SAVED_CLASSES.items():
        known.setdefault(f"{_PACKAGE}>{name}", _stand_in(name, module))
    importlib.import_module(f"{_PACKAGE}.layers.pickling")


def _stand_in(name: str, module: str) -> type:
    """Stands in Keras' registry until the class itself is imported, which then takes its place."""

    def from_config(cls, config):
        wanted = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
        return wanted.from_config(config)

    return type(name, (), {"from_config": classmethod(from_config), "__module__": _PACKAGE})


class _KerasFinder(importlib.abc.MetaPathFinder):
    """Lets the other finders find Keras, and registers behind its import."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "keras":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    self._register_behind(spec.loader)
                return spec
        return None

    def _register_behind(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            if module.__name__ == "keras":
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _register(module)

        loader.exec_module = exec_module
