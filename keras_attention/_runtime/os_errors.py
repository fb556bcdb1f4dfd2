"""What the operating system refused, in words that help."""

from __future__ import annotations

import errno

_ADVICE = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EACCES: "ask the owner of the folder",
    errno.EPERM: "ask the owner of the folder",
    errno.EROFS: "it is on a disk that is read only",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.ENOENT: "another process removed something there",
    errno.EMFILE: "raise the number of open files (`ulimit -n`)",
    errno.ENFILE: "close other programs",
}


def describe(error: OSError, otherwise: str) -> str:
    """What went wrong with which file, and what to do: what helps, where that is known, or else.

    Args:
        otherwise: What can be done in any case, as in "choose another folder".
    """
    what = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        what = f"{error.filename}: {what}"
    advice = None if error.errno is None else _ADVICE.get(error.errno)
    return f"{what}; {advice}, or {otherwise}" if advice else f"{what}; {otherwise}"
