"""What lies where in an export folder, and how its manifest is read; no TensorFlow."""

from __future__ import annotations

import json
import pathlib
import re

from keras_attention._runtime.files import write_text
from keras_attention._runtime.installation import command_for
from keras_attention.errors import UserError

FORMAT = 1
MANIFEST = "manifest.json"
SERVING = "serving"
LITERT = "litert"
WEIGHTS = "weights"
INFERENCE = "inference.keras"
VERSIONS = "versions"  # what readers read of each version, see `export.versions`
# In a version folder: the tokens of sources, by which a server can tell unknown ones. TensorFlow
# Serving passes by what it does not know in this folder.
SOURCE_VOCABULARY = "assets.extra/source_vocabulary.json"
# An export is built in a folder of this prefix, beside what it will replace.
BUILDING = ".building-"
# TensorFlow Serving keeps a version in a signed integer of 64 bits.
LARGEST_VERSION = 2**63 - 1

_KINDS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "version": int,
    "source_tokens": str,
    "target_tokens": str,
    "has_attention": bool,
    "beam_width": int,
    "length_penalty": (int, float),
}
_PLAIN_NAME = re.compile(r"[^/\0]+").fullmatch


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
    except PermissionError:
        raise UserError(f"{path}: may not be read; ask its owner") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict):
        raise UserError(f"{path}: is damaged; run `{command_for('export')}` again")
    if manifest.get("format") != FORMAT:
        raise UserError(f"{path}: is of another format; run `{command_for('export')}` again")
    typed = all(isinstance(manifest.get(key), kind) for key, kind in _KINDS.items())
    # The name is a folder's: it must not lead out of the export.
    if not typed or manifest["name"] in ("", ".", "..") or not _PLAIN_NAME(manifest["name"]):
        raise UserError(f"{path}: is damaged; run `{command_for('export')}` again")
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
    versions = version_folders(folder)
    if not versions:
        raise UserError(f"{folder}: holds no version; run `{command_for('export')}` again")
    return versions.get(manifest["version"]) or versions[max(versions)]


def next_version(export: pathlib.Path, name: str) -> int:
    """The number of the next version: larger than any before, also than one rolled back."""
    folders = (export / SERVING / name, export / VERSIONS)
    return max((number for folder in folders for number in version_folders(folder)), default=0) + 1


def version_folders(folder: pathlib.Path) -> dict[int, pathlib.Path]:
    """The version folders by their numbers, ascending.

    As in TensorFlow Serving a name of digits is a version, leading zeros do not count (`007` is
    7), and what does not fit into 64 bits is ignored, like every other name. Of several folders
    of one number the one without zeros counts, where TensorFlow Serving takes any. Files are no
    versions, though it would try to load them.

    Raises:
        OSError: the folder is there and cannot be read.
    """
    if not folder.is_dir():
        return {}
    named: dict[int, pathlib.Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: -len(path.name)):
        digits = path.name.lstrip("0") or "0"
        is_number = path.name.isascii() and path.name.isdecimal()
        if is_number and len(digits) <= len(str(LARGEST_VERSION)) and path.is_dir():
            if int(digits) <= LARGEST_VERSION:
                named[int(digits)] = path
    return dict(sorted(named.items()))
