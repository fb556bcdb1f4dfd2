"""One BLAS thread for our calls, since whole batches run side by side; the user's number after."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any


class _Limit:
    """How many calls are under way: the first lowers the number of threads, the last restores it.

    The number belongs to the process. Were each call to restore what it found, one that began
    within another would leave the other's number behind.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.calls = 0
        self.limited: Any = None  # threadpoolctl's, which has no types


_limit = _Limit()


def _begin_anew() -> None:
    """In a forked child only the forking thread goes on: nobody would end the others' calls."""
    global _limit
    before, _limit = _limit, _Limit()
    if before.limited is not None:
        before.limited.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@functools.cache
def _libraries():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Inside, a matrix product runs on the thread that asked for it."""
    limit = _limit
    with limit.lock:
        limit.calls += 1
        if limit.calls == 1:
            limit.limited = _libraries().limit(limits=1)
    try:
        yield
    finally:
        with limit.lock:
            limit.calls -= 1
            if not limit.calls:
                limit.limited.restore_original_limits()
                limit.limited = None
