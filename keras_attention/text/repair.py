"""Text as every reader sees it: a string that UTF-8 can carry."""

from __future__ import annotations


def clean(text: str | bytes) -> str:
    """A string that UTF-8 can carry: what is not valid becomes U+FFFD, as TensorFlow does it."""
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    return text.decode("utf-8", "replace")
