"""The LiteRT files: builtin operators only, the Keras model's answers, nothing else installed."""

import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.interpreter import Interpreter
from packaging.requirements import Requirement  # pytest brings it

from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES, compare
from keras_attention.export.litert import check_operators, check_shapes, write_litert
from keras_attention.models.inference import InferenceModel
from keras_attention.models.training_model import build_training_model
from keras_attention.readers.litert_reader import LiteRTReader
from keras_attention.readers.run import Run
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.translator import Translator
from keras_attention.text.vocabulary import RESERVED, Vocabulary
from tests.support import ROOT
from tests.support.exports import (
    LONGEST_OUTPUT,
    folder_for_tests,
    random_export,
    random_run,
    random_texts,
    run_python,
)
from tests.support.texts import CHARACTERS

S, T = 64, LONGEST_OUTPUT


def keras_translator(run: Run) -> Translator:
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    return Translator(RunReader(model, run.source, run.target))


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture(scope="module")
def run(exported):
    return exported[0]


@pytest.fixture(scope="module")
def file(exported):
    (path,) = set((exported[1] / "litert").glob("*.tflite")) - set(
        (exported[1] / "litert").glob("*.int8.tflite")
    )
    return path


@pytest.fixture(scope="module")
def translator(file):
    return Translator.load(file)


@pytest.fixture(scope="module")
def greedy(file):
    return Interpreter(model_path=str(file)).get_signature_runner("greedy")


def code_points(*points: int) -> np.ndarray:
    padded = np.zeros((1, S), np.int32)
    padded[0, : len(points)] = points
    return padded


def with_quantised(file: pathlib.Path) -> list[pathlib.Path]:
    return [file, file.with_suffix(".int8.tflite")]


def test_one_signature_with_the_names_types_and_shapes_of_the_contract(file):
    for path in with_quantised(file):
        interpreter = Interpreter(model_path=str(path))
        outputs = ["attention_weights", "code_points", "confidence", "log_probability"]
        outputs.append("token_confidence")
        (signature,) = interpreter.get_signature_list().items()
        assert signature == ("greedy", {"inputs": ["code_points"], "outputs": outputs})
        runner = interpreter.get_signature_runner("greedy")
        details = {**runner.get_input_details(), "in": runner.get_input_details()["code_points"]}
        details |= runner.get_output_details()
        assert {name: (d["dtype"], tuple(d["shape"])) for name, d in details.items()} == {
            "in": (np.int32, (1, S)),
            "code_points": (np.int32, (1, T)),
            "attention_weights": (np.float32, (1, T, S)),
            "token_confidence": (np.float32, (1, T)),
            "log_probability": (np.float32, (1,)),
            "confidence": (np.float32, (1,)),
        }


def test_a_phone_needs_code_points_and_nothing_else(greedy, run):
    """As a caller without this package does it: a zero-padded array in, arrays out."""
    for text, expected in zip(
        texts := random_texts(run.source, 20), keras_translator(run).translate(texts), strict=True
    ):
        outputs = greedy(code_points=code_points(*map(ord, text)))
        answer = outputs["code_points"][0]
        length = np.count_nonzero(answer)
        assert "".join(map(chr, answer[:length])) == expected.text
        assert not answer[length:].any()
        weights = outputs["attention_weights"][0]
        np.testing.assert_allclose(weights[:length, : len(text)].sum(axis=1), 1, atol=1e-5)
        assert not weights[length:].any() and not weights[:, len(text) :].any()
        np.testing.assert_allclose(
            outputs["confidence"][0], np.exp(outputs["log_probability"][0]), rtol=1e-5
        )


@pytest.mark.filterwarnings("ignore::keras_attention.text.repair.RepairWarning")
def test_same_answers_as_keras(run, translator):
    texts = [t for t in HOSTILE_SOURCES if len(t) <= S] + random_texts(run.source, 60, 3, S)
    parity = compare(keras_translator(run).translate(texts), translator.translate(texts))
    assert parity.holds, parity.first_difference
    assert parity.same_text == parity.n == len(texts)


def test_a_compiled_model_gives_the_same_as_the_interpreter(file, translator, run):
    """LiteRT's newer interface, that of LiteRT.js, bears less than the interpreter: where a shape
    depends on the input its answers are wrong from the second call on."""
    texts = [*random_texts(run.source, 6, seed=2, longest=S), "", "a"]
    for path in with_quantised(file):
        model = CompiledModel.from_file(str(path))
        names = model.get_signature_list()["greedy"]["outputs"]
        sizes = {"code_points": (T, np.int32), "attention_weights": (T * S, np.float32)}
        sizes["token_confidence"] = (T, np.float32)
        for expected in Translator.load(path).translate(texts):
            inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
            inputs[0].write(code_points(*map(ord, expected.source_tokens)))
            model.run_by_index(0, inputs, outputs)
            answer = {
                name: buffer.read(*sizes.get(name, (1, np.float32)))
                for name, buffer in zip(names, outputs, strict=True)
            }
            length = len(expected.target_tokens)
            assert "".join(map(chr, answer["code_points"][:length])) == expected.text
            assert not answer["code_points"][length:].any()
            assert answer["log_probability"][0] == pytest.approx(expected.log_probability, abs=1e-4)
            weights = np.reshape(answer["attention_weights"], (T, S))
            np.testing.assert_allclose(
                weights[:length, : len(expected.source_tokens)],
                expected.attention_weights,
                atol=1e-4,
            )


