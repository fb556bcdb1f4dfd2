"""Sources in a Unicode normal form: outside of the graph, in it, and in every artefact."""

import dataclasses
import random
import sys
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.export.litert import write_litert
from keras_attention.export.saved_model import ServingModule
from keras_attention.models.inference import InferenceModel
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits
from keras_attention.readers.litert_reader import LiteRTReader
from keras_attention.readers.run_reader import RunReader
from keras_attention.text.normal_form import normalise, tables
from keras_attention.text.normal_form_graph import NORMALISERS
from keras_attention.text.vocabulary import (
    UNKNOWN,
    Vocabulary,
    load_vocabularies,
    save_vocabularies,
)
from keras_attention.text.vocabulary_graph import SourceGraph
from tests.support.commands import call_train, call_verb
from tests.support.exports import random_run
from tests.support.tasks import write_splits

FORMS = ("NFC", "NFD")
SPELLINGS = ["가나", unicodedata.normalize("NFD", "가나"), "é1", "e\u03011", "ea", "", "나é가"]


def in_graph(texts: list[str], form: str) -> list[str]:
    points = tf.strings.unicode_decode(tf.constant(texts, tf.string), "UTF-8")
    normalised = tf.function(NORMALISERS[form])(points)
    return [text.decode() for text in tf.strings.unicode_encode(normalised, "UTF-8").numpy()]


