"""Paths for libraries that read some characters of a path as a pattern."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from keras_attention.errors import UserError

# What TensorFlow's loader of variables matches file names by; also an escape.
_PATTERN = frozenset("*?[]\\")


@contextlib.contextmanager
def plain_path(folder: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """A path of `folder` that holds no character of a pattern; for reading, inside the block only.

    It is the folder itself, or a link to it in the folder for temporary files. Where links are
    not allowed, as they are to most users of Windows, it is a copy.

    Raises:
        UserError: the folder for temporary files has such a name as well.
    """
    folder = pathlib.Path(folder)
    if not _is_pattern(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="plain-") as temporary:
        link = pathlib.Path(temporary) / "folder"
        if _is_pattern(link):
            raise UserError(
                f"{folder}: TensorFlow reads a character of this path as a pattern, and so it "
                f"does in {temporary}; set TMPDIR to a folder without any of *?[]\\"
            )
        try:
            link.symlink_to(folder.absolute(), target_is_directory=True)
        except (OSError, NotImplementedError):
            if os.name != "nt":
                raise
            shutil.copytree(folder, link)
        yield link


def _is_pattern(path: pathlib.Path) -> bool:
    return not _PATTERN.isdisjoint(path.as_posix())
