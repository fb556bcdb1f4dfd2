"""A trained model with all that is needed to use it, to and from a run folder."""

from __future__ import annotations

import dataclasses
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Sequence

import keras

from keras_attention._runtime.files import replacing
from keras_attention.config import Config, load_config
from keras_attention.engine.calibration import Calibration, load_calibration, mean_of
from keras_attention.engine.weights import check_keras_file
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import (
    CALIBRATION,
    CONFIG,
    MODEL,
    VOCABULARY,
)
from keras_attention.folders.run_reading import reading_run
from keras_attention.layers import attention  # noqa: F401  registers the layers for loading
from keras_attention.models.ensemble import Ensemble
from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import build_decoder_step, build_encoder
from keras_attention.readers.members import Kind, check_members
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

    @property
    def members(self) -> tuple[Run, ...]:
        """The runs that decode together: this one alone."""
        return (self,)

    def inference_model(
        self, adapt_encoder: Callable[[keras.Model], keras.Model] = lambda encoder: encoder
    ) -> InferenceModel:
        """A model that decodes and shares the run's weights.

        Args:
            adapt_encoder: Changes how the encoder computes, as for LiteRT.
        """
        encoder = adapt_encoder(build_encoder(self.model, self.config))
        step = build_decoder_step(self.model, self.config)
        return InferenceModel(encoder, step, self.longest_output)


@dataclasses.dataclass(frozen=True)
class RunEnsemble:
    """Runs that decode together; to be used and exported as a `Run` is.

    Attributes:
        members: The runs, which fit together; see `load_ensemble`.
    """

    members: tuple[Run, ...]

    @property
    def config(self) -> Config:
        """How the first member was trained."""
        return self.members[0].config

    @property
    def source(self) -> Vocabulary:
        """Of all members."""
        return self.members[0].source

    @property
    def target(self) -> Vocabulary:
        """Of all members."""
        return self.members[0].target

    @property
    def calibration(self) -> Calibration | None:
        """The mean of the members' maps; None where one of them has none."""
        return mean_of([member.calibration for member in self.members])

    @property
    def longest_output(self) -> int:
        """Tokens after which decoding stops: of the member that goes on longest."""
        return max(member.longest_output for member in self.members)

    def inference_model(
        self, adapt_encoder: Callable[[keras.Model], keras.Model] = lambda encoder: encoder
    ) -> Ensemble:
        """A model that decodes by the mean of its members and shares their weights.

        Args:
            adapt_encoder: Changes how each encoder computes, as for LiteRT.
        """
        return Ensemble([member.inference_model(adapt_encoder) for member in self.members])


AnyRun = Run | RunEnsemble


def load_ensemble(paths: Sequence[str | pathlib.Path]) -> RunEnsemble:
    """Reads finished runs that decode together.

    Args:
        paths: Their folders, at least one.

    Raises:
        UserError: as `load_run`, or if two runs do not fit together.
    """
    runs = tuple(load_run(path) for path in paths)
    check_members(paths, [Kind(run.source, run.target, run.config.has_attention) for run in runs])
    return RunEnsemble(runs)


def load_run(path: str | pathlib.Path) -> Run:
    """Reads a finished run for inference.

    The recurrent layers are told not to use cuDNN: its operators would bind whatever is traced to
    a GPU, and it refuses an empty source.

    Args:
        path: The run folder.

    Raises:
        UserError: there is no run, it is not finished, a file of it is damaged, or a training
            replaced it meanwhile.
    """
    with reading_run(path) as folder:
        run = _read(folder)
    for layer in run.model.layers:
        directions = [getattr(layer, n, None) for n in ("forward_layer", "backward_layer")]
        for part in (layer, *directions):
            if hasattr(part, "use_cudnn"):
                part.use_cudnn = False
    return run


def _read(path: pathlib.Path) -> Run:
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