def test_an_answer_does_not_depend_on_the_one_before(translator, run):
    short, long = random_texts(run.source, 1)[0], CHARACTERS[-1] * S
    first, _, again = translator.translate([short, long, short])
    assert first.text == again.text and first.log_probability == again.log_probability
    np.testing.assert_array_equal(first.attention_weights, again.attention_weights)


def test_a_source_that_is_too_long_is_cut_with_a_warning(translator, run):
    exact = (random_texts(run.source, 1, seed=8, longest=200)[0] * S)[:S]
    (expected,) = translator.translate([exact])  # no warning, or the test would end here
    with pytest.warns(UserWarning, match=rf"a source of {S + 3} tokens was cut to the {S}"):
        (cut,) = translator.translate([exact + "abc"])
    assert cut.source_tokens == tuple(exact) and cut.text == expected.text
    assert cut.log_probability == expected.log_probability


def test_each_of_several_sources_that_are_too_long_is_warned_of(translator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        translator.translate(["a" * 70, "b" * 70])
    assert len(caught) == 2


def test_nul_is_unknown_and_never_padding(translator, greedy, run):
    strange = ["\0", "a\0b", "ab\0", "\0\0ab"]
    others = [text.replace("\0", "ж") for text in strange]
    pairs = zip(translator.translate(strange), translator.translate(others), strict=True)
    for nul, unknown in pairs:
        assert nul.text == unknown.text and nul.log_probability == unknown.log_probability
        assert len(nul.source_tokens) == nul.attention_weights.shape[1]
    empty, one = translator.translate(["", "\0"])
    assert empty.log_probability != one.log_probability
    # A caller without the package who sends U+0000 between characters gets the same.
    raw = greedy(code_points=code_points(ord("a"), 0, ord("b")))
    assert raw["log_probability"][0] == translator.translate(["aжb"])[0].log_probability


def test_characters_that_no_vocabulary_holds_are_unknown(greedy):
    answers = [
        greedy(code_points=code_points(ord("a"), point))["log_probability"][0]
        for point in (ord("ж"), 0x10FFFF, 0xD800, -1, -5, 2**31 - 1, 4, 5)
    ]
    assert len(set(answers)) == 1  # 4 and 5 are ids of tokens, not their code points


def test_it_decodes_greedily_only(translator):
    with pytest.raises(UserError, match="--beam-width: a .tflite file decodes greedily"):
        translator.translate(["a"], 2)


class TestOperators:
    def convert(self, function, *specs, flex=False) -> bytes:
        concrete = tf.function(function, input_signature=specs).get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], concrete)
        if flex:
            kinds = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
            converter.target_spec.supported_ops = kinds
        return converter.convert()

    def test_all_are_builtins(self, file):
        for path in with_quantised(file):
            check_operators(path.read_bytes())
            check_shapes(path.read_bytes())

    def test_a_shape_that_depends_on_the_input_is_seen(self):
        def cut(numbers):
            return numbers[: tf.reduce_sum(tf.cast(numbers > 0, tf.int32))] * 2

        model = self.convert(cut, tf.TensorSpec([8], tf.int32))
        check_operators(model)
        with pytest.raises(RuntimeError, match="shapes depend on the input"):
            check_shapes(model)

    def test_a_flex_operator_is_seen(self):
        spec = tf.TensorSpec([2, 2], tf.float32)
        model = self.convert(tf.linalg.det, spec, flex=True)
        with pytest.raises(RuntimeError, match="FlexMatrixDeterminant"):
            check_operators(model)
        with pytest.raises(RuntimeError, match="Flex"):  # and this is how it would end on a phone
            interpreter = Interpreter(model_content=model)
            interpreter.allocate_tensors()

    def test_a_builtin_model_passes(self):
        check_operators(self.convert(tf.nn.relu, tf.TensorSpec([2], tf.float32)))


