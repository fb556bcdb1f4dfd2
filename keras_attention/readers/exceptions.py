"""Where the dictionary beside a model lies, and its answers as translations."""

from __future__ import annotations

import pathlib

import numpy as np

from keras_attention.folders.export_layout import (
    LITERT,
    MANIFEST,
    SERVING,
    described_version,
    read_manifest,
    version_folders,
)
from keras_attention.folders.weights_folder import vocabularies_for_cutting
from keras_attention.pairs.exceptions import EXCEPTIONS, Exceptions, load_exceptions
from keras_attention.readers.translation import Translation
from keras_attention.text.vocabulary import Vocabulary


def exceptions_of_export(export: pathlib.Path) -> Exceptions | None:
    """The dictionary of the version that an export's manifest describes; None where it has none.

    Raises:
        UserError: somebody changed the file, and it cannot be read any more.
    """
    manifest = read_manifest(export)
    if not version_folders(export / SERVING / manifest["name"]):  # only the weights were copied
        return None
    path = described_version(export, manifest) / EXCEPTIONS
    if not path.is_file():
        return None
    return load_exceptions(path, *vocabularies_for_cutting(export, manifest))


def exceptions_of_litert_file(
    path: pathlib.Path, source: Vocabulary, target: Vocabulary
) -> Exceptions | None:
    """`NAME.exceptions.tsv` beside `NAME.tflite`; in an export, where there is none, its own.

    Raises:
        UserError: as `exceptions_of_export`.
    """
    name = path.name.removesuffix(".tflite").removesuffix(".int8")
    beside = path.with_name(f"{name}.exceptions.tsv")
    folder = path.resolve().parent
    in_export = folder.name == LITERT and (folder.parent / MANIFEST).is_file()
    if not beside.is_file() and in_export:
        return exceptions_of_export(folder.parent)
    return load_exceptions(beside, source, target)


def exception_to(
    text: str, answer: str, exceptions: Exceptions, has_attention: bool
) -> Translation:
    """The dictionary's answer to a text, as the readers of a model give theirs."""
    source = tuple(exceptions.source.split(text))
    target = tuple(exceptions.target.split(answer))
    return Translation(
        text=answer,
        log_probability=0.0,
        confidence=1.0,
        source_tokens=source,
        target_tokens=target,
        attention_weights=(
            np.zeros((len(target), len(source)), np.float32) if has_attention else None
        ),
        from_exceptions=True,
    )
