"""Strings in, strings out: order, odd strings, and the same answers in a new process."""

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import keras_attention
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import CONFIG, VOCABULARY
from keras_attention.models.inference import InferenceModel
from keras_attention.readers import translator as translator_module
from keras_attention.readers.run import save_model
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translation import Translation
from keras_attention.readers.translator import Translator
from keras_attention.text.repair import RepairWarning
from keras_attention.text.vocabulary import Vocabulary, save_vocabularies
from tests.models.test_training_model import KINDS, config_of, model_of
from tests.support import ROOT

# Texts that a model of the letters a to e has never seen the like of.
ODD = [
    "",
    " ",
    "zzz",
    "a" * 10_000,
    "나는 고양이로소이다",
    "e\u0301",
    "\U0001f408",
    "a\0b",
    "a\nb\tc\r",
    "\ud800",
    "\udcff",
    "\ufeffab",
    b"\xff\xfe",
    b"a\xc3",
    b"",
]


class Noting:
    """A reader that answers each text backwards and notes its batches."""

    has_attention = False
    source_kind = target_kind = "char"

    def __init__(self, batches_at_once=1):
        self.batches_at_once = batches_at_once
        self.batches = []

    def translate_batch(self, texts, beam_width, length_penalty):
        self.batches.append(list(texts))
        return [Translation(text[::-1], 0.0, 1.0, tuple(text), (), None) for text in texts]


class Slow(Noting):
    """One that takes its time, the more the shorter the texts, and counts who is in it."""

    def __init__(self, batches_at_once):
        super().__init__(batches_at_once)
        self.inside = self.most = 0
        self.lock = threading.Lock()

    def translate_batch(self, texts, beam_width, length_penalty):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            assert self.batches or self.inside == 1, "the first batch is translated by itself"
        time.sleep(0.05 / (1 + len(texts[0])))
        with self.lock:
            self.inside -= 1
            if "broken" in texts:
                raise ValueError("broken")
            return super().translate_batch(texts, beam_width, length_penalty)


@pytest.mark.parametrize("batches_at_once", [1, 2])
def test_so_many_batches_at_a_time_as_the_reader_allows(batches_at_once, monkeypatch):
    monkeypatch.setattr(translator_module, "ROWS_PER_BATCH", 2)
    reader = Slow(batches_at_once)
    texts = ["ab" * n for n in range(20)]
    results = Translator(reader).translate(texts)
    assert [result.text for result in results] == [text[::-1] for text in texts]
    assert reader.most == batches_at_once
    with pytest.raises(ValueError, match="broken"):
        Translator(reader).translate([*texts, "broken"])


@pytest.mark.parametrize("batches_at_once", [1, 2])
def test_answers_come_in_the_order_of_the_texts(batches_at_once):
    rng = np.random.default_rng(0)
    texts = ["ab" * int(n) for n in rng.integers(0, 50, 1000)] + ["xyz"]
    reader = Noting(batches_at_once)
    results = Translator(reader).translate(texts)
    assert [result.text for result in results] == [text[::-1] for text in texts]
    assert sorted(text for batch in reader.batches for text in batch) == sorted(texts)


@pytest.mark.parametrize(
    ("n", "sizes"), [(25, [7, 7, 7, 4]), (20, [10, 10]), (6, [3, 3]), (2, [2]), (41, [7] * 5 + [6])]
)
def test_every_thread_has_as_many_batches(n, sizes):
    reader = Noting(2)
    reader.least_rows_per_batch, reader.most_rows_per_batch = 3, 10
    Translator(reader).translate(["ab"] * n)
    assert sorted(map(len, reader.batches), reverse=True) == sizes


def test_a_batch_holds_texts_of_like_length_and_not_too_many_positions(monkeypatch):
    monkeypatch.setattr(translator_module, "ROWS_PER_BATCH", 10)
    monkeypatch.setattr(translator_module, "POSITIONS_PER_BATCH", 200)
    reader = Noting()
    lengths = np.random.default_rng(0).integers(0, 60, 500).tolist() + [1000]
    Translator(reader).translate(["a" * n for n in lengths])
    before = 0
    for batch in reader.batches:
        sizes = [len(text) for text in batch]
        assert min(sizes) >= before
        before = max(sizes)
        assert len(batch) <= 10
        assert len(batch) == 1 or len(batch) * max(sizes) <= 200
    assert len(reader.batches) < 120


def test_nothing_is_answered_with_nothing(trained):
    assert Translator(Noting()).translate([]) == []
    assert Translator.load(trained.path).translate([]) == []


