"""A checked export into its place: TF Serving sees a version whole or not at all."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil

from keras_attention._runtime.files import remove_unfinished, sync_files
from keras_attention.errors import UserError
from keras_attention.export.versions import keep_version
from keras_attention.folders.card_file import CARD
from keras_attention.folders.export_layout import (
    BUILDING,
    INFERENCE,
    LARGEST_VERSION,
    LITERT,
    SERVING,
    WEIGHTS,
    next_version,
    read_manifest,
    write_manifest,
)


def publish(aside: pathlib.Path, out: pathlib.Path, checks: dict) -> None:
    """Moves an export that was built aside into place.

    Each file and the version folder are moved by one rename, the version near the end; the
    manifest, which tells that all is there, comes last.

    Args:
        aside: Laid out as an export of version 1, on the file system of `out`.
        out: The export folder; its earlier versions stay.
        checks: The figures of the checks, for the manifest.

    Raises:
        UserError: there is no larger version number.
    """
    manifest = read_manifest(aside)
    sync_files(aside)
    versions = out / SERVING / manifest["name"]
    version = next_version(out, manifest["name"])
    if version > LARGEST_VERSION:
        raise UserError(
            f"{versions}: holds version {LARGEST_VERSION}, the largest that TensorFlow Serving "
            "knows; give it a smaller number"
        )
    folders = (LITERT, WEIGHTS)
    for folder in folders:
        (out / folder).mkdir(exist_ok=True)
    singles = [name for name in (INFERENCE, CARD) if (aside / name).is_file()]
    for path in [
        *map(aside.joinpath, singles),
        *(p for f in folders for p in sorted((aside / f).iterdir())),
    ]:
        os.replace(path, out / path.relative_to(aside))
    versions.mkdir(parents=True, exist_ok=True)
    os.rename(aside / SERVING / manifest["name"] / "1", versions / str(version))
    parts = [*map(out.joinpath, singles), *(versions / str(version)).rglob("*")]
    parts += [path for folder in folders for path in (out / folder).iterdir()]
    files = {
        path.relative_to(out).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(parts)
        if path.is_file()
    }
    described = manifest | {"version": version, "checks": checks, "files": files}
    keep_version(out, described)
    write_manifest(out, described)


def remove_leftovers(out: pathlib.Path) -> None:
    """Removes what an export that was killed left in the folder."""
    for abandoned in out.glob(f"{BUILDING}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    remove_unfinished(out)
