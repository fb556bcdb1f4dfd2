"""What lies where in an export folder, and how its manifest is read; no TensorFlow."""

from __future__ import annotations

import json
import pathlib

from keras_attention._runtime.files import write_text
from keras_attention._runtime.installation import command_for
from keras_attention.errors import UserError

FORMAT = 1
MANIFEST = "manifest.json"
SERVING = "serving"
LITERT = "litert"
WEIGHTS = "weights"
INFERENCE = "inference.keras"
# An export is built in a folder of this prefix, beside what it will replace.
BUILDING = ".building-"


def is_export(path: str | pathlib.Path) -> bool:
    """Whether a folder is an export, finished or not."""
    path = pathlib.Path(path)
    return (path / MANIFEST).is_file() or (path / SERVING).is_dir()


def read_manifest(export: pathlib.Path) -> dict:
    """The content of an export's `manifest.json`.

    Raises:
        UserError: it is missing or damaged.
    """
    path = export / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            f"{export}: holds no finished export (no {MANIFEST}); "
            f"run `{command_for('export')}` again"
        ) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path}: is damaged; run `{command_for('export')}` again") from None
    if not isinstance(manifest, dict):
        raise UserError(f"{path}: is damaged; run `{command_for('export')}` again")
    if manifest.get("format") != FORMAT:
        raise UserError(f"{path}: is of another format; run `{command_for('export')}` again")
    return manifest


def write_manifest(export: pathlib.Path, manifest: dict) -> None:
    """Replaces an export's `manifest.json`."""
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    write_text(export / MANIFEST, text)


def described_version(export: pathlib.Path, manifest: dict) -> pathlib.Path:
    """The version folder that the manifest describes; where someone removed it, the newest.

    (An export that was killed at its very end leaves a newer one, whole but not described.)

    Raises:
        UserError: there is none.
    """
    folder = export / SERVING / manifest["name"]
    versions = versions_in(folder)
    if not versions:
        raise UserError(f"{folder}: holds no version; run `{command_for('export')}` again")
    version = manifest["version"] if manifest["version"] in versions else versions[-1]
    return folder / str(version)


def versions_in(folder: pathlib.Path) -> list[int]:
    """Numbers of the version folders, ascending."""
    if not folder.is_dir():
        return []
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdecimal() and p.is_dir())
