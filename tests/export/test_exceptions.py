"""The dictionary beside a model: one file, the same answers from every reader."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attention.errors import UserError
from keras_attention.folders.saved_model_files import load_saved_model, read_meta_graph
from keras_attention.pairs.exceptions import EXCEPTIONS
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.readers.translator import Translator
from keras_attention.serving.loaded_version import LoadedVersion
from tests.support.commands import call_verb
from tests.support.exports import (
    BEAM_WIDTH,
    call_export,
    made_once,
    random_run,
    version_folder,
)

KINDS = [("char", "char"), ("word", "word"), ("subword", "subword")]
# Sources as a user writes them, with the key that the model reads them as, and the answers.
ENTRIES = {
    "char": {"abc": "가0", "a b": "not known: ñ"[:9], "é?": "b"},
    "word": {"a bb": "날짜 0", "nie gehört": "never heard of", "ccc": "a"},
    "subword": {"abé": "abb 가", "new": "ne w", "b가": "b"},
}


def export_of(tokens) -> pathlib.Path:
    folder = pathlib.Path(random_run(tokens=tokens).config.out)
    kind = tokens[0]

    def make(out):
        written = out.with_suffix(".tsv")
        entries = ENTRIES[kind].items()
        written.write_text("\ufeff" + "\r\n".join(f"{s}\t{a}" for s, a in entries) + "\n\n")
        finished = call_export(
            *(folder, "--out", out, "--beam-width", BEAM_WIDTH, "--exceptions", written)
        )
        assert finished.status == 0, finished.err
        assert "3 exceptions" in finished.out.splitlines()[-1]

    return made_once(f"exceptions-{kind}", make)


def readers(export):
    (litert,) = [p for p in (export / "litert").glob("*.tflite") if "int8" not in p.name]
    return {
        "engine": Translator.load(export, "numpy"),
        "SavedModel": Translator.load(export, "tensorflow"),
        "LiteRT": Translator.load(litert),
    }


@pytest.mark.parametrize("tokens", KINDS, ids="-".join)
def test_every_reader_answers_from_the_dictionary_and_says_so(tokens):
    entries = ENTRIES[tokens[0]]
    texts = [*entries, "c", "", "abcd"]
    for name, translator in readers(export_of(tokens)).items():
        results = translator.translate(texts)
        assert [r.text for r in results[:3]] == list(entries.values()), name
        assert [r.from_exceptions for r in results] == [True] * 3 + [False] * 3, name
        for result in results[:3]:
            assert (result.log_probability, result.confidence) == (0.0, 1.0)
            assert result.attention_weights.shape == (
                len(result.target_tokens),
                len(result.source_tokens),
            )
            assert not result.attention_weights.any()
    plain = Translator.load(random_run(tokens=tokens).config.out).translate(texts[3:])
    assert [r.text for r in results[3:]] == [r.text for r in plain]


@pytest.mark.parametrize("tokens", KINDS, ids="-".join)
def test_tokens_are_the_same_in_and_outside_of_the_graph(tokens):
    both = readers(export_of(tokens))
    engine, graph = (
        both[name].translate(list(ENTRIES[tokens[0]])) for name in ("engine", "SavedModel")
    )
    assert [r.target_tokens for r in engine] == [r.target_tokens for r in graph]
    assert [r.source_tokens for r in engine] == [r.source_tokens for r in graph]


def test_an_exception_is_its_beams_only_hypothesis():
    export = export_of(("char", "char"))
    for name in ("numpy", "tensorflow"):
        exception, other = Translator.load(export, name).translate(["abc", "c"], BEAM_WIDTH)
        assert (exception.text, exception.alternatives) == ("가0", ())
        assert len(other.alternatives) == BEAM_WIDTH - 1 and not other.from_exceptions


def test_words_count_as_the_model_reads_them():
    export = export_of(("word", "word"))
    for translator in readers(export).values():
        assert translator.translate(["  a \t bb "])[0].text == "날짜 0"


def test_the_signatures_tell_of_it_row_by_row():
    version = LoadedVersion(1, version_folder(export_of(("char", "char"))))
    for name in ("", "attention", "beam"):
        outputs = version.signature(name)([b"abc", b"c"])
        assert outputs["from_exceptions"].tolist() == [True, False]
    version.close()


def test_a_batch_changes_nothing():
    model = load_saved_model(version_folder(export_of(("char", "char"))))
    attention = model.signatures["attention"]
    texts = ["abc", "c", "a b"]
    together = attention(text=tf.constant(texts))
    for row, text in enumerate(texts):
        alone = attention(text=tf.constant([text]))
        assert together["text"][row] == alone["text"][0]
        length = int(alone["source_length"][0])
        np.testing.assert_allclose(
            together["attention_weights"][row, :, :length], alone["attention_weights"][0], atol=1e-6
        )


@pytest.fixture
def changed(tmp_path):
    return pathlib.Path(shutil.copytree(export_of(("char", "char")), tmp_path / "export"))


def test_the_file_can_be_edited_where_it_lies(changed):
    path = version_folder(changed) / EXCEPTIONS
    path.write_text(path.read_text().replace("\t가0", "\tda") + "neu\tda")
    for translator in readers(changed).values():
        assert [r.text for r in translator.translate(["abc", "neu"])] == ["da", "da"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("abc\tother", ":5: answers 'abc' otherwise than line 2"),
        ("\n", ":5: is blank"),
        ("no tab", ":5: expected source<TAB>target"),
        ("x\ty\t0-0", ":5: has three columns"),
    ],
)
def test_an_edit_that_went_wrong_is_told(changed, line, message):
    path = version_folder(changed) / EXCEPTIONS
    path.write_text(path.read_text() + line)
    finished = call_verb("translate", changed, "abc")
    assert finished.status == 2 and f"{EXCEPTIONS}{message}" in finished.err


def test_a_source_that_no_text_reaches_is_told(tmp_path):
    export = pathlib.Path(shutil.copytree(export_of(("word", "word")), tmp_path / "export"))
    path = version_folder(export) / EXCEPTIONS
    path.write_text(path.read_text() + "two  spaces\tx\n")
    with pytest.raises(UserError, match="no text can reach 'two  spaces'"):
        Translator.load(export)


def test_a_phone_finds_the_file_beside_the_model(changed, tmp_path):
    (model,) = [p for p in (changed / "litert").glob("*.tflite") if "int8" not in p.name]
    alone = tmp_path / "phone" / model.name
    alone.parent.mkdir()
    shutil.copy(model, alone)
    assert Translator.load(alone).translate(["abc"])[0].text != "가0"
    shutil.copy(version_folder(changed) / EXCEPTIONS, alone.with_suffix(".exceptions.tsv"))
    assert Translator.load(alone).translate(["abc"])[0].text == "가0"


def test_another_dictionary_is_a_new_version_of_the_same_model(changed, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("c\td\n")
    finished = call_export(changed, "--exceptions", other)
    assert finished.status == 0, finished.err
    assert "version 2, 1 exceptions" in finished.out
    for translator in readers(changed).values():
        assert [r.from_exceptions for r in translator.translate(["abc", "c"])] == [False, True]
    assert call_verb("rollback", changed).status == 0
    for translator in readers(changed).values():
        assert [r.from_exceptions for r in translator.translate(["abc", "c"])] == [True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\na\tc\n", "bad.tsv:2: answers 'a' otherwise than line 1 ('b', now 'c')"),
        ("a\t\n", "bad.tsv:1: empty target"),
        (" \tb\n", "bad.tsv:1: a side is nothing but spaces"),
        ("a\t0123456789\n", "bad.tsv:1: the answer has 10, more than the 9 tokens"),
        ("a" * 5000 + "\tb\n", "bad.tsv:1: the source has 5,000, more than the 4,096"),
    ],
)
def test_a_bad_dictionary_names_the_line(content, message, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text(content)
    finished = call_export(random_run().config.out, "--out", tmp_path / "out", "--exceptions", bad)
    assert finished.status == 2 and message in finished.err
    assert not (tmp_path / "out").exists()


def test_an_export_without_a_dictionary_has_no_place_for_one(changed, tmp_path):
    (version_folder(changed) / EXCEPTIONS).unlink()
    other = tmp_path / "other.tsv"
    other.write_text("c\td\n")
    finished = call_export(changed, "--exceptions", other)
    assert finished.status == 2 and "has no place for exceptions" in finished.err


def test_a_map_that_is_empty_is_told(changed, tmp_path):
    finished = call_verb("plot", changed, "abc", "c", "--out", tmp_path / "map.png")
    assert finished.status == 0, finished.err
    assert finished.err.count("warning") == 1 and "'abc': is answered by" in finished.err


# --- files of strangers


def with_change(export, change):
    path = version_folder(export) / "saved_model.pb"
    proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(proto.meta_graphs[0])
    path.write_bytes(proto.SerializeToString())


def a_path_outside(graph):
    graph.asset_file_def[0].filename = "../../secret"


def a_constant_name(graph):
    (node,) = [
        n
        for n in graph.graph_def.node
        if n.name == graph.asset_file_def[0].tensor_info.name.partition(":")[0]
    ]
    node.op = "Const"


def another_object(graph):
    objects = graph.object_graph_def
    (asset,) = [i for i, n in enumerate(objects.nodes) if n.WhichOneof("kind") == "asset"]
    objects.nodes[asset].constant.operation = "Const"


@pytest.mark.parametrize("change", [a_path_outside, a_constant_name, another_object])
def test_a_table_of_another_file_is_refused(changed, change):
    read_meta_graph(version_folder(changed))
    with_change(changed, change)
    with pytest.raises(UserError, match="a file that is not its own"):
        SavedModelReader(changed)


def test_the_manifest_names_the_output(changed):
    manifest = json.loads((changed / "manifest.json").read_text())
    outputs = manifest["signatures"]["serving_default"]["outputs"]
    assert outputs["from_exceptions"] == {"dtype": "bool", "shape": [None]}