@pytest.mark.parametrize(
    ("texts", "options", "error", "says"),
    [
        ("abc", {}, TypeError, "a sequence of strings.*Received: 'abc'"),
        (b"abc", {}, TypeError, "a sequence of strings"),
        (None, {}, TypeError, "a sequence of strings"),
        ([None], {}, TypeError, r"texts\[0\] must be a string.*Received: None"),
        (["a", 1], {}, TypeError, r"texts\[1\] must be a string.*Received: 1"),
        ([["a"]], {}, TypeError, r"texts\[0\] must be a string"),
        (np.array([["a"]]), {}, ValueError, r"texts.shape=\(1, 1\)"),
        (["a"], {"beam_width": 0}, ValueError, "at least 1. Received: beam_width=0"),
        (["a"], {"beam_width": 99_999_999}, ValueError, "at most 1000: .*memory.*99999999"),
        (["a"], {"beam_width": "2"}, TypeError, "an integer. Received: beam_width='2'"),
        (["a"], {"beam_width": 2.0}, TypeError, "an integer. Received: beam_width=2.0"),
        (["a"], {"beam_width": True}, TypeError, "an integer. Received: beam_width=True"),
        (["a"], {"beam_width": None}, TypeError, "an integer"),
        (["a"], {"length_penalty": "1"}, TypeError, "length_penalty must be a number"),
        (["a"], {"length_penalty": float("nan")}, ValueError, "length_penalty must be finite"),
    ],
)
def test_misuse_is_told(texts, options, error, says):
    with pytest.raises(error, match=says):
        Translator(Noting()).translate(texts, **options)


@pytest.mark.parametrize(
    ("path", "error"),
    [([], ValueError), (None, TypeError), (5, TypeError), (["a", None], TypeError)],
)
def test_a_path_that_is_none_is_told(path, error):
    with pytest.raises(error, match="path must be a path, or a sequence"):
        Translator.load(path)


def test_numpy_strings_are_strings():
    plain, array = Noting(), Noting()
    Translator(plain).translate(["ab", "c"])
    Translator(array).translate(np.array(["ab", "c"]), beam_width=np.int64(1))
    assert plain.batches == array.batches


def test_a_wide_beam_takes_fewer_texts_together():
    for width, most in ((1, 256), (8, 256), (64, 32), (1000, 2)):
        reader = Noting()
        Translator(reader).translate(["ab"] * 300, beam_width=width)
        assert max(map(len, reader.batches)) == most


def test_what_is_no_unicode_is_repaired_and_told(translator):
    with pytest.warns(RepairWarning) as told:
        broken = translator.translate(["ab", "ab\ud83d\ude00", "ab\ud83d", b"ab\xf0\x9f\x98"])
    assert [str(w.message) for w in told] == [
        "texts[2]: 1 unpaired surrogate replaced by U+FFFD",
        "in all, 2 texts were not valid Unicode and hold U+FFFD now",
    ]
    assert all(w.filename == __file__ for w in told)
    assert [t.source_tokens[2:] for t in broken] == [(), ("\U0001f600",), ("\ufffd",), ("\ufffd",)]


def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        Translator.load(tmp_path / "no")
    with pytest.raises(UserError, match="is not a model"):
        Translator.load(tmp_path)


@pytest.fixture(scope="module")
def translator(trained) -> Translator:
    return keras_attention.Translator.load(trained.path)


def test_a_translation_is_complete(translator):
    result = translator.translate(["abcde"])[0]
    assert result.text == "edcba" == "".join(result.target_tokens)
    assert result.source_tokens == tuple("abcde")
    assert result.attention_weights.shape == (5, 5)
    assert result.attention_weights.dtype == np.float32
    np.testing.assert_allclose(result.attention_weights.sum(1), 1.0, atol=1e-5)
    assert result.log_probability <= 0
    assert 0 < result.confidence <= 1
    assert result.alternatives == ()


def test_alternatives_are_other_texts_best_first(translator):
    result = translator.translate(["abcde"], beam_width=4)[0]
    hypotheses = [result, *result.alternatives]
    assert len({hypothesis.text for hypothesis in hypotheses}) == 4
    scores = [hypothesis.log_probability for hypothesis in hypotheses]
    assert scores == sorted(scores, reverse=True)
    for hypothesis in hypotheses:
        assert hypothesis.source_tokens == tuple("abcde")
        assert hypothesis.attention_weights.shape == (len(hypothesis.target_tokens), 5)
    assert result.text == translator.translate(["abcde"])[0].text