# Each pair of values of two options stands in at least one row.
OPTIONS = ("encoder", "bidirectional", "layers", "attention", "reverse_source", "initial_state")
MODELS = [
    ("lstm", True, 2, "dot", True, "hidden"),
    ("gru", False, 1, "dot", False, "full"),
    ("gru", True, 2, "general", False, "full"),
    ("lstm", False, 1, "general", True, "hidden"),
    ("lstm", False, 2, "additive", False, "full"),
    ("gru", True, 1, "additive", True, "hidden"),
    ("gru", False, 2, "scaled_dot", True, "hidden"),
    ("lstm", True, 1, "scaled_dot", False, "full"),
    ("lstm", True, 1, "none", True, "full"),
    ("gru", False, 2, "none", False, "hidden"),
    ("gru", True, 1, "peeky", False, "hidden"),
    ("lstm", False, 2, "peeky", True, "full"),
]
QUICK = 2


def converted(run: Run, longest_source: int = 24) -> pathlib.Path:
    folder = folder_for_tests() / f"litert-{pathlib.Path(run.config.out).name}"
    folder.mkdir()
    write_litert(run, folder, "NAME", longest_source)
    return folder / "NAME.tflite"


def check_conversion(run: Run) -> LiteRTReader:
    path = converted(run)
    reader = LiteRTReader(path)
    texts = [*random_texts(run.source, 30, longest=24), ""]
    parity = compare(keras_translator(run).translate(texts), Translator(reader).translate(texts))
    assert parity.holds, parity.first_difference
    quantised = Translator.load(path.with_suffix(".int8.tflite")).translate(texts)
    assert all(np.isfinite(t.log_probability) for t in quantised)
    assert len({t.text for t in quantised}) > 1
    return reader


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(
            row, marks=[pytest.mark.slow] if i >= QUICK else [], id="-".join(map(str, row))
        )
        for i, row in enumerate(MODELS)
    ],
)
def test_every_kind_of_model_converts_and_agrees(values):
    options = dict(zip(OPTIONS, values, strict=True))
    reader = check_conversion(random_run(seed=11, **options))
    assert reader.has_attention == (options["attention"] not in ("none", "peeky"))


def test_the_kinds_of_model_cover_every_pair_of_options():
    for i in range(len(OPTIONS)):
        for j in range(i):
            pairs = {(row[i], row[j]) for row in MODELS}
            kinds = [len({row[k] for row in MODELS}) for k in (i, j)]
            assert len(pairs) >= kinds[0] * kinds[1] - ("attention" in (OPTIONS[i], OPTIONS[j])) * 4


@pytest.mark.parametrize(
    "tokens",
    [
        ("word", "word"),
        *(pytest.param(t, marks=pytest.mark.slow) for t in (("char", "word"), ("word", "char"))),
    ],
    ids="-".join,
)
def test_a_word_level_side_uses_token_ids_and_the_vocabulary_of_the_json_file(tokens):
    run = random_run(seed=12, tokens=tokens, attention="general")
    reader = check_conversion(run)
    name_of = {"char": "code_points", "word": "token_ids"}
    path = folder_for_tests() / f"litert-{pathlib.Path(run.config.out).name}" / "NAME.tflite"
    runner = Interpreter(model_path=str(path)).get_signature_runner("greedy")
    assert list(runner.get_input_details()) == [name_of[tokens[0]]]
    assert name_of[tokens[1]] in runner.get_output_details()
    description = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for side, kind, vocabulary in zip(
        ("source", "target"), tokens, (run.source, run.target), strict=True
    ):
        assert description[f"{side}_tokens"] == kind
        entries = description.get(f"{side}_vocabulary")
        assert (entries is None) == (kind == "char")
        if entries:
            assert entries[: len(RESERVED)] == [None] * len(RESERVED)
            assert entries[len(RESERVED) :] == list(vocabulary.tokens)
    if tokens[0] == "word":
        text = random_texts(run.source, 1)[0]
        ids = np.zeros((1, 24), np.int32)
        index = {token: i for i, token in enumerate(description["source_vocabulary"]) if token}
        ids[0, : len(text.split())] = [index.get(word, 3) for word in text.split()]
        score = runner(token_ids=ids)["log_probability"][0]
        assert score == reader.translate_batch([text])[0].log_probability


def test_the_description_says_what_a_caller_must_know(file):
    description = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    least = [int(part) for part in description.pop("least_runtime").split(".")]
    assert [2, 0, 0] <= least <= [3, 0, 0]
    assert set(description.pop("least_runtimes")) == {file.name, f"{file.stem}.int8.tflite"}
    assert description == {
        "format": 1,
        "signature": "greedy",
        "longest_source": S,
        "longest_output": T,
        "source_tokens": "char",
        "target_tokens": "char",
        "normal_form": "none",
        "confidence_means": "right",
        "confidence": "the probability that the answer is right to the last character",
        "calibration": None,
    }


