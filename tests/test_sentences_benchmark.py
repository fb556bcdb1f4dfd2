"""The recipe for sentences, and the arithmetic of the benchmark that uses it."""

import os
import subprocess
import sys

import pytest

from benchmarks import sentences
from keras_attention.config import Config
from keras_attention.pairs.pair import Pair
from keras_attention.recipe import read_recipe


def test_the_recipe_cuts_both_sides_into_the_same_pieces():
    config = Config(**read_recipe(sentences.CONFIG).fields)
    assert (config.source_tokens, config.target_tokens, config.joint) == (
        "subword",
        "subword",
        True,
    )
    assert config.has_attention and config.select_by == "auto"
    for options in sentences.MODELS.values():
        assert not (Config(**(vars(config) | options)).has_attention and options)


def test_the_corpus_becomes_the_parts_that_training_reads(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for part in sentences.PARTS:
        for side in ("de", "en"):
            (corpus / f"{part}.{side}").write_text(f"{part} {side}\n", encoding="utf-8")
    sentences.lay_out(corpus, tmp_path / "data")
    assert (tmp_path / "data" / "valid.tsv").read_text(encoding="utf-8") == "val de\tval en\n"
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
        "test.tsv",
        "train.tsv",
        "valid.tsv",
    ]


def test_slices_by_length_by_hand():
    test = [Pair(" ".join("w" * n), f"one two three four {n}") for n in (3, 10, 11, 30)]
    outputs = [pair.target for pair in test[:3]] + ["something else entirely is said"]
    slices = sentences.by_length(outputs, test)
    assert [(s["least"], s["most"], s["n"]) for s in slices] == [
        (1, 10, 2),
        (11, 15, 1),
        (21, 30, 1),
    ]
    assert [each["bleu"] for each in slices[:2]] == [100.0, 100.0] and slices[2]["bleu"] < 5


def test_how_far_the_kept_epoch_lies_below_the_last(tmp_path):
    (tmp_path / "history.csv").write_text("epoch,valid_bleu\n1,30.0\n2,33.5\n3,33.25\n")
    (tmp_path / "metrics.json").write_text('{"best_epoch": 2}')
    assert sentences.below_last_epoch(tmp_path) == -0.25


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc on this system")
def test_what_a_process_has_cost():
    code = "import time\nx = bytearray(50_000_000)\nwhile time.process_time() < 0.3: pass\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code + "\n"], stdin=subprocess.PIPE, text=True
    ) as child:
        while (cost := sentences.cost_of(child.pid)) and cost["cpu_seconds"] < 0.25:
            pass
        assert cost["cpu_seconds"] >= 0.25 and cost["peak_megabytes"] > 50
        child.communicate("\n")
    assert sentences.cost_of(child.pid) is None


def test_the_table_has_a_row_a_model():
    row = {
        "model": "attention",
        "seeds": [1, 2],
        "bleu_greedy": [30.0, 32.0],
        "bleu_beam": [33.0, 34.0],
        "bleu_lc_greedy": [31.0, 33.0],
        "bleu_lc_beam": [34.0, 36.0],
        "together": {"bleu_lc_beam": 37.25},
        "cost": [
            {"cpu_seconds": 600.0, "peak_megabytes": 1500},
            {"cpu_seconds": 1200.0, "peak_megabytes": 1700},
        ],
    }
    line = sentences.table_of([row]).splitlines()[-1]
    assert line == "| attention | 2 | 31.0 | 33.5 | 32.0 | 35.0 | 37.2 | 15.0 | 1.7 |"
