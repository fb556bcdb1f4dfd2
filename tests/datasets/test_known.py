"""What is known of pairs, and that nothing else in the package knows a data set."""

import pathlib
import re

import keras_attention
from keras_attention.datasets import dates
from keras_attention.datasets.known import SAMPLE_SOURCES, Annotation, annotate
from keras_attention.pairs.alignment import Link
from keras_attention.pairs.pair import Pair


def test_a_date_gets_its_alignment_its_fields_and_its_form():
    found = annotate(Pair("3 May 2021", "2021-05-03"))
    assert found.alignment == dates.align("3 May 2021", "2021-05-03")
    assert found.fields[:5] == ("year",) * 4 + ("separator",)
    assert found.group == dates.form_of("3 May 2021")


def test_the_pairs_own_alignment_stays_and_a_wrong_target_gets_none():
    own = (Link(0, 9, True),)
    assert annotate(Pair("3 May 2021", "2021-05-03", own)).alignment == own
    assert annotate(Pair("3 May 2021", "2021-05-04")).alignment is None
    assert annotate(Pair("3 May 2021", "no date")).fields is None
    assert annotate(Pair("cat", "tac")) == Annotation()


def test_samples_are_of_the_data_sets():
    sources = [source for group in SAMPLE_SOURCES.values() for source in group]
    assert len(sources) == len(set(sources)) >= 8
    assert sum(dates.form_of(source) is not None for source in sources) >= 8


def test_only_the_data_sets_know_a_data_set():
    package = pathlib.Path(keras_attention.__file__).parent
    # train names the command that makes the default data, in its advice.
    advice = package / "commands" / "train.py"
    named = re.compile(r"datasets(\.| import )(dates|phrases)|date[s_]\.(form_of|align)")
    for path in package.rglob("*.py"):
        if path.parent.name != "datasets" and path.name != "_moved.py" and path != advice:
            assert not named.search(path.read_text(encoding="utf-8")), path
