"""Standard output and error as commands need them: a lost one is told or ignored, never a crash."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import IO, Any


class OutputLost(Exception):
    """Standard output takes no more; `reason` is the operating system's error.

    It is no OSError, so that what catches the errors of a file does not take it for one of them.
    """

    def __init__(self, reason: OSError):
        super().__init__(str(reason))
        self.reason = reason

    @property
    def nobody_reads(self) -> bool:
        """Whether the reader of a pipe has ended, as `head` does."""
        # Windows reports a closed pipe as an invalid argument.
        closed = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)
        return self.reason.errno in closed


class _Descriptor(io.FileIO):
    """A file descriptor that is written to until it fails once; from then on it takes anything."""

    def __init__(self, descriptor: int, *, silently: bool):
        super().__init__(descriptor, "wb", closefd=False)
        self._silently, self._lost = silently, False

    def write(self, content: Any) -> int:
        if self._lost:
            return memoryview(content).nbytes
        try:
            return super().write(content)
        except BlockingIOError:
            raise
        except OSError as reason:
            self._lost = True
            if self._silently:
                return memoryview(content).nbytes
            raise OutputLost(reason) from None


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Standard streams that a command may use whatever the process was started with.

    A stream that was closed is the null device. Output that cannot be written raises `OutputLost`,
    messages that cannot be are dropped. A character that the output's encoding lacks is escaped: a
    training must not end for the name of its console's encoding. Streams that are no files of the
    process, such as a notebook's, stay as they are.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    _open_closed_ones()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout = _over_descriptor(sys.stdout, silently=False)
    sys.stderr = _over_descriptor(sys.stderr, silently=True)
    ours = sys.stdout, sys.stderr
    try:
        yield
    finally:
        for stream in ours:
            with contextlib.suppress(OutputLost, ValueError):
                stream.flush()
        # None would let what is still printed at the end of the process fail.
        sys.stdin, sys.stdout, sys.stderr = (
            old or new for old, new in zip(before, (sys.stdin, sys.stdout, sys.stderr), strict=True)
        )


def _open_closed_ones() -> None:
    """Puts the null device in the place of closed descriptors, before a file gets their number."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))


def _over_descriptor(stream: IO[str], *, silently: bool) -> IO[str]:
    """The same stream over a `_Descriptor`, if it is a text stream over a file."""
    buffer = getattr(stream, "buffer", None)
    unbuffered = isinstance(buffer, io.FileIO)  # PYTHONUNBUFFERED
    raw = buffer if unbuffered else getattr(buffer, "raw", None)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    descriptor = _Descriptor(raw.fileno(), silently=silently)
    return io.TextIOWrapper(
        descriptor if unbuffered else io.BufferedWriter(descriptor),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def write_line(text: str) -> None:
    """One line on standard output: UTF-8 in a pipe or a file, on a console what it can show."""
    if hasattr(sys.stdout, "buffer") and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
    else:
        print(text)


def lines_as_they_come(most: int) -> Iterator[list[bytes]]:
    """The lines of standard input, ends included, in lists of at most `most`.

    What waits is handed out together; where the next line is not there yet, the list ends, so that
    whoever writes one line can wait for its answer.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:  # a stand-in that holds text only
        stream = io.BytesIO(sys.stdin.read().encode("utf-8", "surrogateescape"))
    lines: list[bytes] = []
    unfinished: list[bytes] = []
    while content := stream.read1(io.DEFAULT_BUFFER_SIZE * 8):
        *ended, rest = content.split(b"\n")
        for line in ended:
            lines.append(b"".join((*unfinished, line, b"\n")))
            unfinished = []
        unfinished.append(rest)
        while len(lines) >= most:
            yield lines[:most]
            lines = lines[most:]
        if lines and not _has_more(stream):
            yield lines
            lines = []
    last = b"".join(unfinished)
    if last:
        lines.append(last)
    if lines:
        yield lines


def _has_more(stream: Any) -> bool:
    """Whether reading would not wait; False where the system cannot tell."""
    try:
        descriptor = stream.fileno()
    except (OSError, AttributeError, ValueError):
        return True  # in memory
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # Windows asks sockets only
        return False