@pytest.mark.slow
def test_the_default_model_is_small(tmp_path):
    """936 characters' worth of vocabulary changes little; the book's dates have some 60."""
    config = Config(longest_output=13)
    source = Vocabulary("char", tuple(chr(i) for i in range(0x21, 0x21 + 80)))
    target = Vocabulary("char", tuple("-0123456789"))
    model = build_training_model(config, len(source), len(target))
    write_litert(Run(config, source, target, model), tmp_path, "NAME", S)
    assert (tmp_path / "NAME.tflite").stat().st_size <= 1_200_000
    assert (tmp_path / "NAME.int8.tflite").stat().st_size <= 300_000


def site_with_only(folder: pathlib.Path, *distributions: str) -> set[str]:
    """Links to what the distributions and those that they need installed; returns their names."""
    wanted, seen = list(distributions), set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files if file.parts[0] != ".."}:
            if not (folder / top).exists() and top != "__pycache__":
                (folder / top).symlink_to(distribution.locate_file(top))
        for requirement in map(Requirement, distribution.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                wanted.append(requirement.name)
    return seen


def test_numpy_and_ai_edge_litert_are_all_that_is_needed(file, translator, tmp_path):
    """A Python without site-packages but for these two and what they themselves depend on."""
    there = site_with_only(tmp_path, "numpy", "ai-edge-litert")
    assert not {"tensorflow", "tensorflow-cpu", "keras", "matplotlib"} & there
    (tmp_path / "keras_attention").symlink_to(ROOT / "keras_attention")
    code = """
import sys, json
from keras_attention import Translator
result = Translator.load(sys.argv[1]).translate(["abc"])[0]
print(json.dumps([result.text, result.log_probability, result.attention_weights.tolist()]))
try:
    import tensorflow
except ImportError:
    print("no TensorFlow")
"""
    finished = subprocess.run(
        [sys.executable, "-S", "-c", code, file],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    answer, note = finished.stdout.splitlines()
    (expected,) = translator.translate(["abc"])
    text, score, weights = json.loads(answer)
    assert (text, score) == (expected.text, expected.log_probability) and note == "no TensorFlow"
    np.testing.assert_array_equal(np.float32(weights), expected.attention_weights)


def test_where_tensorflow_is_installed_it_is_not_imported(file):
    code = """
from keras_attention import Translator
Translator.load(sys.argv[1]).translate(["abc"])
print(sorted({"tensorflow", "keras", "matplotlib", "torch", "jax"} & set(sys.modules)))
"""
    assert run_python(code, file, blocked=("tensorflow", "keras"), path=str(ROOT)) == "[]\n"


class TestDamage:
    def test_no_file(self, tmp_path):
        with pytest.raises(UserError, match="no such file"):
            LiteRTReader(tmp_path / "x.tflite")

    @pytest.mark.parametrize("content", [b"", b"x", b"TFL3" * 50, bytes(1000)])
    def test_not_a_model(self, tmp_path, content):
        (tmp_path / "x.tflite").write_bytes(content)
        with pytest.raises(UserError, match="is not a .tflite file"):
            LiteRTReader(tmp_path / "x.tflite")

    def test_cut_off_anywhere(self, file, tmp_path):
        content = file.read_bytes()
        for share in np.linspace(0.02, 0.98, 25):
            (tmp_path / "x.tflite").write_bytes(content[: int(share * len(content))])
            with pytest.raises(UserError, match="is not a .tflite file"):
                LiteRTReader(tmp_path / "x.tflite")

    def test_somebody_elses_model(self, tmp_path):
        model = TestOperators().convert(tf.nn.relu, tf.TensorSpec([2], tf.float32))
        (tmp_path / "x.tflite").write_bytes(model)
        with pytest.raises(UserError, match="signature 'greedy'"):
            LiteRTReader(tmp_path / "x.tflite")

    @pytest.mark.parametrize(
        "content",
        [
            *(None, "{", "[]", '{"format": 9}', "{}"),
            '{"format": 1, "normal_form": "none"}',  # no vocabularies
            '{"format": 1, "normal_form": "none", "source_vocabulary": [0, 0, 0, 0, 5]}',
        ],
    )
    def test_the_description_of_a_word_level_model(self, tmp_path, content):
        run = random_run(seed=12, tokens=("word", "word"), attention="general")
        made = folder_for_tests() / f"litert-{pathlib.Path(run.config.out).name}"
        if not made.exists():
            converted(run)
        shutil.copy(made / "NAME.int8.tflite", tmp_path)
        if content is not None:
            (tmp_path / "NAME.json").write_text(content)
        what = (
            "is missing" if content is None else "another format" if "9" in content else "damaged"
        )
        with pytest.raises(UserError, match=f"NAME.json: .*{what}"):
            LiteRTReader(tmp_path / "NAME.int8.tflite")
