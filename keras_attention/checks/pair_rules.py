"""What is odd in the pairs of a data set: rules, each of which looks for one thing.

A rule takes the parts of a data set, in the order of `Splits` or one alone, and the token kinds of
source and target, and yields findings. Nothing here reads a file.
"""

import collections
import math
import re
from collections.abc import Iterator

from keras_attention.checks.findings import (
    Finding,
    Part,
    list_tokens,
    number_of,
    on_each_part,
    show,
)
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.forms import HEADINGS
from keras_attention.pairs.splits import twin_key
from keras_attention.text.tokens import VocabularyKind, counted_tokens

LONG = 512  # tokens; batches are padded to their longest text
FAR, OUTLYING = 64, 8  # tokens, and times the usual length, of a target that outlies


@on_each_part
def headings(part: Part, *_) -> Iterator[Finding]:
    """A first line that names the columns: it would be learnt as a pair."""
    first = part.pairs[0]
    if {first.source.strip().lower(), first.target.strip().lower()} <= HEADINGS:
        names = f"{first.source!r} and {first.target!r}"
        yield part.finding(
            "heading", "warning", [0], f"the first line looks like a heading ({names}); remove it"
        )


@on_each_part
def quotation_marks(part: Part, *_) -> Iterator[Finding]:
    """A file that was written as CSV with tabs."""
    if all(re.fullmatch('".*"', text, re.DOTALL) for pair in part.pairs for text in pair[:2]):
        yield part.finding(
            "quotes",
            "warning",
            range(len(part.pairs)),
            "every text stands in quotation marks, which are read as part of it; remove them",
        )


@on_each_part
def partial_alignment(part: Part, *_) -> Iterator[Finding]:
    """A third column on some lines only."""
    without = [index for index, pair in enumerate(part.pairs) if pair.alignment is None]
    if 0 < len(without) < len(part.pairs):
        yield part.finding(
            "partial_alignment", "info", without, "some lines have an alignment, these have none"
        )


@on_each_part
def identical_targets(part: Part, *_) -> Iterator[Finding]:
    """One target for everything: nothing to learn."""
    if len(part.pairs) > 1 and len({pair.target for pair in part.pairs}) == 1:
        yield part.finding(
            "identical_targets",
            "warning",
            range(len(part.pairs)),
            f"all targets are the same, {show(part.pairs[0].target)}: there is nothing to learn",
        )


@on_each_part
def copies(part: Part, *_) -> Iterator[Finding]:
    """The same column twice."""
    if len(part.pairs) > 1 and all(pair.source == pair.target for pair in part.pairs):
        yield part.finding(
            "copies", "warning", range(len(part.pairs)), "every target equals its source"
        )


@on_each_part
def duplicates(part: Part, *_) -> Iterator[Finding]:
    """Lines that say again what a line before said."""
    seen: set[tuple[str, str]] = set()
    again = []
    for index, pair in enumerate(part.pairs):
        if pair[:2] in seen:
            again.append(index)
        seen.add(pair[:2])
    if again:
        yield part.finding("duplicates", "warning", again, "pairs stand in the file before")


@on_each_part
def conflicts(part: Part, *_) -> Iterator[Finding]:
    """One source with several targets: a model gives one of them."""
    first: dict[str, str] = {}
    later = [
        index
        for index, pair in enumerate(part.pairs)
        if first.setdefault(pair.source, pair.target) != pair.target
    ]
    if later:
        answers = Answers(part.pairs)
        yield part.finding(
            "conflicts",
            "warning",
            later,
            f"{number_of(answers.sources_with_several, 'source')} with several targets, such as "
            f"{show(part.pairs[later[0]].source)}; an answer counts as right if it is one of them "
            f"(against each line's own target, no model can exceed {answers.ceiling:.1%})",
        )


