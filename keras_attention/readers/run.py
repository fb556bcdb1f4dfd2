"""A trained model with all that is needed to use it, to and from a run folder."""

from __future__ import annotations

import dataclasses
import pathlib
import zipfile
import zlib

import keras

from keras_attention._runtime.files import replacing
from keras_attention._runtime.installation import command_for
from keras_attention.config import Config, load_config
from keras_attention.engine.calibration import Calibration, load_calibration
from keras_attention.engine.weights import check_keras_file
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import (
    CALIBRATION,
    CONFIG,
    MODEL,
    VOCABULARY,
    is_run,
    resumption_of,
)
from keras_attention.layers import attention  # noqa: F401  registers the layers for loading
from keras_attention.models import training_model as models  # noqa: F401  registers the layers for loading
from keras_attention.text.vocabulary import Vocabulary, load_vocabularies


@dataclasses.dataclass(frozen=True)
class Run:
    """A trained model with all that is needed to use it.

    Attributes:
        config: How it was trained, with all numbers filled in.
        source, target: The vocabularies.
        model: The training model, see `models.build_training_model`.
        calibration: From log-probability to confidence; None where the run has no map.
    """

    config: Config
    source: Vocabulary
    target: Vocabulary
    model: keras.Model
    calibration: Calibration | None = None

    @property
    def longest_output(self) -> int:
        """Tokens after which decoding stops."""
        return self.config.filled_in("longest_output")


def load_run(path: str | pathlib.Path) -> Run:
    """Reads a finished run for inference.

    The recurrent layers are told not to use cuDNN: its operators would bind whatever is traced to
    a GPU, and it refuses an empty source.

    Args:
        path: The run folder.

    Raises:
        UserError: there is no run, it is not finished, or a file of it is damaged.
    """
    path = pathlib.Path(path)
    if not is_run(path):
        raise UserError(
            f"{path}: holds no run (no {CONFIG}); train one with `{command_for('train')}`"
        )
    if not (path / MODEL).is_file():
        raise UserError(
            f"{path}: holds a run that is not finished; go on with `{resumption_of(path)}`"
        )
    config = load_config(path / CONFIG)
    source, target = load_vocabularies(path / VOCABULARY)
    try:
        check_keras_file(path / MODEL)
        model = keras.saving.load_model(path / MODEL, compile=False)
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{path / MODEL}: cannot be read: {reason}; copy the run folder again, or train again"
        ) from None
    _check_together(path, model, source, target)
    for layer in model.layers:
        directions = [getattr(layer, n, None) for n in ("forward_layer", "backward_layer")]
        for part in (layer, *directions):
            if hasattr(part, "use_cudnn"):
                part.use_cudnn = False
    return Run(config, source, target, model, load_calibration(path / CALIBRATION))


def _check_together(path: pathlib.Path, model: keras.Model, source, target) -> None:
    """Whether the model numbers as many tokens as the vocabularies do."""
    sizes = {"source_embedding": len(source), "target_embedding": len(target)}
    found = {layer.name: layer.input_dim for layer in model.layers if layer.name in sizes}
    if found != sizes:
        raise UserError(
            f"{path / VOCABULARY}: is not of the training that {MODEL} beside it is of; copy the "
            "run folder again, or train again"
        )


def save_model(path: str | pathlib.Path, model: keras.Model) -> None:
    """Writes `model.keras` into a run folder."""
    with replacing(pathlib.Path(path) / MODEL) as temporary:
        model.save(temporary)
