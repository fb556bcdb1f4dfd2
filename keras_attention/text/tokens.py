"""What a token is: a code point, or a word."""

import re
from typing import Literal

TokenKind = Literal["char", "word"]
TOKEN_KINDS: tuple[TokenKind, ...] = ("char", "word")

_WORD = re.compile(r"[^ \t\n\r\f\v]+")


def split_tokens(text: str, kind: TokenKind) -> list[str]:
    """Tokens of a text: its code points ("char"), or what ASCII whitespace separates ("word")."""
    if kind == "char":
        return list(text)
    if kind == "word":
        return _WORD.findall(text)
    raise ValueError(f'a token kind is "char" or "word". Received: kind={kind!r}')
