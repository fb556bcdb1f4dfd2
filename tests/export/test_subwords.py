"""Subwords in everything that an export holds: cut, numbered and joined alike everywhere."""

import json
import os
import pathlib
import random
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.config import read_config_file
from keras_attention.evaluation.parity import compare
from keras_attention.folders.export_layout import SOURCE_VOCABULARY
from keras_attention.folders.weights_folder import read_vocabularies
from keras_attention.readers.translator import Translator
from keras_attention.text.subword_learning import learn_subwords
from keras_attention.text.subwords import SPACE
from keras_attention.text.vocabulary import Vocabulary
from keras_attention.text.vocabulary_graph import SourceGraph
from tests.support import ROOT
from tests.support.exports import random_export, version_folder
from tests.support.texts import SUBWORDS, random_texts

HOSTILE = "  aabbé가😀0\u0301\u00a0\u200b\t\r\0\U0001f469\u200d\u2581жab"


def hostile_texts(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(HOSTILE, k=rng.randint(0, 12))) for _ in range(n)]


@pytest.fixture(scope="module", params=[("subword", "subword"), ("subword", "word")])
def exported(request):
    return random_export(tokens=request.param)


def readers_of(run, export) -> dict[str, Translator]:
    litert = export / "litert" / f"{json.loads((export / 'manifest.json').read_text())['name']}"
    return {
        "run": Translator.load(run.config.out),
        "Keras": Translator.load(run.config.out, engine="tensorflow"),
        "weights": Translator.load(export),
        "SavedModel": Translator.load(export, engine="tensorflow"),
        "LiteRT": Translator.load(litert.with_name(f"{litert.name}.tflite")),
    }


@pytest.mark.slow
def test_every_reader_cuts_and_answers_alike(exported):
    run, export = exported
    texts = [*random_texts(run.source, 30), *hostile_texts(150), "", " ", "\0"]
    found = {name: each.translate(texts) for name, each in readers_of(run, export).items()}
    reference = found["run"]
    for text, translation in zip(texts, reference, strict=True):
        assert "".join(translation.source_tokens) == (text and SPACE + text)
    for name, translations in found.items():
        assert not compare(reference, translations).first_difference, name
        for ours, theirs in zip(reference, translations, strict=True):
            assert ours.source_tokens == theirs.source_tokens, name
            assert ours.target_tokens == theirs.target_tokens, name
            assert theirs.text == run.target.join(theirs.target_tokens), name


@pytest.mark.slow
def test_beams_carry_the_pieces_that_the_model_chose(exported):
    run, export = exported
    texts = random_texts(run.source, 10, seed=3)
    ours, theirs = (
        Translator.load(export, engine=engine).translate(texts, beam_width=3)
        for engine in ("numpy", "tensorflow")
    )
    for one, other in zip(ours, theirs, strict=True):
        pairs = zip((one, *one.alternatives), (other, *other.alternatives), strict=True)
        assert all(a.target_tokens == b.target_tokens for a, b in pairs)


@pytest.mark.slow
def test_a_model_without_attention_answers_the_same_text():
    run, export = random_export(tokens=("subword", "subword"), attention="none")
    texts = [*random_texts(run.source, 10), *hostile_texts(20, seed=1)]
    ours, theirs = (
        Translator.load(export, engine=engine).translate(texts)
        for engine in ("numpy", "tensorflow")
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one.text == other.text and one.source_tokens == other.source_tokens
        assert "".join(other.target_tokens) in ("", SPACE + other.text)


@pytest.mark.slow
def test_the_files_of_an_export_hold_the_pieces(exported):
    run, export = exported
    assert read_vocabularies(export) == (run.source, run.target)
    name = json.loads((export / "manifest.json").read_text())["name"]
    described = json.loads((export / "litert" / f"{name}.json").read_text(encoding="utf-8"))
    for side, vocabulary in (("source", run.source), ("target", run.target)):
        assert described[f"{side}_tokens"] == vocabulary.kind
        assert tuple(described[f"{side}_vocabulary"][4:]) == vocabulary.tokens
    known = json.loads((version_folder(export) / SOURCE_VOCABULARY).read_text("utf-8"))
    assert Vocabulary(known["kind"], tuple(known["tokens"])) == run.source


def test_javascript_cuts_and_joins_as_python_does(tmp_path):
    """The page's own module, in Node, on 100,000 hostile texts: the rule needs no browser."""
    if not shutil.which("node"):
        pytest.skip("no node on PATH")
    vocabulary, texts = Vocabulary("subword", SUBWORDS), hostile_texts(100_000, seed=2)
    tokens, joined = cut_by_javascript(vocabulary, texts, tmp_path)
    assert tokens == [vocabulary.split(text) for text in texts]
    assert joined == texts
    assert any(len(piece) > 1 for each in tokens for piece in each)


@pytest.mark.slow
def test_all_of_multi30k_is_cut_alike_everywhere(tmp_path):
    """By Python, which also reads LiteRT files, the graph of a SavedModel, and JavaScript.

    The pieces are those of the recipe.
    """
    if not shutil.which("node"):
        pytest.skip("no node on PATH")
    folder = pathlib.Path(os.environ.get("KERAS_ATTENTION_DATA", "")) / "multi30k"
    if not (folder / "train.de").is_file():
        pytest.skip("no multi30k in the folder that KERAS_ATTENTION_DATA names")
    texts = {
        path.name: path.read_text(encoding="utf-8").split("\n")
        for path in sorted(folder.iterdir())
        if path.name.split(".")[1:] in (["de"], ["en"])
    }
    assert len(texts) == 6
    recipe = read_config_file(ROOT / "configs" / "sentences.json")
    learned = learn_subwords([*texts["train.de"], *texts["train.en"]], recipe["subwords"])
    everything = [line for lines in texts.values() for line in lines]
    tokens = [learned.split(line) for line in everything]
    assert [learned.join(each) for each in tokens] == everything
    assert cut_by_javascript(learned, everything, tmp_path) == [tokens, everything]
    encode = tf.function(SourceGraph(learned).encode, reduce_retracing=True)
    for first in range(0, len(everything), 5000):
        chunk = everything[first : first + 5000]
        expected = learned.encode(chunk).padded(np.arange(len(chunk)))
        np.testing.assert_array_equal(encode(tf.constant(chunk)).ids, expected)


def cut_by_javascript(vocabulary: Vocabulary, texts: list[str], tmp_path) -> list:
    """The tokens of all texts, and the texts joined again, by the live page's module."""
    module = ROOT / "keras_attention" / "web" / "live_assets" / "subwords.js"
    shutil.copyfile(module, tmp_path / "subwords.mjs")
    (tmp_path / "given.json").write_text(json.dumps([vocabulary.tokens, texts]), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        """
        import { readFileSync } from "node:fs";
        import { joinPieces, pieceCutter } from "./subwords.mjs";
        const [pieces, texts] = JSON.parse(readFileSync("given.json", "utf8"));
        const cut = pieceCutter(pieces);
        const tokens = texts.map(cut);
        console.log(JSON.stringify([tokens, tokens.map(joinPieces)]));
        """,
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, capture_output=True, check=True, timeout=120
    )
    return json.loads(done.stdout)
