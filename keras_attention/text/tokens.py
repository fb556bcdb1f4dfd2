"""What a token is: a code point, a word, or a piece of one (`subwords`)."""

import re
from typing import Literal

TokenKind = Literal["char", "word"]
TOKEN_KINDS: tuple[TokenKind, ...] = ("char", "word")
# Pieces are those of a vocabulary, so that a text alone does not say what they are.
VocabularyKind = Literal["char", "word", "subword"]
KINDS: tuple[VocabularyKind, ...] = (*TOKEN_KINDS, "subword")

WORD = re.compile(r"[^ \t\n\r\f\v]+")


def split_tokens(text: str, kind: TokenKind) -> list[str]:
    """Tokens of a text: its code points ("char"), or what ASCII whitespace separates ("word")."""
    if kind == "char":
        return list(text)
    if kind == "word":
        return WORD.findall(text)
    raise ValueError(f'a token kind is "char" or "word". Received: kind={kind!r}')


def counted_tokens(text: str, kind: VocabularyKind) -> list[str]:
    """What alignments, lengths and error rates count of a text: words where tokens are subwords.

    So a file means the same, and models can be compared, whatever pieces were learned.
    """
    return split_tokens(text, "word" if kind == "subword" else kind)