@pytest.mark.filterwarnings("ignore::keras_attention.text.repair.RepairWarning")
@pytest.mark.parametrize("beam_width", [1, 3])
def test_odd_strings_are_answered(translator, beam_width):
    results = translator.translate(ODD, beam_width)
    assert len(results) == len(ODD)
    for text, result in zip(ODD, results, strict=True):
        assert set(result.text) <= set("abcde")
        assert np.isfinite(result.log_probability)
        shape = (len(result.target_tokens), len(result.source_tokens))
        assert result.attention_weights.shape == shape
        sums = result.attention_weights.sum(axis=1)
        np.testing.assert_allclose(sums, 1.0 if result.source_tokens else 0.0, atol=1e-4)
        if isinstance(text, str) and text.isprintable():
            assert "".join(result.source_tokens) == text
    assert results[ODD.index("")].source_tokens == ()
    assert results[ODD.index("a\0b")].source_tokens == ("a", "\0", "b")


@pytest.mark.filterwarnings("ignore::keras_attention.text.repair.RepairWarning")
def test_all_unknown_characters_are_one(translator):
    texts = ["azb", "a나b", "a\0b", "a\ufffdb", b"a\xffb", "a\U0001f408b"]
    seen_alike = translator.translate(texts)
    assert len({result.text for result in seen_alike}) == 1
    scores = [result.log_probability for result in seen_alike]
    np.testing.assert_allclose(scores, scores[0], atol=1e-5)


def assert_same_translation(result, expected):
    for name in ("text", "source_tokens", "target_tokens"):
        assert getattr(result, name) == getattr(expected, name)
    np.testing.assert_allclose(result.log_probability, expected.log_probability, atol=1e-4)
    np.testing.assert_allclose(result.confidence, expected.confidence, atol=1e-4)
    np.testing.assert_allclose(result.attention_weights, expected.attention_weights, atol=1e-5)


@pytest.mark.parametrize("beam_width", [1, 3])
def test_a_text_is_answered_alone_as_among_others(translator, beam_width):
    texts = ["a", "edcba", "", "bb", "abc", "zz", "ccccc", "ab" * 20]
    together = translator.translate(texts, beam_width)
    for text, expected in zip(texts, together, strict=True):
        alone = translator.translate([text], beam_width)[0]
        assert_same_translation(alone, expected)
        for one, other in zip(alone.alternatives, expected.alternatives, strict=True):
            assert one.text == other.text


LOAD = """
import json, sys
import numpy as np
import keras_attention
for folder in sys.argv[1:]:
    translator = keras_attention.Translator.load(folder, engine="tensorflow")
    with open(folder + "/expected.json") as file:
        expected = json.load(file)
    results = translator.translate(expected["texts"])
    assert [result.text for result in results] == expected["answers"]
    np.testing.assert_array_equal(
        [result.log_probability for result in results], expected["log_probabilities"]
    )
    for result, weights in zip(results, expected["weights"]):
        if weights is None:
            assert result.attention_weights is None
        else:
            np.testing.assert_array_equal(result.attention_weights.ravel(), np.float32(weights))
    print("equal")
"""


@pytest.mark.slow
def test_a_new_process_gives_the_same_for_every_kind(tmp_path):
    """Text, score and weights before saving and after loading elsewhere, to the last bit."""
    folders = []
    for number, kind in enumerate(KINDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        config = config_of(kind, longest_output=6)
        model = model_of(config)
        vocabularies = Vocabulary("char", tuple("abcde")), Vocabulary("char", tuple("wxyz"))
        inference = InferenceModel.from_training_model(model, config, 6)
        texts = ["abc", "", "edcba" * 3, "zebra"]
        results = Translator(RunReader(inference, *vocabularies)).translate(texts)
        save_model(folder, model)
        save_vocabularies(folder / VOCABULARY, *vocabularies)
        (folder / CONFIG).write_text(config.to_json())
        expected = {
            "texts": texts,
            "answers": [result.text for result in results],
            "log_probabilities": [result.log_probability for result in results],
            "weights": [
                None
                if result.attention_weights is None
                else result.attention_weights.ravel().tolist()
                for result in results
            ],
        }
        (folder / "expected.json").write_text(json.dumps(expected))
        folders.append(str(folder))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["equal"] * len(KINDS), done.stderr[-3000:]


@pytest.mark.parametrize("batches_at_once", [1, 2])
def test_progress_counts_the_texts_that_are_translated(batches_at_once, monkeypatch):
    monkeypatch.setattr("keras_attention.readers.translator.ROWS_PER_BATCH", 2)
    told = []
    texts = ["a" * length for length in range(1, 8)]
    Translator(Slow(batches_at_once)).translate(texts, progress=lambda *done: told.append(done))
    assert told[-1] == (7, 7) and len(told) == 4
    assert [done for done, _ in told] == sorted(done for done, _ in told)
