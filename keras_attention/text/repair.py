"""Text as every reader sees it: a string that UTF-8 can carry.

One rule for every entry, be it an argument, a file, standard input, Python or a request:

- A high surrogate followed by a low one is the one character that the two encode.
- Any other surrogate becomes U+FFFD, one each.
- Bytes are UTF-8; each sequence that is not valid becomes one U+FFFD, a sequence being the longest
  beginning of a character, as the Unicode Standard recommends (section 3.9) and Python and
  TensorFlow do it.
- A byte-order mark belongs to a file: it is taken off the first line of a file or of standard input
  (`pairs.lines.strip_line`), and is a character anywhere else.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class RepairWarning(UserWarning):
    """A text was not valid Unicode; the message says which one and what was replaced."""


def repair(text: str | bytes) -> str:
    """A string that UTF-8 can carry, by the rule above; a valid text comes back as it is."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    if not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub(_REPLACEMENT, _SURROGATE_PAIR.sub(_joined, text))


def clean(text: str | bytes) -> str:
    """The older name of `repair`."""
    return repair(text)


def argument_bytes(argument: str) -> str | bytes:
    """What the shell passed for a command-line argument.

    Python decodes each byte that is not UTF-8 to one surrogate (PEP 383). Taken back to bytes, a
    broken sequence of several bytes counts as one, as it does in a file.
    """
    try:
        return argument.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # Windows, where an argument may hold any surrogate
        return argument


def repaired(
    texts: Iterable[str | bytes], name: Callable[[int], str], stacklevel: int = 2
) -> Iterator[str]:
    """Repairs texts as they come, and warns where something was replaced.

    The first text that is not valid gets a warning at once. If more follow, one warning at the end
    says how many there were.

    Args:
        texts: Strings or UTF-8 bytes.
        name: From the number of a text, counted from 0, to what a message calls it.
        stacklevel: As for `warnings.warn`; 2 is the code that consumes the texts.
    """
    broken = 0
    for number, text in enumerate(texts):
        repaired_text = repair(text)
        if _REPLACEMENT in repaired_text:
            what = what_was_replaced(text, repaired_text)
            broken += bool(what)
            if what and broken == 1:
                message = f"{name(number)}: {what}"
                warnings.warn(message, RepairWarning, stacklevel=stacklevel)
        yield repaired_text
    if broken > 1:
        message = f"in all, {broken:,} texts were not valid Unicode and hold U+FFFD now"
        warnings.warn(message, RepairWarning, stacklevel=stacklevel)


def what_was_replaced(text: str | bytes, repaired_text: str) -> str:
    """What `repair` replaced by U+FFFD, in words; empty if nothing was."""
    if isinstance(text, bytes):
        before = text.count(_REPLACEMENT.encode("utf-8"))
        kind = "invalid UTF-8 sequence"
    else:
        before = text.count(_REPLACEMENT)
        kind = "unpaired surrogate"
    count = repaired_text.count(_REPLACEMENT) - before
    if not count:
        return ""
    plural = "s" * (count > 1)
    return f"{count} {kind}{plural} replaced by U+FFFD"


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
