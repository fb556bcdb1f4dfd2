"""Pairs into a trained run, on one process or on several."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_attention.training.trainer import Trained, train

__all__ = ["Trained", "train"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from keras_attention.training import trainer  # imports TensorFlow

    return getattr(trainer, name)
