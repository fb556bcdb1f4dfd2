"""Text into token ids and back: one definition, whichever side and whichever artefact."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from collections.abc import Iterable, Sequence

import numpy as np

from keras_attention.errors import UserError
from keras_attention.text.normal_form import NO_FORM, NORMAL_FORMS, normalise
from keras_attention.text.tokens import split_tokens

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
        kind: "char" (code points) or "word" (separated by ASCII white space).
        tokens: All known tokens, sorted, without the reserved ones.
        normal_form: What texts are brought into before they are cut: "none", "NFC" or "NFD".
    """

    kind: str
    tokens: tuple[str, ...]
    normal_form: str = NO_FORM

    @classmethod
    def from_texts(cls, texts: Iterable[str], kind: str, normal_form: str = NO_FORM) -> Vocabulary:
        """Collects every token that occurs; one pass, nothing but the tokens is kept."""
        tokens: set[str] = set()
        for text in texts:
            tokens.update(split_tokens(normalise(text, normal_form), kind))
        return cls(kind, tuple(sorted(tokens)), normal_form)

    def __len__(self) -> int:
        """Ids in all, the reserved ones included."""
        return len(RESERVED) + len(self.tokens)

    @functools.cached_property
    def _id_of(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens, len(RESERVED))}

    @functools.cached_property
    def _code_points(self) -> np.ndarray:
        return np.array([ord(token) for token in self.tokens], np.int64)

    def split(self, text: str) -> list[str]:
        """The tokens of a text in the normal form, known or not."""
        return split_tokens(normalise(text, self.normal_form), self.kind)

    def encode(self, texts: Sequence[str]) -> RaggedIds:
        """Ids of many texts, the unknown token where a token is not in the vocabulary."""
        if self.kind == "char":
            texts = [normalise(text, self.normal_form) for text in texts]
            lengths = [len(text) for text in texts]
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
        place = np.searchsorted(self._code_points, points).clip(max=len(self.tokens) - 1)
        known = self._code_points[place] == points
        return np.where(known, place + len(RESERVED), UNKNOWN).astype(np.int32)

    def tokens_of(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Texts of token ids, none of which may be reserved."""
        return tuple(self.tokens[i - len(RESERVED)] for i in ids)

    def join(self, tokens: Sequence[str]) -> str:
        """The text that tokens of this side make together."""
        return ("" if self.kind == "char" else " ").join(tokens)

    def to_dict(self) -> dict:
        return {
            "kind": self.kind,
            "normal_form": self.normal_form,
            "tokens": list(self.tokens),
        }


def save_vocabularies(path: str | pathlib.Path, source: Vocabulary, target: Vocabulary) -> None:
    """Writes both sides' vocabularies as one JSON file."""
    content = {
        "format": _FORMAT,
        "reserved": list(RESERVED),
        "source": source.to_dict(),
        "target": target.to_dict(),
    }
    pathlib.Path(path).write_text(
        json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def load_vocabularies(path: str | pathlib.Path) -> tuple[Vocabulary, Vocabulary]:
    """Source and target vocabulary of a `vocabulary.json`.

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
        return tuple(_from_dict(content[side]) for side in ("source", "target"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path}: is damaged; copy the run folder again, or train again") from None


def _from_dict(content: dict) -> Vocabulary:
    form = content.get("normal_form", NO_FORM)  # vocabularies from before the forms name none
    if form not in NORMAL_FORMS:
        raise ValueError(form)
    return Vocabulary(content["kind"], tuple(content["tokens"]), form)
