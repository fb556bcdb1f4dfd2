"""Pairs of texts and their gold alignment: from files, to files, and split in three.

A file holds one pair a line, `source<TAB>target` or `source<TAB>target<TAB>alignment`, in UTF-8. A
line ends at LF or CRLF and nowhere else, so that no other character of a text can break it. Files
named `.gz` are read and written through gzip. The alignment is a list of links in Pharaoh form,
`i-j` sure and `ipj` possible (the S and P of Och and Ney, 2003), between token positions as
written, counted from 0.
"""

import functools
import gzip
import hashlib
import os
import pathlib
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from keras_attention.errors import UserError

TokenKind = Literal["char", "word"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_SPLIT_NAMES = ("train", "valid", "test")


class Link(NamedTuple):
    """One link of an alignment: positions of a source token and a target token, from 0."""

    source: int
    target: int
    sure: bool


class Pair(NamedTuple):
    """A source text, its target text and, where the file says it, their alignment."""

    source: str
    target: str
    alignment: tuple[Link, ...] | None = None  # None: the line has no third column


class Splits(NamedTuple):
    """The three parts of a data set."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


class LineError(UserError):
    """A line that is no pair. `kind` is one of utf8, nul, columns, empty, alignment."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def split_tokens(text: str, kind: TokenKind) -> list[str]:
    """Tokens of a text: its code points ("char"), or what ASCII whitespace separates ("word")."""
    if kind == "char":
        return list(text)
    if kind == "word":
        return _WORD.findall(text)
    raise ValueError(f'a token kind is "char" or "word". Received: kind={kind!r}')


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


def parse_line(
    line: bytes, where: str, source_tokens: TokenKind = "char", target_tokens: TokenKind = "char"
) -> Pair:
    """The pair on a line (as `strip_line` leaves it); `where` (FILE:LINE) begins each error.

    Raises LineError for invalid UTF-8, a NUL, another number of columns than two or three, a side
    without a token, a malformed link, or one that leaves the pair.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "UTF-16" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else "another encoding"
        raise LineError(
            "utf8",
            f"{where}: invalid UTF-8 at byte {error.start + 1} of the line, perhaps {encoding}; "
            "save the file as UTF-8",
        ) from None
    if "\0" in text:
        raise LineError("nul", f"{where}: holds a NUL character; remove it, or save as UTF-8")
    columns = text.split("\t")
    if len(columns) not in (2, 3):
        raise LineError(
            "columns",
            f"{where}: expected source<TAB>target or source<TAB>target<TAB>alignment. "
            f"Received: {len(columns)} column{'s' * (len(columns) > 1)}",
        )
    source, target = columns[:2]
    source_length = _token_count(source, source_tokens)
    target_length = _token_count(target, target_tokens)
    for side, length in (("source", source_length), ("target", target_length)):
        if not length:
            raise LineError("empty", f"{where}: empty {side}; fill it in or remove the line")
    if len(columns) == 2:
        return Pair(source, target)
    alignment = parse_alignment(columns[2], where)
    _check_bounds(alignment, columns[2], where, source_length, target_length)
    return Pair(source, target, alignment)


def iterate_pairs(
    path: str | os.PathLike,
    source_tokens: TokenKind = "char",
    target_tokens: TokenKind = "char",
) -> Iterator[Pair]:
    """Streams the pairs of a file, skipping blank lines.

    The token kinds say what the alignment counts. Raises UserError, naming the file and the line.
    """
    return parse_lines(iterate_raw_lines(path), path, source_tokens, target_tokens)


def parse_lines(
    lines: Iterable[tuple[int, bytes]],
    path: str | os.PathLike,
    source_tokens: TokenKind = "char",
    target_tokens: TokenKind = "char",
) -> Iterator[Pair]:
    """The pairs on lines as `iterate_raw_lines` yields them from `path`; see `iterate_pairs`."""
    for number, raw in lines:
        line = strip_line(number, raw)
        if not is_blank(line):
            yield parse_line(line, f"{path}:{number}", source_tokens, target_tokens)


def read_pairs(
    path: str | os.PathLike,
    source_tokens: TokenKind = "char",
    target_tokens: TokenKind = "char",
) -> list[Pair]:
    """All pairs of a file. Raises UserError as `iterate_pairs` does, or if there is none."""
    pairs = list(iterate_pairs(path, source_tokens, target_tokens))
    if not pairs:
        raise UserError(f"{path}: is empty, expected lines of source<TAB>target")
    return pairs


def load_splits(
    path: str | os.PathLike,
    seed: int,
    source_tokens: TokenKind = "char",
    target_tokens: TokenKind = "char",
) -> Splits:
    """Training, validation and test pairs, none empty.

    `path` is a folder as `split_files` reads it, or one file that is split 80/10/10
    (`split_pairs`). Raises UserError.
    """
    path = pathlib.Path(path)
    if not path.is_dir():
        if not path.exists():
            raise UserError(f"{path}: no such file or folder; check the path")
        return split_pairs(read_pairs(path, source_tokens, target_tokens), seed, where=str(path))
    kinds = source_tokens, target_tokens
    return Splits(*(read_part(path, name, *kinds) for name in _SPLIT_NAMES))


def read_part(
    folder: str | os.PathLike,
    name: str,
    source_tokens: TokenKind = "char",
    target_tokens: TokenKind = "char",
) -> list[Pair]:
    """All pairs of one part of a folder; a shard may be empty.

    Raises UserError as `split_files` and `iterate_pairs` do, or if there is no pair at all.
    """
    files = split_files(folder, name)
    kinds = source_tokens, target_tokens
    pairs = [pair for file in files for pair in iterate_pairs(file, *kinds)]
    if not pairs:
        raise UserError(f"{files[0]}: is empty, expected lines of source<TAB>target")
    return pairs


def split_files(folder: str | os.PathLike, name: str) -> list[pathlib.Path]:
    """The files that hold one part (`name` is train, valid or test) in a folder of data.

    Either `train.tsv` or shards `train-*.tsv`, in the order of their names; each may be gzip with
    `.gz` behind. Raises UserError if there is none, or if it is unclear which ones are meant.
    """
    folder = pathlib.Path(folder)
    whole = [path for end in ("", ".gz") if (path := folder / f"{name}.tsv{end}").exists()]
    shards = sorted([*folder.glob(f"{name}-*.tsv"), *folder.glob(f"{name}-*.tsv.gz")])
    if whole and shards:
        raise UserError(
            f"{folder}: holds {whole[0].name} and also {shards[0].name}; keep one file, or shards"
        )
    for plain in shards:
        if plain.with_name(f"{plain.name}.gz") in shards:
            raise UserError(f"{folder}: holds {plain.name} twice, plain and as .gz; keep one")
    if not whole and not shards:
        raise UserError(
            f"{folder}: no {name}.tsv in the folder; it needs train.tsv, valid.tsv and test.tsv "
            "(or shards such as train-1.tsv), or give one .tsv file, which is split by --seed"
        )
    return whole[:1] or shards


def split_pairs(pairs: list[Pair], seed: int, where: str = "pairs") -> Splits:
    """Splits pairs 80/10/10 so that equal sources stay in one part; each part keeps their order.

    Sources are put in the order of a hash of seed and source, so that the outcome depends neither
    on the order of the lines nor on a version of Python. Raises UserError below three sources.
    """
    sizes: dict[str, int] = {}
    for pair in pairs:
        sizes[pair.source] = sizes.get(pair.source, 0) + 1
    if len(sizes) < len(_SPLIT_NAMES):
        raise UserError(
            f"{where}: too few different sources to split into training, validation and test, "
            f"expected 3 or more; add lines, or give a folder of three files. "
            f"Received: {len(sizes)}"
        )
    shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
    filled = dict.fromkeys(shares, 0)
    part_of = {}
    order = sorted(sizes, key=lambda source: _seeded_hash(source, seed))
    # One small source for each part first, so that none stays empty.
    for part, source in zip(
        ("test", "valid", "train"), sorted(order, key=sizes.get)[:3], strict=True
    ):
        part_of[source] = part
        filled[part] += sizes[source]
    for source in order:
        if source not in part_of:
            size = sizes[source]
            part = min(shares, key=lambda name: (filled[name] + size) / shares[name])  # noqa: B023
            part_of[source] = part
            filled[part] += size
    return Splits(
        *([pair for pair in pairs if part_of[pair.source] == name] for name in _SPLIT_NAMES)
    )


def write_pairs(path: str | os.PathLike, pairs: Iterable[Pair]) -> None:
    """Writes pairs as `read_pairs` reads them; the file appears whole or not at all.

    Raises ValueError for a text that a line cannot hold (tab, line feed, NUL, an end in CR).
    """
    path = pathlib.Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "wb") as raw:
            if path.suffix == ".gz":  # without name and time, so that equal pairs give equal bytes
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                    file.writelines(map(_format_line, pairs))
            else:
                raw.writelines(map(_format_line, pairs))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def parse_alignment(text: str, where: str) -> tuple[Link, ...]:
    """Links from Pharaoh form, in the order written; `where` begins the error of a bad one."""
    try:
        return _parse_links(text)
    except ValueError as error:
        raise LineError(
            "alignment",
            f"{where}: malformed link, expected i-j (sure) or ipj (possible), counted from 0. "
            f"Received: {str(error)[:40]!a}",
        ) from None


def format_alignment(links: Iterable[Link]) -> str:
    """Links in Pharaoh form, as `parse_alignment` reads them."""
    return " ".join(f"{link.source}{'-' if link.sure else 'p'}{link.target}" for link in links)


def fingerprint(pairs: Iterable[Pair]) -> str:
    """SHA-256 (hexadecimal) of the pairs with their order, whatever file they came from."""
    digest = Fingerprint()
    digest.update(pairs)
    return digest.hexdigest()


class Fingerprint:
    """What `fingerprint` gives, of pairs that come piece by piece."""

    def __init__(self):
        self._digest = hashlib.sha256()

    def update(self, pairs: Iterable[Pair]) -> None:
        """Adds pairs behind those that were added before."""
        for pair in pairs:
            for field in _fields(pair):
                content = field.encode("utf-8", "surrogatepass")
                self._digest.update(b"%d:%s," % (len(content), content))
            self._digest.update(b"\n")

    def hexdigest(self) -> str:
        """SHA-256 of all pairs so far, hexadecimal."""
        return self._digest.hexdigest()


@functools.lru_cache(maxsize=1 << 15)  # alignments repeat: half the time of reading data/dates
def _parse_links(text: str) -> tuple[Link, ...]:
    links = []
    for part in split_tokens(text, "word"):
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(part)
        links.append(Link(int(match[1]), int(match[3]), match[2] == "-"))
    return tuple(links)


def _check_bounds(
    links: tuple[Link, ...], text: str, where: str, source_length: int, target_length: int
) -> None:
    for link in links:
        if link.source >= source_length or link.target >= target_length:
            raise LineError(
                "alignment",
                f"{where}: link {format_alignment([link])} leaves the pair of {source_length} "
                f"source and {target_length} target tokens; positions count from 0. "
                f"Received: alignment={text[:40]!a}",
            )


def _token_count(text: str, kind: TokenKind) -> int:
    return len(text) if kind == "char" else len(split_tokens(text, kind))


def _seeded_hash(source: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\t{source}".encode("utf-8", "surrogatepass")).digest()


def _fields(pair: Pair) -> list[str]:
    fields = [pair.source, pair.target]
    return fields if pair.alignment is None else [*fields, format_alignment(pair.alignment)]


def _format_line(pair: Pair) -> bytes:
    fields = _fields(pair)
    line = "\t".join(fields)
    if line.count("\t") != len(fields) - 1 or "\n" in line or "\0" in line or line.endswith("\r"):
        raise ValueError(
            f"a line cannot hold tab, line feed, NUL or an end in CR. Received: {pair}"
        )
    return f"{line}\n".encode()
