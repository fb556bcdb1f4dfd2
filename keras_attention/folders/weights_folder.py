"""An export's weights in an open format, with all that is needed to decode with them.

`weights/NAME.safetensors` holds the tensors and, in its header, the description that
`weights/NAME.json` repeats: one file is the whole model. docs/shipping.md says how to write a
reader in another language.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Sequence

import numpy as np

from keras_attention._runtime.files import replacing, write_text
from keras_attention.engine.architecture import Architecture
from keras_attention.engine.calibration import (
    MEANINGS,
    Calibration,
    calibration_from_dict,
    calibration_to_dict,
    meaning_of,
)
from keras_attention.engine.decoder import Model
from keras_attention.engine.weights import read_safetensors, write_safetensors
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import WEIGHTS, read_manifest
from keras_attention.text.normal_form import NO_FORM
from keras_attention.text.vocabulary import RESERVED, Vocabulary

FORMAT = 1
DESCRIPTION = "description"  # its key in the header of the tensors' file
GATES = {
    "lstm": ["input", "forget", "candidate", "output"],
    "gru": ["update", "reset", "candidate"],
}


@dataclasses.dataclass(frozen=True)
class ExportedWeights:
    """What the two files hold.

    Attributes:
        models: One, or the members of an ensemble.
        source, target: The vocabularies.
        calibration: From log-probability to confidence, or None.
        beam_width, length_penalty: What the export decodes with by default.
    """

    models: list[Model]
    source: Vocabulary
    target: Vocabulary
    calibration: Calibration | None
    beam_width: int
    length_penalty: float


def has_weights(export: pathlib.Path, manifest: dict) -> bool:
    """Whether an export has the weights that its manifest describes.

    Exports from before version 0.2 have none; those of one that was killed at its end, or rolled
    back, may be of another version than the SavedModel.
    """
    tensors, _ = _paths(export, manifest["name"])
    described = manifest.get("files", {}).get(tensors.relative_to(export).as_posix())
    if described is None:
        return False
    try:
        with open(tensors, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == described["sha256"]
    except FileNotFoundError:
        return False


def write_weights(
    export: pathlib.Path,
    name: str,
    members: Sequence[tuple[Architecture, dict[str, np.ndarray]]],
    vocabularies: tuple[Vocabulary, Vocabulary],
    calibration: Calibration | None,
    beam_width: int,
    length_penalty: float,
) -> None:
    """Writes the two files into the folder `weights` of an export, which is made.

    Args:
        export: The export folder.
        name: The model's name.
        members: Architecture and weights of the model, or of each member of an ensemble.
        vocabularies: Of source and target.
        calibration, beam_width, length_penalty: See `ExportedWeights`.
    """
    tensors, description = _paths(export, name)
    tensors.parent.mkdir(exist_ok=True)
    source, target = vocabularies
    content = {
        "format": FORMAT,
        "models": [dataclasses.asdict(architecture) for architecture, _ in members],
        "gates": _gates_of([architecture.encoder for architecture, _ in members]),
        "reserved": list(RESERVED),
        "source": source.to_dict(),
        "target": target.to_dict(),
        "calibration": calibration and calibration_to_dict(calibration),
        "confidence": MEANINGS[meaning_of(calibration)],
        "beam_width": beam_width,
        "length_penalty": length_penalty,
    }
    named = {
        f"{number}/{weight}": value
        for number, (_, arrays) in enumerate(members)
        for weight, value in arrays.items()
    }
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    with replacing(tensors) as temporary:
        write_safetensors(temporary, named, {DESCRIPTION: text})
    write_text(description, text)


def read_weights(export: pathlib.Path) -> ExportedWeights:
    """Reads the weights of a finished export.

    Raises:
        UserError: the export is not finished, or the file is missing, damaged or of another format.
    """
    path, _ = _paths(export, read_manifest(export)["name"])
    try:
        arrays, about = read_safetensors(path)
        content = json.loads(about[DESCRIPTION])
        if content["format"] != FORMAT or content["reserved"] != list(RESERVED):
            raise UserError(f"{path}: is of another format; export the run again")
        source, target = (_vocabulary(content[side]) for side in ("source", "target"))
        calibration = content["calibration"]
        return ExportedWeights(
            [
                Model(Architecture(**fields), _member(arrays, i), len(source), len(target))
                for i, fields in enumerate(content["models"])
            ],
            source,
            target,
            calibration and calibration_from_dict(calibration),
            content["beam_width"],
            content["length_penalty"],
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: cannot be read: {reason}; export the run again") from None


def read_vocabularies(export: pathlib.Path) -> tuple[Vocabulary, Vocabulary]:
    """Source and target vocabulary of a finished export.

    Raises:
        UserError: the file that describes the weights is missing or damaged.
    """
    content = _read_description(export)
    return _vocabulary(content["source"]), _vocabulary(content["target"])


def read_calibration(export: pathlib.Path) -> Calibration | None:
    """The calibration of a finished export; None where it has none.

    Raises:
        UserError: the file that describes the weights is missing or damaged.
    """
    calibration = _read_description(export)["calibration"]
    return calibration and calibration_from_dict(calibration)


def _read_description(export: pathlib.Path) -> dict:
    _, path = _paths(export, read_manifest(export)["name"])
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for side in ("source", "target"):
            _vocabulary(content[side])
        if content["calibration"] is not None:
            calibration_from_dict(content["calibration"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: cannot be read: {reason}; export the run again") from None
    return content


def vocabularies_for_cutting(export: pathlib.Path, manifest: dict) -> tuple[Vocabulary, Vocabulary]:
    """Source and target vocabulary as far as they are needed to cut and join texts.

    Of characters and words no token need be known.

    Raises:
        UserError: as `read_vocabularies`, where a side is made of subwords.
    """
    kinds = manifest["source_tokens"], manifest["target_tokens"]
    if "subword" in kinds:
        return read_vocabularies(export)
    form = manifest.get("normal_form", NO_FORM)
    return Vocabulary(kinds[0], (), form), Vocabulary(kinds[1], ())


def _gates_of(cells: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """The order of the gates in a cell's weights; by the cell's name where members differ in it."""
    if len(set(cells)) == 1:
        return GATES[cells[0]]
    return {cell: GATES[cell] for cell in sorted(set(cells))}


def _member(arrays: dict[str, np.ndarray], number: int) -> dict[str, np.ndarray]:
    prefix = f"{number}/"
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _vocabulary(fields: dict) -> Vocabulary:
    return Vocabulary(fields["kind"], tuple(fields["tokens"]), fields["normal_form"])


def _paths(export: pathlib.Path, name: str) -> tuple[pathlib.Path, pathlib.Path]:
    folder = export / WEIGHTS
    return folder / f"{name}.safetensors", folder / f"{name}.json"
