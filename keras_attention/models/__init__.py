"""The training model, decoding, and both joined: the inference model."""

from keras_attention.models.training_model import (
    build_decoder_step,
    build_encoder,
    build_teacher_forced_attention,
    build_training_model,
)

__all__ = [
    "build_decoder_step",
    "build_encoder",
    "build_teacher_forced_attention",
    "build_training_model",
]
