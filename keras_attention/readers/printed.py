"""Translations as lines for the terminal and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator

from keras_attention.pairs.alignment import places_as_written
from keras_attention.readers.attention_links import WeightedLink
from keras_attention.readers.translation import AnswerSet, Translation


def written_links(translation: Translation, source: str) -> list[WeightedLink]:
    """The alignment between positions as a data file counts them: code points or words as written.

    Where several tokens are of one position, as the parts of a syllable in NFD, the link with the
    most weight counts.
    """
    source_places = places_as_written(source, translation.source_tokens)
    target_places = places_as_written(translation.text, translation.target_tokens)
    best: dict[tuple[int, int], float] = {}
    for link in translation.alignment:
        read = link.source if source_places is None else source_places[link.source]
        said = link.target if target_places is None else target_places[link.target]
        if read is not None and said is not None:
            best[read, said] = max(best.get((read, said), 0.0), link.weight)
    ordered = sorted(best.items(), key=lambda item: (item[0][1], item[0][0]))
    return [WeightedLink(*places, weight) for places, weight in ordered]


def pharaoh(links: list[WeightedLink]) -> str:
    """Links in Pharaoh form, as the third column of a data file."""
    return " ".join(f"{link.source}-{link.target}" for link in links)


def columns_of(
    translation: Translation, source: str, scores: bool, alignment: bool, answered: bool = True
) -> str:
    """The text, with its scores and its alignment in further columns if wanted.

    Args:
        translation: What is to be printed.
        source: What it is a translation of.
        scores: Whether log-probability and confidence follow.
        alignment: Whether the links in Pharaoh form follow.
        answered: Otherwise the text and its links are left empty.
    """
    columns = [translation.text if answered else ""]
    if scores:
        columns += [f"{translation.log_probability:.6f}", f"{translation.confidence:.6f}"]
    if alignment:
        columns.append(pharaoh(written_links(translation, source)) if answered else "")
    return "\t".join(columns)


def n_best_lines(
    number: int, translation: Translation, source: str, scores: bool, alignment: bool
) -> Iterator[str]:
    """A line for each hypothesis: which input, text, confidence; then what `columns_of` adds."""
    for each in translation.hypotheses:
        text, *more = columns_of(each, source, scores, alignment).split("\t")
        yield "\t".join([str(number), text, f"{each.confidence:.6f}", *more])


def set_lines(number: int, found: AnswerSet) -> Iterator[str]:
    """A line for each answer of a set: which input, text, and the coverage that is promised."""
    note = "" if found.promised >= found.coverage else f"\tnot {found.coverage:g}"
    for text in found.texts:
        yield f"{number}\t{text}\t{found.promised:.4f}{note}"


def as_dict(translation: Translation, source: str, answered: bool = True) -> dict:
    """All that is known of a translation, for JSON.

    Args:
        translation: What the source became.
        source: As it was read.
        answered: False where the confidence is below what was asked for: `text` is then None.
    """
    content = {"source": source, **_hypothesis(translation, source)}
    if not answered:
        content["text"] = None
    if translation.from_exceptions:
        content["from_exceptions"] = True
    if translation.answer_set is not None:
        held = translation.answer_set
        content["set"] = {
            "texts": list(held.texts),
            "coverage": held.coverage,
            "promised": held.promised,
        }
    elif translation.alternatives:
        content["alternatives"] = [_hypothesis(each, source) for each in translation.alternatives]
    return content


def _hypothesis(translation: Translation, source: str) -> dict:
    content: dict = {
        "text": translation.text,
        "log_probability": translation.log_probability,
        "confidence": translation.confidence,
        "source_tokens": list(translation.source_tokens),
        "target_tokens": list(translation.target_tokens),
    }
    if translation.token_confidence is not None:
        content["token_confidence"] = [float(sure) for sure in translation.token_confidence]
    if translation.attention_weights is not None:
        links = written_links(translation, source)
        content["alignment"] = [link._asdict() for link in links]
    return content