def random_strings(n: int, seed: int) -> list[str]:
    """Short strings rich in what is hard: marks in any order, parts of composites, Hangul."""
    rng = random.Random(seed)
    found = tables()
    hangul = [*range(0x1100, 0x1200), *range(0xAC00, 0xAC00 + 600), *range(0xD7A0, 0xD7A4)]
    parts = [point for key in found.pairs for point in divmod(int(key), sys.maxunicode + 1)]
    pools = [found.decomposable, found.combining, found.combining, hangul, parts, range(32, 127)]
    return [
        "".join(chr(int(rng.choice(rng.choice(pools)))) for _ in range(rng.randrange(12)))
        for _ in range(n)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_code_point_is_as_python_has_it(form):
    points = [p for p in range(sys.maxunicode + 1) if not 0xD800 <= p < 0xE000]
    texts = [chr(point) for point in points]
    assert in_graph(texts, form) == [unicodedata.normalize(form, text) for text in texts]


@pytest.mark.parametrize("form", FORMS)
def test_strings_of_marks_and_hangul_are_as_python_has_them(form):
    texts = random_strings(20_000, seed=1)
    expected = [unicodedata.normalize(form, text) for text in texts]
    assert sum(a != b for a, b in zip(texts, expected, strict=True)) > 10_000
    assert in_graph(texts, form) == expected


@pytest.mark.parametrize("form", FORMS)
def test_one_text_does_not_reach_into_the_next(form):
    acute, cedilla = "\u0301", "\u0327"
    texts = ["e", acute + cedilla, "", cedilla, acute + "e", "\u1100", "\u1161"]
    assert in_graph(texts, form) == [unicodedata.normalize(form, text) for text in texts]
    assert in_graph([], form) == [] and in_graph(["", ""], form) == ["", ""]


def test_none_leaves_a_text_as_written():
    assert normalise("e\u0301 é", "none") == "e\u0301 é"


def test_a_vocabulary_of_a_form_knows_both_spellings():
    vocabulary = Vocabulary.from_texts(["가", "é"], "char", "NFD")
    assert vocabulary.tokens == ("e", "\u0301", "ᄀ", "ᅡ")
    assert vocabulary.split("가e\u0301") == ["ᄀ", "ᅡ", "e", "\u0301"]
    composed, decomposed = (vocabulary.encode([text]).flat for text in ("é가", "e\u0301가"))
    np.testing.assert_array_equal(composed, decomposed)
    assert UNKNOWN not in composed


def test_a_vocabulary_file_names_the_form(tmp_path):
    source = Vocabulary.from_texts(["가"], "char", "NFD")
    target = Vocabulary.from_texts(["k a"], "word")
    save_vocabularies(tmp_path / "v.json", source, target)
    assert load_vocabularies(tmp_path / "v.json") == (source, target)
    assert '"normal_form": "NFD"' in (tmp_path / "v.json").read_text()
    broken = (tmp_path / "v.json").read_text().replace('"NFD"', '"NFKD"')
    (tmp_path / "v.json").write_text(broken)
    with pytest.raises(UserError, match="is damaged"):
        load_vocabularies(tmp_path / "v.json")


@pytest.mark.parametrize("kind", ("char", "word"))
@pytest.mark.parametrize("form", FORMS)
def test_the_graph_encodes_as_the_vocabulary_does(kind, form):
    texts = [*SPELLINGS, "été 날짜", "e\u0301te\u0301\t날\n", "\u2000a b\u212b"]
    vocabulary = Vocabulary.from_texts(texts[:4], kind, form)
    encoded = SourceGraph(vocabulary).encode(tf.constant(texts))
    ragged = vocabulary.encode(texts)
    np.testing.assert_array_equal(encoded.lengths, ragged.lengths)
    np.testing.assert_array_equal(encoded.ids, ragged.padded(np.arange(len(texts))))
    for row, text in zip(encoded.tokens.numpy(), texts, strict=True):
        tokens = vocabulary.split(text)
        assert [token.decode() for token in row[: len(tokens)]] == tokens


def test_every_artefact_reads_both_spellings_alike(tmp_path):
    run = random_run(0)
    letters = tuple(sorted(set(unicodedata.normalize("NFD", "가나é")) | set("abcd 012")))
    padding = tuple(chr(0x4E00 + i) for i in range(len(run.source.tokens) - len(letters)))
    run = dataclasses.replace(run, source=Vocabulary("char", letters + padding, "NFD"))
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    ours = RunReader(model, run.source, run.target).translate_batch(SPELLINGS)
    assert ours[0].text == ours[1].text and ours[2].text == ours[3].text
    assert ours[0].source_tokens == ("\u1100", "\u1161", "\u1102", "\u1161")
    served = ServingModule(run, 2, 0.0).signatures()["attention"](text=tf.constant(SPELLINGS))
    for row, result in enumerate(ours):
        assert served["text"][row].numpy().decode() == result.text
        tokens = [t.decode() for t in served["source_tokens"][row].numpy() if t]
        assert tuple(tokens) == result.source_tokens
        assert served["log_probability"].numpy()[row] == pytest.approx(
            result.log_probability, abs=1e-4
        )

    write_litert(run, tmp_path, "small", 16)
    assert '"normal_form": "NFD"' in (tmp_path / "small.json").read_text()
    for small, result in zip(
        LiteRTReader(tmp_path / "small.tflite").translate_batch(SPELLINGS), ours, strict=True
    ):
        assert (small.text, small.source_tokens) == (result.text, result.source_tokens)
        assert small.log_probability == pytest.approx(result.log_probability, abs=1e-4)


def test_training_with_a_form_makes_a_run_that_reads_letters(tmp_path):
    pairs = [Pair(text, "k a") for text in ("가", "나", "다", "라")]
    data = write_splits(tmp_path / "data", Splits(pairs, pairs[:1], pairs[:1]))
    run = tmp_path / "run"
    options = ["--units", "8", "--epochs", "1", "--target-tokens", "word", "--source-form", "NFD"]
    finished = call_train("--data", data, "--out", run, *options)
    assert finished.status == 0, finished.err
    source, _ = load_vocabularies(run / "vocabulary.json")
    assert source.normal_form == "NFD" and len(source.tokens) == 5
    assert call_verb("translate", run, "마").status == 0
    refused = call_train("--data", data, "--out", run, "--resume", "--source-form", "NFC")
    assert refused.status == 2


def test_other_forms_are_refused():
    with pytest.raises(UserError, match="--source-form: must be one of none, NFC, NFD"):
        Config(source_form="NFKC")
