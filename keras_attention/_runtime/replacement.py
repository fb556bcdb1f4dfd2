"""Several files and folders put in place together."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence


def replace_together(
    moves: Sequence[tuple[pathlib.Path, pathlib.Path]], attic: pathlib.Path
) -> None:
    """Moves each new file or folder to its place, or none of them.

    What stood in the places is moved into `attic`, all of it before anything new comes, so that
    old and new never stand beside each other. The last move is the one to look for: a process that
    is killed in between leaves its place empty.

    Args:
        moves: (where it is now, its place), on one file system.
        attic: An empty folder on the same file system; removing it is the caller's.

    Raises:
        OSError: a move failed; the old state is back.
    """
    done: list[tuple[pathlib.Path, pathlib.Path]] = []
    try:
        for _, place in reversed(moves):  # the last one first: without it nothing counts as whole
            if os.path.lexists(place):
                kept = attic / f"{len(done)}"
                os.rename(place, kept)
                done.append((kept, place))
        for new, place in moves:
            os.rename(new, place)
            done.append((place, new))
    except OSError:
        for now, before in reversed(done):
            os.rename(now, before)
        raise
