"""The raw lines of a file, plain or gzip, and what is wrong with one."""

import gzip
import os
import pathlib
import zlib
from collections.abc import Iterator

from keras_attention.errors import UserError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineError(UserError):
    """A line that is no pair. `kind` is one of utf8, nul, columns, empty, alignment."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def iterate_raw_lines(
    path: str | os.PathLike, offset: int = 0, first: int = 1
) -> Iterator[tuple[int, bytes]]:
    """Yields (line number from 1, bytes with the line's end) as they stand in the file.

    Reading can begin at a line in the middle, whose first byte is at `offset` and whose number is
    `first`. Raises UserError where the file cannot be read.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder, expected one file of source<TAB>target lines")
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            if offset:  # a pipe cannot seek
                file.seek(offset)
            yield from enumerate(file, start=first)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; check the path") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: broken gzip file ({error}); compress it again") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def strip_line(number: int, raw: bytes) -> bytes:
    """The line without its end and, if it is the first, without the byte-order mark."""
    if raw.endswith(b"\n"):
        raw = raw[: -2 if raw.endswith(b"\r\n") else -1]
    return raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw


def is_blank(line: bytes) -> bool:
    """Whether nothing stands on the line. A tab is something: two empty columns."""
    return not line.strip(b" \r\f\v")


def decoded_lines(path: str | os.PathLike, encoding: str) -> list[str]:
    """All lines of a file as text, without their ends and the byte-order mark.

    Raises:
        UserError: the file cannot be read, or not in this encoding, or there is no such encoding.
    """
    content = b"".join(raw for _, raw in iterate_raw_lines(path))
    try:
        text = content.decode(encoding)
    except LookupError:
        raise UserError(
            "--encoding: is not known, expected one such as utf-8, latin-1, utf-16. "
            f"Received: {encoding}"
        ) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wish = "--encoding latin-1" if encoding.lower() in ("utf-8", "utf8") else "--encoding utf-8"
        raise UserError(f"{path}:{line}: is not {encoding}; try {wish}") from None
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in lines]
