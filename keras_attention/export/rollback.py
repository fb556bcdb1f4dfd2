"""An export back to the version before, for servers and for all other readers."""

from __future__ import annotations

import os
import pathlib
import shutil

from keras_attention._runtime.files import replacing
from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.os_errors import describe
from keras_attention.errors import UserError
from keras_attention.export.publish import remove_leftovers
from keras_attention.folders.card_file import CARD, may_write_card
from keras_attention.folders.export_layout import (
    MANIFEST,
    SERVING,
    VERSIONS,
    read_manifest,
    version_folders,
    write_manifest,
)

# In the folder of a version that was rolled back.
SAVED_MODEL = "saved_model"


def roll_back(export: pathlib.Path) -> tuple[int, int]:
    """Makes the version before the newest the one that is served and read.

    Servers change first, by one rename; the manifest comes last. Where that is interrupted, the
    next call ends it.

    Args:
        export: The export folder.

    Returns:
        The version that goes and the one that comes.

    Raises:
        UserError: there is no finished export, no version before, or only its SavedModel is left;
            the folder cannot be written to, or is being exported to.
    """
    read_manifest(export)
    with folder_lock(export):
        manifest = read_manifest(export)
        remove_leftovers(export)
        served = export / SERVING / manifest["name"]
        folders = version_folders(served)
        newest = manifest["version"]
        # A call that was interrupted has moved the newest away already.
        earlier = [number for number in folders if number < newest]
        if not earlier:
            raise UserError(
                f"{served}: holds no version before {newest}, so there is none to serve"
            )
        wanted = max(earlier)
        kept = export / VERSIONS / str(wanted)
        if not (kept / MANIFEST).is_file():
            raise UserError(
                f"{kept}: is missing: of version {wanted} only the SavedModel is left, as version "
                f"0.1 of this program wrote it; remove {served / str(newest)} for servers to go "
                "back, or export the run of that version again"
            )
        try:
            for number, folder in reversed(folders.items()):
                if number > wanted:
                    _withdraw(folder, export / VERSIONS / str(number) / SAVED_MODEL)
            _restore(kept, export, manifest)
        except OSError as error:
            raise UserError(
                f"{export}: cannot be written to: {describe(error, 'ask its owner')}"
            ) from None
        write_manifest(export, read_manifest(kept))
    return newest, wanted


def _withdraw(served: pathlib.Path, kept: pathlib.Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    if kept.exists():
        shutil.rmtree(kept)
    os.rename(served, kept)


def _restore(kept: pathlib.Path, export: pathlib.Path, manifest: dict) -> None:
    """Puts the files of a version, all but the manifest, in the place of another's."""
    restored = read_manifest(kept)["files"]
    for name in restored.keys() | manifest["files"].keys():
        place = export / name
        in_version = pathlib.PurePosixPath(name).parts[0] == SERVING
        if in_version or (name == CARD and not may_write_card(export)):
            continue
        if name not in restored:
            place.unlink(missing_ok=True)
            continue
        place.parent.mkdir(exist_ok=True)
        with replacing(place) as temporary:
            shutil.copyfile(kept / name, temporary)
