"""The versions of an export, each whole, so that one before can be had again.

TensorFlow Serving keeps its own versions side by side. What all other readers read lies once in an
export, of the newest version; so each version's files are also kept, by hard links, in
`versions/N/`. A version that is rolled back moves its SavedModel there: then no server sees it.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from keras_attention.folders.export_layout import BUILDING, SERVING, VERSIONS, write_manifest


def keep_version(export: pathlib.Path, manifest: dict) -> None:
    """Keeps what readers read of the newest version, with its manifest, in `versions/N/`.

    The folder appears whole, by one rename.

    Args:
        export: The export folder, whose files are those of the manifest.
        manifest: Of the version, with all its `files`.
    """
    versions = export / VERSIONS
    versions.mkdir(exist_ok=True)
    aside = pathlib.Path(tempfile.mkdtemp(prefix=BUILDING, dir=export))
    try:
        for name in manifest["files"]:
            if pathlib.PurePosixPath(name).parts[0] != SERVING:
                (aside / name).parent.mkdir(exist_ok=True)
                link_or_copy(export / name, aside / name)
        write_manifest(aside, manifest)
        aside.chmod(0o755)  # a temporary folder is its owner's alone
        os.rename(aside, versions / str(manifest["version"]))
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def link_or_copy(path: str | pathlib.Path, new: str | pathlib.Path) -> None:
    """A hard link, or a copy on file systems that have none."""
    try:
        os.link(path, new)
    except OSError:
        shutil.copy2(path, new)
