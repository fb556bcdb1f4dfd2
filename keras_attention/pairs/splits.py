"""Training, validation and test pairs: found in a folder, or split from one file."""

import hashlib
import itertools
import os
import pathlib
import unicodedata
from typing import NamedTuple

from keras_attention.errors import UserError
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import iterate_pairs, read_pairs
from keras_attention.pairs.pair_stream import PairStream
from keras_attention.text.tokens import VocabularyKind

_SPLIT_NAMES = ("train", "valid", "test")
# Fewer validation pairs are all needed to choose the epoch.
LEAST_TO_SET_ASIDE = 100


class Splits(NamedTuple):
    """The three parts of a data set, in memory.

    Attributes:
        train: Pairs to learn from.
        valid: Pairs that choose the best epoch and fit the calibration, see also `set_aside`.
        test: Pairs that only the final score sees.
    """

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


class StreamedSplits(NamedTuple):
    """The three parts of a data set whose training pairs stay in their files."""

    train: PairStream
    valid: list[Pair]
    test: list[Pair]


def load_splits(
    path: str | os.PathLike,
    seed: int,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> Splits:
    """Training, validation and test pairs, none empty.

    Args:
        path: A folder as `split_files` reads it, or one file that is split 80/10/10
            (`split_pairs`).
        seed: Of the split of a single file; a folder does not use it.
        source_tokens: What the positions of an alignment count on the source side: "char" or
            "word".
        target_tokens: The same for the target side.

    Raises:
        UserError: a file is missing or not readable as pairs, or a part would be empty.
    """
    path = pathlib.Path(path)
    if not path.is_dir():
        if not path.exists():
            raise UserError(f"{path}: no such file or folder; check the path")
        return split_pairs(read_pairs(path, source_tokens, target_tokens), seed, where=str(path))
    kinds = source_tokens, target_tokens
    return Splits(*(read_part(path, name, *kinds) for name in _SPLIT_NAMES))


def load_part(
    path: str | os.PathLike,
    name: str,
    seed: int,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
) -> list[Pair]:
    """One part ("train", "valid" or "test") as `load_splits` gives it.

    Of a folder only that part's files are read; a single file has to be split as a whole. Raises
    UserError.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        return read_part(path, name, source_tokens, target_tokens)
    return getattr(load_splits(path, seed, source_tokens, target_tokens), name)


def open_splits(
    path: str | os.PathLike,
    seed: int,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
    in_memory: int = 100_000,
) -> Splits | StreamedSplits:
    """The three parts as `data.load_splits` reads them, but large training data stay in files.

    Args:
        path, seed, source_tokens, target_tokens: As for `load_splits`.
        in_memory: A folder's training pairs become a list up to this number; if there are more,
            they are streamed.

    Raises:
        UserError: as `load_splits` does; a line deep inside the training files is looked at only
            when it is read.
    """
    if not pathlib.Path(path).is_dir():
        return load_splits(path, seed, source_tokens, target_tokens)
    kinds = source_tokens, target_tokens
    stream = PairStream(split_files(path, "train"), *kinds)
    train = list(itertools.islice(stream, in_memory + 1))
    if not train:
        train = read_part(path, "train", *kinds)  # which says what is wrong
    valid, test = (read_part(path, name, *kinds) for name in ("valid", "test"))
    if len(train) > in_memory:
        return StreamedSplits(stream, valid, test)
    return Splits(train, valid, test)


def read_part(
    folder: str | os.PathLike,
    name: str,
    source_tokens: VocabularyKind = "char",
    target_tokens: VocabularyKind = "char",
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
    if len(whole) > 1:
        raise UserError(f"{folder}: holds {whole[0].name} twice, plain and as .gz; keep one")
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
    return whole or shards


def split_pairs(pairs: list[Pair], seed: int, where: str = "pairs") -> Splits:
    """Splits pairs 80/10/10; each part keeps their order.

    Equal sources stay in one part, and so do twins, which `twin_key` makes equal: a model that has
    seen one has seen the other. Sources are put in the order of a hash of seed and source, so that
    the outcome depends neither on the order of the lines nor on a version of Python.

    Args:
        pairs: What to split.
        seed: Of the hash.
        where: Begins the error's line: the file that the pairs come from.

    Raises:
        UserError: there are fewer than three different sources.
    """
    keys = {source: twin_key(source) for source in {pair.source for pair in pairs}}
    sizes: dict[str, int] = {}
    first: dict[str, str] = {}  # of the twins, the one whose hash counts
    for pair in pairs:
        key = keys[pair.source]
        sizes[key] = sizes.get(key, 0) + 1
        first[key] = min(first.get(key, pair.source), pair.source)
    if len(sizes) < len(_SPLIT_NAMES):
        raise UserError(
            f"{where}: too few different sources to split into training, validation and test, "
            f"expected 3 or more (upper case, outer spaces and normal form aside); add lines, or "
            f"give a folder of three files. Received: {len(sizes)}"
        )
    shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
    filled = dict.fromkeys(shares, 0)
    part_of = {}
    order = sorted(sizes, key=lambda key: _seeded_hash(first[key], seed))
    # One small source for each part first, so that none stays empty.
    smallest = sorted(order, key=lambda key: sizes[key])[:3]
    for part, key in zip(("test", "valid", "train"), smallest, strict=True):
        part_of[key] = part
        filled[part] += sizes[key]
    for key in order:
        if key not in part_of:
            size = sizes[key]
            part = min(shares, key=lambda name: (filled[name] + size) / shares[name])  # noqa: B023
            part_of[key] = part
            filled[part] += size
    return Splits(
        *([pair for pair in pairs if part_of[keys[pair.source]] == name] for name in _SPLIT_NAMES)
    )


def set_aside(valid: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Validation pairs that choose the weights, and those that promises are measured on.

    What chose the weights flatters them, so a guarantee needs pairs that did not. Half of the
    different sources are set aside, twins together: those whose hash is in the lower half, so that
    neither order nor seed matters.

    Returns:
        The two parts, in the order given. Below `LEAST_TO_SET_ASIDE` sources the second is empty.
    """
    keys = {pair.source: twin_key(pair.source) for pair in valid}
    order = sorted(set(keys.values()), key=lambda key: _seeded_hash(key, 0))
    if len(order) < LEAST_TO_SET_ASIDE:
        return valid, []
    aside = set(order[: len(order) // 2])
    return (
        [pair for pair in valid if keys[pair.source] not in aside],
        [pair for pair in valid if keys[pair.source] in aside],
    )


def twin_key(source: str) -> str:
    """What sources have in common that differ in case, spaces and the form of characters only."""
    return " ".join(unicodedata.normalize("NFKC", source).casefold().split())


def _seeded_hash(source: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\t{source}".encode("utf-8", "surrogatepass")).digest()
