"""The SavedModel against the contract and TF Serving's rules, by plain TensorFlow alone."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.errors import UserError
from keras_attention.evaluation.parity import HOSTILE_SOURCES, compare
from keras_attention.export.saved_model import check_operators, write_saved_model
from keras_attention.models.inference import InferenceModel
from keras_attention.readers.run_reader import RunReader
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import Translator
from keras_attention.text.repair import clean
from tests.support import ROOT
from tests.support.exports import (
    BEAM_WIDTH,
    LONGEST_OUTPUT,
    folder_for_tests,
    random_export,
    random_run,
    random_texts,
    run_python,
    version_folder,
)

K, T = BEAM_WIDTH, LONGEST_OUTPUT
SCORED = {
    "text": ("DT_STRING", "(-1)"),
    "log_probability": ("DT_FLOAT", "(-1)"),
    "confidence": ("DT_FLOAT", "(-1)"),
}
SOURCE = {"source_tokens": ("DT_STRING", "(-1, -1)"), "source_length": ("DT_INT32", "(-1)")}
CONTRACT = {
    "serving_default": SCORED,
    "attention": SCORED
    | SOURCE
    | {
        "target_tokens": ("DT_STRING", f"(-1, {T})"),
        "target_length": ("DT_INT32", "(-1)"),
        "attention_weights": ("DT_FLOAT", f"(-1, {T}, -1)"),
        "token_confidence": ("DT_FLOAT", f"(-1, {T})"),
    },
    "beam": SOURCE
    | {
        "text": ("DT_STRING", f"(-1, {K})"),
        "log_probability": ("DT_FLOAT", f"(-1, {K})"),
        "confidence": ("DT_FLOAT", f"(-1, {K})"),
        "target_tokens": ("DT_STRING", f"(-1, {K}, {T})"),
        "target_length": ("DT_INT32", f"(-1, {K})"),
        "attention_weights": ("DT_FLOAT", f"(-1, {K}, {T}, -1)"),
        "token_confidence": ("DT_FLOAT", f"(-1, {K}, {T})"),
    },
}
# `tensorflow_serving/util/json_tensor.cc` writes these types and no other.
JSON_WRITABLE = {
    *(tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint32, tf.uint64, tf.string, tf.bool),
}


@pytest.fixture(scope="module")
def exported():
    return random_export()


@pytest.fixture(scope="module")
def run(exported):
    return exported[0]


@pytest.fixture(scope="module")
def version(exported):
    return version_folder(exported[1])


@pytest.fixture(scope="module")
def signatures(version):
    loaded = tf.saved_model.load(str(version))
    return {name: function for name, function in loaded.signatures.items()}


@pytest.fixture(scope="module")
def texts(run) -> list[bytes]:
    hostile = [t if isinstance(t, bytes) else t.encode() for t in HOSTILE_SOURCES]
    return [*hostile, *(text.encode() for text in random_texts(run.source, 60, seed=5))]


def shown(version: pathlib.Path) -> dict:
    """What `saved_model_cli show` prints: {signature: {side: {name: (type, shape)}}}."""
    command = [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "show"]
    finished = subprocess.run(
        [*command, "--dir", version, "--all"], capture_output=True, text=True, check=True
    )
    definitions = finished.stdout.split("Concrete Functions")[0].split("signature_def['")[1:]
    found = {}
    for definition in definitions:
        name, _, body = definition.partition("']")
        assert "tensorflow/serving/predict" in body or name.startswith("__")
        found[name] = {"inputs": {}, "outputs": {}}
        for side, tensor, dtype, shape in re.findall(
            r"(inputs|outputs)\['(\w+)'\] tensor_info:\s+dtype: (\w+)\s+shape: (.*)", body
        ):
            found[name][side][tensor] = (dtype, shape)
    found.pop("__saved_model_init_op")
    return found


def definitions(version: pathlib.Path) -> dict:
    """{signature: {tensor: (name in the graph, type)}} as the file holds them."""
    proto = saved_model_pb2.SavedModel.FromString((version / "saved_model.pb").read_bytes())
    return {
        key: {
            name: (tensor.name, tensor.dtype)
            for side in (definition.inputs, definition.outputs)
            for name, tensor in side.items()
        }
        for key, definition in proto.meta_graphs[0].signature_def.items()
    }


def call(signatures, name: str, texts) -> dict[str, np.ndarray]:
    outputs = signatures[name](text=tf.constant(texts, tf.string, [len(texts)]))
    return {key: value.numpy() for key, value in outputs.items()}


def test_saved_model_cli_shows_the_contract(version):
    inputs = {"text": ("DT_STRING", "(-1)")}
    expected = {name: {"inputs": inputs, "outputs": outputs} for name, outputs in CONTRACT.items()}
    assert shown(version) == expected


def test_two_exports_in_one_process_give_the_same_names(version, run, tmp_path):
    for folder in ("first", "second"):
        write_saved_model(run, tmp_path / folder, "NAME", K, 0.0)
    first, second = (definitions(tmp_path / folder) for folder in ("first", "second"))
    assert first == second == definitions(version)


def test_tf_serving_can_write_each_output_as_json_rows(signatures, texts):
    for name in CONTRACT:
        for key, value in signatures[name](text=tf.constant(texts)).items():
            assert value.dtype in JSON_WRITABLE
            assert value.dtype == tf.float32 or not value.dtype.is_floating
            assert value.shape[0] == len(texts), "row format needs one first dimension"
            # A name that ends so is written in base 64.
            assert not key.endswith("_bytes")


def test_strings_are_valid_utf8_and_numbers_finite(signatures, texts):
    for name in CONTRACT:
        for key, value in call(signatures, name, texts).items():
            if value.dtype == object:
                for string in value.ravel():
                    string.decode("utf-8")
            else:
                assert np.isfinite(value).all(), f"{name} {key}: JSON has no NaN or infinity"


def test_the_file_suits_a_plain_and_an_older_server(version):
    proto = saved_model_pb2.SavedModel.FromString((version / "saved_model.pb").read_bytes())
    (graph,) = proto.meta_graphs
    assert list(graph.meta_info_def.tags) == ["serve"]
    assert graph.meta_info_def.stripped_default_attrs
    assert graph.graph_def.versions.min_consumer <= 12
    assert not list((version / "assets").iterdir())
    text = (version / "batching_params.pbtxt").read_text()
    assert re.fullmatch(r"(\w+ \{ value: \d+ \}\n)+", text)


def test_no_texts_at_all(signatures):
    empty = {name: call(signatures, name, []) for name in CONTRACT}
    assert empty["serving_default"]["text"].shape == (0,)
    assert empty["attention"]["attention_weights"].shape == (0, T, 0)
    assert empty["beam"]["attention_weights"].shape == (0, K, T, 0)
    for outputs in empty.values():
        assert all(len(value) == 0 for value in outputs.values())


def test_empty_texts_alone_have_no_columns(signatures):
    outputs = call(signatures, "attention", [b"", b""])
    assert outputs["attention_weights"].shape == (2, T, 0)
    assert outputs["source_length"].tolist() == [0, 0]
    assert call(signatures, "beam", [b""])["attention_weights"].shape == (1, K, T, 0)


@pytest.mark.filterwarnings("ignore::keras_attention.text.repair.RepairWarning")
def test_same_text_scores_and_attention_as_keras(exported, run, texts):
    keras_model = Translator(RunReader.load(run.config.out))
    saved_model = Translator(SavedModelReader(exported[1]))
    for width in (1, K):
        parity = compare(keras_model.translate(texts, width), saved_model.translate(texts, width))
        assert parity.holds, parity.first_difference
        assert parity.same_text == len(texts)


def test_the_signatures_say_the_same(signatures, texts):
    plain, attention = (call(signatures, name, texts) for name in ("serving_default", "attention"))
    for key, value in plain.items():
        if value.dtype == object:
            assert value.tolist() == attention[key].tolist()
        else:
            np.testing.assert_allclose(value, attention[key], atol=1e-5)


@pytest.mark.parametrize("name", ["attention", "beam"])
def test_tokens_lengths_and_attention_belong_together(signatures, run, texts, name):
    """Tokens as written, sums of 1, padding exactly 0, and nothing that must not be said: in this
    model padding, start and unknown would be the likeliest of all."""
    outputs = call(signatures, name, texts)
    known = set(run.target.tokens)
    for row, text in enumerate(texts):
        source_length = outputs["source_length"][row]
        written = [token.decode() for token in outputs["source_tokens"][row]]
        assert written[:source_length] == list(clean(text))
        assert set(written[source_length:]) <= {""}
        for place in np.ndindex(outputs["text"].shape[1:]):
            at = (row, *place)
            length = outputs["target_length"][at]
            tokens = [token.decode() for token in outputs["target_tokens"][at]]
            assert "".join(tokens[:length]) == outputs["text"][at].decode()
            assert set(tokens[:length]) <= known and set(tokens[length:]) <= {""}
            weights = outputs["attention_weights"][at]
            if source_length:
                sums = weights[:length, :source_length].sum(axis=1)
                np.testing.assert_allclose(sums, 1, atol=1e-5)
            assert not weights[length:].any() and not weights[:, source_length:].any()
    assert len(set(outputs["target_length"].ravel())) > 4, "a test of one length proves little"


def test_confidence_is_the_probability_of_the_text(signatures, texts):
    for name in CONTRACT:
        outputs = call(signatures, name, texts)
        expected = np.exp(outputs["log_probability"].astype(np.float64))
        np.testing.assert_allclose(outputs["confidence"], expected, rtol=1e-5)
        assert (outputs["log_probability"] <= 0).all()


def test_hypotheses_are_distinct_and_best_first(signatures, texts):
    outputs = call(signatures, "beam", texts)
    assert (np.diff(outputs["log_probability"], axis=1) <= 0).all()
    assert all(len(set(row)) == K for row in outputs["text"].tolist())


@pytest.mark.parametrize("name", CONTRACT)
def test_a_row_does_not_depend_on_the_others(signatures, run, name):
    """Alone, among 64 of which some are far longer, and in another order."""
    texts = [text.encode() for text in random_texts(run.source, 60, seed=9)]
    texts += [text.encode() for text in random_texts(run.source, 3, seed=10, longest=300)] + [b""]
    together = call(signatures, name, texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = call(signatures, name, [texts[i] for i in order])
    for place, i in enumerate(order):
        alone = call(signatures, name, [texts[i]])
        for key, value in alone.items():
            for other in (together[key][i], shuffled[key][place]):
                if key in ("attention_weights", "source_tokens"):  # as wide as the longest row
                    other = other[..., : value.shape[-1]]
                if value.dtype == object:
                    np.testing.assert_array_equal(other, value[0])
                else:
                    np.testing.assert_allclose(other, value[0], atol=1e-5)


def test_plain_tensorflow_answers_after_the_folder_was_moved_and_the_run_deleted(tmp_path):
    """In a process that cannot import this package; word-level, so with a table."""
    run = random_run(seed=4, tokens=("word", "word"), attention="general")
    made = tmp_path / "made" / "1"
    write_saved_model(run, made, "NAME", K, 0.0)
    texts = random_texts(run.source, 8)
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    expected = Translator(RunReader(model, run.source, run.target)).translate(texts)
    moved = tmp_path / "moved elsewhere"
    shutil.move(made, moved)
    shutil.rmtree(made.parent)
    code = """
