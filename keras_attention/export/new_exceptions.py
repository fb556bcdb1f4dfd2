"""An exported model with another dictionary beside it, as a new version of the same weights."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.os_errors import describe
from keras_attention.errors import UserError
from keras_attention.export.publish import publish, remove_leftovers
from keras_attention.export.versions import link_or_copy
from keras_attention.folders.export_layout import (
    BUILDING,
    SERVING,
    described_version,
    read_manifest,
    write_manifest,
)
from keras_attention.folders.weights_folder import has_weights, vocabularies_for_cutting
from keras_attention.pairs.exceptions import (
    EXCEPTIONS,
    Exceptions,
    read_exceptions,
    write_exceptions,
)
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import Translator


def publish_exceptions(export: pathlib.Path, path: str | pathlib.Path) -> tuple[Exceptions, int]:
    """Publishes the newest version again, with the dictionary of a file in place of its own.

    Args:
        export: An export folder.
        path: The user's file, see `pairs.exceptions.read_exceptions`.

    Returns:
        The dictionary and the number of the new version.

    Raises:
        UserError: the export was made without a dictionary, is not whole, or cannot be written to;
            an entry of the file is bad; the new version does not answer as the file says.
    """
    read_manifest(export)
    with folder_lock(export):
        manifest = read_manifest(export)
        remove_leftovers(export)
        served = described_version(export, manifest)
        if not (served / EXCEPTIONS).is_file() or not has_weights(export, manifest):
            raise UserError(
                f"{export}: has no place for exceptions; export the run again with --exceptions"
            )
        exceptions = read_exceptions(
            path,
            *vocabularies_for_cutting(export, manifest),
            manifest["longest_output"],
            manifest["longest_text"],
        )
        aside = pathlib.Path(tempfile.mkdtemp(prefix=BUILDING, dir=export))
        try:
            _build(export, manifest, served, exceptions, aside)
            _check(aside, exceptions)
            publish(aside, export, manifest["checks"])
        except OSError as error:
            raise UserError(
                f"{export}: cannot be written to: {describe(error, 'ask its owner')}"
            ) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return exceptions, read_manifest(export)["version"]


def _build(
    export: pathlib.Path,
    manifest: dict,
    served: pathlib.Path,
    exceptions: Exceptions,
    aside: pathlib.Path,
) -> None:
    """Lays the version out as an export of version 1 that shares all files but one."""
    new = aside / SERVING / manifest["name"] / "1"
    shutil.copytree(served, new, copy_function=link_or_copy)
    write_exceptions(new / EXCEPTIONS, exceptions)  # replaces the name, not the shared content
    for name in manifest["files"]:
        if pathlib.PurePosixPath(name).parts[0] != SERVING:
            (aside / name).parent.mkdir(exist_ok=True)
            link_or_copy(export / name, aside / name)
    write_manifest(aside, manifest | {"version": 1})


def _check(aside: pathlib.Path, exceptions: Exceptions) -> None:
    """Loads the new version, and asks it for every entry.

    Raises:
        UserError: one is answered otherwise.
    """
    answers = Translator(SavedModelReader(aside)).translate(list(exceptions))
    for answer, (source, expected) in zip(answers, exceptions.items(), strict=True):
        if not answer.from_exceptions or answer.text != expected:
            raise UserError(
                f"--exceptions: {source!r} is answered with {answer.text!r} in place of "
                f"{expected!r}, so nothing was published"
            )