@on_each_part
def long_texts(
    part: Part, source_tokens: VocabularyKind, target_tokens: VocabularyKind
) -> Iterator[Finding]:
    """Texts so long that they make training slow."""
    for side, kind in (("source", source_tokens), ("target", target_tokens)):
        texts = [getattr(pair, side) for pair in part.pairs]
        # A text has no more words than characters: few need to be cut into tokens.
        lengths = {
            index: len(counted_tokens(text, kind))
            for index, text in enumerate(texts)
            if len(text) > LONG
        }
        long = [index for index, length in lengths.items() if length > LONG]
        if long:
            yield part.finding(
                f"long_{side}",
                "warning",
                long,
                f"{side}s of more than {LONG} tokens, up to {max(lengths.values()):,}; "
                "they make training slow: shorten or remove them",
            )


def longest_output(
    parts: list[Part], source_tokens: VocabularyKind, target_tokens: VocabularyKind
) -> Iterator[Finding]:
    """A training target far longer than the others: it sets how long every answer may get."""
    pairs = parts[0].pairs
    if not pairs:
        return
    # Words are counted only where the text is long enough to matter.
    lengths = [len(pair.target) for pair in pairs]
    if target_tokens != "char" and max(lengths) > FAR:
        lengths = [len(counted_tokens(pair.target, target_tokens)) for pair in pairs]
    longest = max(lengths)
    usual = sorted(lengths)[int(0.99 * (len(lengths) - 1))]
    if longest > FAR and longest > OUTLYING * usual:
        yield parts[0].finding(
            "longest_output",
            "warning",
            [lengths.index(longest)],
            f"a target of {longest:,} tokens, where nearly all have at most {usual:,}, sets the "
            f"longest output of every answer to {math.ceil(1.25 * longest):,}; remove it, or set "
            "--longest-output",
        )


def leaks(parts: list[Part], *_) -> Iterator[Finding]:
    """Sources of validation and test that stand in a part before: scores are then too good."""
    for later_index, later in enumerate(parts):
        for earlier in parts[:later_index]:
            sources = {pair.source for pair in earlier.pairs}
            leaked = [i for i, pair in enumerate(later.pairs) if pair.source in sources]
            if leaked:
                yield later.finding(
                    "leaks",
                    "warning",
                    leaked,
                    f"sources that stand in {earlier.name}, too "
                    f"({len(leaked) / len(later.pairs):.1%} of the pairs); scores look too good",
                )


def near_leaks(parts: list[Part], *_) -> Iterator[Finding]:
    """Sources that stand in the first part but for case, spaces or the form of characters."""
    if len(parts) < 2:
        return
    exact = {pair.source for pair in parts[0].pairs}
    folded = {twin_key(source) for source in exact}
    for part in parts[1:]:
        near = [
            index
            for index, pair in enumerate(part.pairs)
            if pair.source not in exact and twin_key(pair.source) in folded
        ]
        if near:
            yield part.finding(
                "near_leaks",
                "info",
                near,
                f"sources that stand in {parts[0].name}, too, in other case, spacing or form",
            )


def unseen_tokens(
    parts: list[Part], source_tokens: VocabularyKind, target_tokens: VocabularyKind
) -> Iterator[Finding]:
    """Tokens of validation and test that training never meets; of subwords, characters."""
    if len(parts) < 2 or not parts[0].pairs:
        return
    for side, kind in (("source", source_tokens), ("target", target_tokens)):
        split, between = (set, "") if kind != "word" else (_words, " ")
        seen = split(between.join([getattr(pair, side) for pair in parts[0].pairs]))
        effect = "read as unknown" if side == "source" else "can never be written"
        name = "word" if kind == "word" else "character"
        for part in parts[1:]:
            unseen: collections.Counter[str] = collections.Counter()
            lines = []
            for index, pair in enumerate(part.pairs):
                new = split(getattr(pair, side)) - seen
                if new:
                    unseen.update(sorted(new))
                    lines.append(index)
            if unseen:
                yield part.finding(
                    f"unseen_{side}_tokens",
                    "warning",
                    lines,
                    f"{number_of(len(unseen), name)} that {parts[0].name} has not in a {side}, "
                    f"{effect}: {list_tokens(unseen)}",
                )


def _words(text: str) -> set[str]:
    return set(counted_tokens(text, "word"))