import json
import tensorflow as tf
signatures = tf.saved_model.load(sys.argv[1]).signatures
texts = json.loads(sys.argv[2])
outputs = signatures["attention"](text=tf.constant(texts))
print(json.dumps([
    [text.decode() for text in outputs["text"].numpy().tolist()],
    outputs["log_probability"].numpy().tolist(),
    outputs["attention_weights"].numpy().sum(axis=(1, 2)).tolist(),
]))
for name in ("serving_default", "beam"):
    signatures[name](text=tf.constant(texts))
"""
    output = run_python(code, moved, json.dumps(texts), blocked=("keras_attention",))
    texts_there, scores, sums = json.loads(output)
    assert texts_there == [t.text for t in expected]
    np.testing.assert_allclose(scores, [t.log_probability for t in expected], atol=1e-4)
    np.testing.assert_allclose(sums, [len(t.target_tokens) for t in expected], atol=1e-4)


def test_the_block_on_imports_bites():
    code = "import importlib.util\nprint(importlib.util.find_spec('json') is not None)\n"
    assert run_python(code, blocked=("keras_attention",)) == "True\n"
    with pytest.raises(AssertionError, match="blocked: keras_attention"):
        root = str(ROOT)
        run_python("import keras_attention", blocked=("keras_attention",), path=root)


@pytest.mark.parametrize("attention", ["none", "peeky"])
def test_a_model_without_attention_has_no_attention_anywhere(attention):
    run = random_run(seed=3, attention=attention)
    folder = folder_for_tests() / f"saved-{attention}" / "1"
    write_saved_model(run, folder, "NAME", K, 0.0)
    signatures = tf.saved_model.load(str(folder)).signatures
    assert set(signatures) == {"serving_default", "beam"}
    texts = [text.encode() for text in random_texts(run.source, 12)] + [b""]
    assert set(call(signatures, "beam", texts)) == set(CONTRACT["beam"]) - {"attention_weights"}
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    expected = Translator(RunReader(model, run.source, run.target)).translate(texts, K)
    outputs = call(signatures, "beam", texts)
    for row, translation in enumerate(expected):
        hypotheses = [translation, *translation.alternatives]
        assert [t.decode() for t in outputs["text"][row]] == [h.text for h in hypotheses]
        scores = [h.log_probability for h in hypotheses]
        np.testing.assert_allclose(outputs["log_probability"][row], scores, atol=1e-4)
        assert all(h.attention_weights is None for h in hypotheses)


def test_a_beam_wider_than_the_alphabet_and_a_length_penalty(tmp_path):
    run = random_run(seed=6, encoder="gru", bidirectional=False, reverse_source=True)
    width = len(run.target) + 10
    write_saved_model(run, tmp_path / "1", "NAME", width, 0.7)
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    texts = [text.encode() for text in random_texts(run.source, 4)] + [b""]
    outputs = call(signatures, "beam", texts)
    assert outputs["text"].shape == (5, width)
    ranks = outputs["log_probability"] / np.minimum(outputs["target_length"] + 1, T) ** 0.7
    assert (np.diff(ranks, axis=1) <= 1e-6).all(), "best first by the length-normalised score"
    model = InferenceModel.from_training_model(run.model, run.config, run.config.longest_output)
    ours = Translator(RunReader(model, run.source, run.target)).translate(texts, width, 0.7)
    for row, translation in enumerate(ours):
        hypotheses = [translation, *translation.alternatives]
        assert [t.decode() for t in outputs["text"][row]] == [h.text for h in hypotheses]


@pytest.mark.parametrize("operator", ["CudnnRNNV3", "PyFunc", "EagerPyFunc"])
@pytest.mark.parametrize("place", ["graph", "function"])
def test_operators_that_a_plain_server_lacks_are_seen(version, tmp_path, operator, place):
    check_operators(version)
    proto = saved_model_pb2.SavedModel.FromString((version / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    nodes = graph.node if place == "graph" else graph.library.function[0].node_def
    nodes.add(name="bad", op=operator)
    (tmp_path / "saved_model.pb").write_bytes(proto.SerializeToString())
    with pytest.raises(RuntimeError, match=operator):
        check_operators(tmp_path)


class TestReader:
    @pytest.fixture
    def copy(self, exported, tmp_path):
        return pathlib.Path(shutil.copytree(exported[1], tmp_path / "export"))

    def manifest(self, copy, **changed):
        path = copy / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    def test_a_width_that_it_was_not_made_with(self, exported):
        translator = Translator(SavedModelReader(exported[1]))
        with pytest.raises(UserError, match=f"--beam-width: this export decodes with {K}"):
            translator.translate(["a"], K + 1)
        with pytest.raises(UserError, match="--length-penalty: this export was made with 0"):
            translator.translate(["a"], K, 0.5)

    def test_its_own_penalty_without_being_asked(self, copy):
        self.manifest(copy, length_penalty=0.5)
        assert len(Translator(SavedModelReader(copy)).translate(["a"], K)[0].alternatives) == K - 1

    @pytest.mark.parametrize(
        "content, what",
        [
            (None, "no finished export"),
            ("{", "damaged"),
            ("[]", "damaged"),
            ('{"format": 9}', "format"),
        ],
    )
    def test_a_missing_or_damaged_manifest(self, copy, content, what):
        (copy / "manifest.json").unlink()
        if content is not None:
            (copy / "manifest.json").write_text(content)
        with pytest.raises(UserError, match=what):
            SavedModelReader(copy)

    @pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index"])
    def test_a_damaged_version(self, copy, name):
        (version_folder(copy) / name).write_bytes(b"\xff" * 100)
        with pytest.raises(UserError, match="cannot be loaded"):
            SavedModelReader(copy)

    def test_no_version(self, copy):
        shutil.rmtree(version_folder(copy))
        with pytest.raises(UserError, match="holds no version"):
            SavedModelReader(copy)

    def test_the_version_that_the_manifest_describes_else_the_newest(self, copy):
        described = version_folder(copy)
        later = shutil.copytree(described, described.with_name("7"))
        (pathlib.Path(later) / "saved_model.pb").write_bytes(b"\xff")
        assert SavedModelReader(copy).translate_batch(["a"])
        shutil.rmtree(described)
        with pytest.raises(UserError, match="/7: cannot be loaded"):
            SavedModelReader(copy)
