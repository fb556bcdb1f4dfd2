"""A run's weights into an open file, for readers without TensorFlow and in other languages."""

from __future__ import annotations

import pathlib

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.weights import of_keras_model
from keras_attention.folders.weights_folder import write_weights
from keras_attention.readers.run import AnyRun


def write_run_weights(
    run: AnyRun,
    export: pathlib.Path,
    name: str,
    beam_width: int,
    length_penalty: float,
) -> None:
    """Writes `weights/NAME.safetensors` and `weights/NAME.json` into an export folder.

    Args:
        run: What to export.
        export: The export folder.
        name: The model's name.
        beam_width, length_penalty: What the export decodes with by default.
    """
    members = [
        (Architecture.of(member.config), of_keras_model(member.model)) for member in run.members
    ]
    vocabularies = run.source, run.target
    write_weights(export, name, members, vocabularies, run.calibration, beam_width, length_penalty)
