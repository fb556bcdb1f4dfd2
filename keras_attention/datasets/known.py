"""What the project's own data sets can say of texts of their kind.

The one place that lists them: whoever audits or shows a model asks here, and knows no data set.
"""

from __future__ import annotations

from typing import NamedTuple

from keras_attention.datasets import dates, phrases
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair


class Annotation(NamedTuple):
    """What is known of a pair beyond its texts; None where nothing is.

    Attributes:
        alignment: Gold links, the pair's own if it has them.
        fields: What each character of the target belongs to, such as "year".
        group: What kind of source it is, such as the form that a date is written in.
    """

    alignment: tuple[Link, ...] | None = None
    fields: tuple[str, ...] | None = None
    group: str | None = None


def annotate(pair: Pair) -> Annotation:
    """What the data sets know of a pair."""
    form = dates.form_of(pair.source)
    if form is None:
        return Annotation(pair.alignment)
    alignment = pair.alignment
    if alignment is None:
        try:
            alignment = dates.align(pair.source, pair.target)
        except ValueError:  # written like a date, but its target is something else
            pass
    fields = dates.TARGET_FIELDS if len(pair.target) == len(dates.TARGET_FIELDS) else None
    return Annotation(alignment, fields, form)


# Sources to try a model with, by language: which of them a model knows is for it to say.
SAMPLE_SOURCES: dict[str, tuple[str, ...]] = {
    language: dates.SAMPLE_SOURCES.get(language, ()) + phrases.SAMPLE_SOURCES.get(language, ())
    for language in ("en", "ko")
}
