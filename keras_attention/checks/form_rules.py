"""What of a dictionary's own form is left in pairs: `convert` takes it out."""

from __future__ import annotations

from collections.abc import Iterator

from keras_attention.checks.findings import Finding, Part, on_each_part, show
from keras_attention.pairs.forms import are_unsegmented, variant_of, without_remark
from keras_attention.pairs.phones import is_arpabet, looks_like_ipa


def command(file: str) -> str:
    """The command that turns a file into pairs."""
    stem = file.removesuffix(".gz")
    stem = stem.removesuffix(".tsv") + ".pairs" if stem.endswith(".tsv") else stem
    return f"`python -m keras_attention convert {file} --out {stem}.tsv`"


@on_each_part
def variants(part: Part, *_) -> Iterator[Finding]:
    """Sources like READ(2) beside READ."""
    sources = {pair.source for pair in part.pairs}
    numbered = [
        index
        for index, pair in enumerate(part.pairs)
        if pair.source.endswith(")") and variant_of(pair.source) in sources
    ]
    if numbered:
        name = show(part.pairs[numbered[0]].source)
        yield part.finding(
            "variants",
            "warning",
            numbered,
            f"sources end in the number of a variant, such as {name}, as in CMUdict; "
            f"{command(part.name)} takes it off",
        )


@on_each_part
def remarks(part: Part, *_) -> Iterator[Finding]:
    """Phones with a remark behind them: R EH1 D # past tense."""
    remarked = [
        index
        for index, pair in enumerate(part.pairs)
        if "#" in pair.target
        and (bare := without_remark(pair.target)) != pair.target
        and (is_arpabet(bare) or looks_like_ipa(bare))
    ]
    if remarked:
        yield part.finding(
            "remarks",
            "warning",
            remarked,
            f"targets end in a remark, such as {show(part.pairs[remarked[0]].target)}; "
            f"{command(part.name)} takes it off",
        )


@on_each_part
def unsegmented_phones(part: Part, *_) -> Iterator[Finding]:
    """IPA without spaces: a model of characters would write t, a tie bar and ʃ apart."""
    if are_unsegmented(pair.target for pair in part.pairs):
        yield part.finding(
            "unsegmented_phones",
            "info",
            range(len(part.pairs)),
            f"targets seem to be IPA without spaces between phones; {command(part.name)} cuts "
            "them, for --target-tokens word",
        )
