"""Text into token ids and back: one definition, whichever side and whichever artefact."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention._runtime.files import write_text
from keras_attention.errors import UserError
from keras_attention.text.normal_form import NO_FORM, NORMAL_FORMS, normalise
from keras_attention.text.subwords import Pieces, join_pieces, split_pieces
from keras_attention.text.tokens import (
    KINDS,
    TOKEN_KINDS,
    TokenKind,
    VocabularyKind,
    split_tokens,
)

# Reserved ids are not strings, so no text can collide with them.
PADDING, START, END, UNKNOWN = range(4)
RESERVED = ("padding", "start", "end", "unknown")

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class RaggedIds:
    """Token ids of many texts end to end.

    Attributes:
        flat: int32 `[total]`, the ids of all texts one after the other.
        offsets: int64 `[n + 1]`; text i is `flat[offsets[i]:offsets[i + 1]]`.
    """

    flat: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """int64 `[n]`, tokens of each text."""
        return np.diff(self.offsets)

    def padded(self, rows: np.ndarray, width: int | None = None) -> np.ndarray:
        """The chosen rows right-padded with 0 to the longest of them, or to `width`.

        Returns:
            int32 `[len(rows), width]`; rows longer than `width` are cut.
        """
        lengths = self.lengths[rows]
        width = int(lengths.max(initial=0)) if width is None else width
        columns = np.arange(width)
        inside = columns < lengths[:, None]
        ids = np.zeros((len(rows), width), np.int32)
        ids[inside] = self.flat[(self.offsets[rows][:, None] + columns)[inside]]
        return ids


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The tokens of one side; token i of `tokens` has id `i + len(RESERVED)`.

    Attributes:
        kind: "char" (code points), "word" (separated by ASCII white space) or "subword" (pieces,
            see `subwords`).
        tokens: All known tokens, sorted, without the reserved ones.
        normal_form: What texts are brought into before they are cut: "none", "NFC" or "NFD".

    Raises:
        TypeError: `tokens` is not a tuple of strings.
        ValueError: an unknown kind or normal form; a token that is empty or occurs twice; "char"
            tokens that are not single characters in ascending order.
    """

    kind: VocabularyKind
    tokens: tuple[str, ...]
    normal_form: str = NO_FORM

    def __post_init__(self):
        """Raises TypeError or ValueError for what no text could be numbered with."""
        if self.kind not in KINDS:
            raise ValueError(
                f"kind must be one of {', '.join(KINDS)}. Received: kind={self.kind!r}"
            )
        if self.normal_form not in NORMAL_FORMS:
            raise ValueError(
                f"normal_form must be one of {', '.join(NORMAL_FORMS)}. "
                f"Received: normal_form={self.normal_form!r}"
            )
        if not isinstance(self.tokens, tuple):
            raise TypeError(f"tokens must be a tuple. Received: {type(self.tokens).__name__}")
        for index, token in enumerate(self.tokens):
            if not isinstance(token, str):
                raise TypeError(f"tokens must be strings. Received: tokens[{index}]={token!r}")
            if not token:
                raise ValueError(f"tokens must not be empty. Received: tokens[{index}]=''")
            if self.kind == "char" and len(token) != 1:
                raise ValueError(
                    f"tokens of the kind char are one character each. "
                    f"Received: tokens[{index}]={token!r}"
                )
        if len(set(self.tokens)) < len(self.tokens):
            raise ValueError("tokens must differ from each other. Received: one of them twice")
        if self.kind == "char" and list(self.tokens) != sorted(self.tokens):
            raise ValueError("tokens of the kind char must be sorted. Received: another order")

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], kind: TokenKind, normal_form: str = NO_FORM
    ) -> Vocabulary:
        """Collects every token that occurs; one pass, nothing but the tokens is kept.

        Args:
            texts: All texts of one side.
            kind: "char" or "word".
            normal_form: What the texts are brought into first: "none", "NFC" or "NFD".

        Raises:
            TypeError: `texts` is one string, or holds something else than strings.
            ValueError: an unknown kind or normal form; subwords, which are learned
                (`subword_learning.learn_subwords`).
        """
        if kind not in TOKEN_KINDS:
            raise ValueError(
                f"kind must be one of {', '.join(TOKEN_KINDS)}. Received: kind={kind!r}"
            )
        empty = cls(kind, (), normal_form)
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts must be an iterable of strings. Received: texts={texts!r}")
        tokens: set[str] = set()
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"texts[{index}] must be a string. Received: {text!r}")
            tokens.update(empty.split(text))
        return cls(kind, tuple(sorted(tokens)), normal_form)

    def __len__(self) -> int:
        """Ids in all, the reserved ones included."""
        return len(RESERVED) + len(self.tokens)

    @functools.cached_property
    def _id_of(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens, len(RESERVED))}

    @functools.cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.tokens)

    @functools.cached_property
    def code_points(self) -> np.ndarray:
        """Code points of the tokens of the kind "char", in their order.

        Returns:
            int64 `(V,)`, reserved tokens left out.
        """
        return np.array([ord(token) for token in self.tokens], np.int64)

    def split(self, text: str) -> list[str]:
        """The tokens of a text in the normal form, known or not."""
        text = normalise(text, self.normal_form)
        if self.kind == "subword":
            return split_pieces(text, self._pieces)
        return split_tokens(text, self.kind)

    def split_all(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """The tokens of each text, as `split` gives them.

        Args:
            texts: Sources or targets, none of them cut yet.
        """
        if self.kind == "char":  # a string is a sequence of its characters
            return list(map(tuple, self._normalised(texts)))
        return [tuple(self.split(text)) for text in texts]

    def _normalised(self, texts: Sequence[str]) -> Sequence[str]:
        if self.normal_form == NO_FORM:
            return texts
        return [normalise(text, self.normal_form) for text in texts]

    def encode(self, texts: Sequence[str]) -> RaggedIds:
        """Ids of many texts, the unknown token where a token is not in the vocabulary.

        Raises:
            TypeError: `texts` is one string, or holds something else than strings.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"texts must be a sequence of strings. Received: texts={texts!r:.80}")
        if self.kind == "char":
            texts = self._normalised(texts)
            lengths = list(map(len, texts))
            points = np.frombuffer(
                "".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32
            ).astype(np.int64)
            flat = self.ids_of_code_points(points)
        else:
            split = [self.split(text) for text in texts]
            lengths = [len(tokens) for tokens in split]
            flat = np.array(
                [self._id_of.get(token, UNKNOWN) for tokens in split for token in tokens], np.int32
            )
        return RaggedIds(flat, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def ids_of_code_points(self, points: np.ndarray) -> np.ndarray:
        """Ids of single characters given as Unicode code points, int32 of the same shape."""
        if not self.tokens:
            return np.full(points.shape, UNKNOWN, np.int32)
        # Sorted tokens of one character each are sorted code points.
        place = np.searchsorted(self.code_points, points).clip(max=len(self.tokens) - 1)
        known = self.code_points[place] == points
        return np.where(known, place + len(RESERVED), UNKNOWN).astype(np.int32)

    def tokens_of(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Texts of token ids.

        Raises:
            ValueError: an id is reserved, or beyond the vocabulary.
        """
        for i in ids:
            if not len(RESERVED) <= i < len(self):
                raise ValueError(
                    f"ids of tokens are from {len(RESERVED)} to {len(self) - 1}. Received: {i}"
                )
        return tuple(self.tokens[i - len(RESERVED)] for i in ids)

    def join(self, tokens: Sequence[str]) -> str:
        """The text that tokens of this side make together."""
        if self.kind == "subword":
            return join_pieces(tokens)
        return ("" if self.kind == "char" else " ").join(tokens)

    def to_dict(self) -> dict:
        return {
            "kind": self.kind,
            "normal_form": self.normal_form,
            "tokens": list(self.tokens),
        }


def save_vocabularies(path: str | pathlib.Path, source: Vocabulary, target: Vocabulary) -> None:
    """Writes both sides' vocabularies as one JSON file, which appears whole or not at all."""
    content = {
        "format": _FORMAT,
        "reserved": list(RESERVED),
        "source": source.to_dict(),
        "target": target.to_dict(),
    }
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def load_vocabularies(path: str | pathlib.Path) -> tuple[Vocabulary, Vocabulary]:
    """Source and target vocabulary of a `vocabulary.json`.

    Args:
        path: The file.

    Raises:
        UserError: the file is missing, damaged, or of another format.
    """
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if content["format"] != _FORMAT or content["reserved"] != list(RESERVED):
            raise UserError(
                f"{path}: is of another format than this version reads; train again, or use the "
                "version of the program that wrote it"
            )
        return _from_dict(content["source"]), _from_dict(content["target"])
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path}: is damaged; copy the run folder again, or train again") from None


def _from_dict(content: dict) -> Vocabulary:
    form = content.get("normal_form", NO_FORM)  # vocabularies from before the forms name none
    return Vocabulary(content["kind"], tuple(content["tokens"]), form)
