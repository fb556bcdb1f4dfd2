"""Bulk translation on Apache Beam: every line of the input is answered or accounted for."""

import gzip
import subprocess
import sys
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("apache_beam", reason="needs pip install -r requirements-beam.txt")
    import keras_attention.beam as bulk

from keras_attention.readers.engine_reader import EngineReader  # noqa: E402
from keras_attention.readers.translator import Translator  # noqa: E402
from tests.support import ROOT  # noqa: E402
from tests.support.commands import call  # noqa: E402
from tests.support.exports import random_export  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def export():
    return random_export()[1]


def rows(folder, name):
    """Lines of all output shards, cut at tabs, in the order of the input."""
    lines = [
        line.split("\t")
        for path in folder.glob(f"{name}-*.tsv")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return sorted(lines, key=lambda row: (row[0], int(row[1])))


def test_every_line_is_translated_or_set_aside(export, tmp_path):
    texts = [f"{'한a' * (number % 30)}{number}" for number in range(500)]
    lines = [text.encode() for text in texts]
    bad = {10: b"\xff", 11: b"  ", 12: b"a\0b", 13: b"x" * 101, 499: b""}
    for number, line in bad.items():
        lines[number] = line
    (tmp_path / "a.txt").write_bytes(b"\r\n".join(lines) + b"\r\n")
    with gzip.open(tmp_path / "b.txt.gz", "wb") as file:
        file.write(b"abc\nno end")
    patterns = [tmp_path / "a.txt", tmp_path / "b*"]
    options = ["--output", tmp_path / "out", "--longest-source", 100]
    finished = call(bulk.main, [export, *patterns, *options])
    assert finished.status == 0, finished.err
    assert finished.out.splitlines()[-1] == "497 lines translated, 5 malformed"

    good = [(str(tmp_path / "a.txt"), str(n + 1), t) for n, t in enumerate(texts) if n not in bad]
    good += [(str(tmp_path / "b.txt.gz"), "1", "abc"), (str(tmp_path / "b.txt.gz"), "2", "no end")]
    answers = Translator.load(export).translate([text for _, _, text in good])
    given = rows(tmp_path, "out-translations")
    assert [row[:3] for row in given] == [
        [path, n, answer.text] for (path, n, _), answer in zip(good, answers, strict=True)
    ]
    for row, answer in zip(given, answers, strict=True):
        assert float(row[3]) == pytest.approx(answer.log_probability, abs=1e-4)
        assert float(row[4]) == pytest.approx(answer.confidence, abs=1e-4)
    malformed = rows(tmp_path, "out-malformed")
    assert [int(row[1]) - 1 for row in malformed] == list(bad)
    reasons = ["invalid UTF-8 at byte 1", "empty", "holds a NUL character", "101 characters, more"]
    for row, reason, line in zip(malformed, [*reasons, "empty"], bad.values(), strict=True):
        assert row[2].startswith(reason)
        assert row[3] == ascii(line)


def test_texts_meet_others_of_their_length():
    handler = bulk.ExportHandler("anywhere", rows_per_batch=7)
    batching = handler.batch_elements_kwargs()
    assert batching["max_batch_size"] == 7
    assert batching["bucket_boundaries"] == bulk.LENGTH_BOUNDARIES
    assert batching["length_fn"]("four") == batching["length_fn"]((("path", 1), "four")) == 4


def test_an_export_is_opened_without_tensorflow(export):
    code = (
        "import sys, warnings; warnings.simplefilter('ignore'); import keras_attention.beam as b\n"
        "handler = b.ExportHandler(sys.argv[1]); model = handler.load_model()\n"
        "print(handler.run_inference(['abc'], model)[0].text)\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(export)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == Translator.load(export).translate(["abc"])[0].text + "\n"


def test_long_texts_are_translated_few_at_a_time(export, monkeypatch):
    handler = bulk.ExportHandler(str(export))
    sizes = []
    translate = EngineReader.translate_batch

    def counted(self, texts, *rest):
        sizes.append(len(texts))
        return translate(self, texts, *rest)

    monkeypatch.setattr(EngineReader, "translate_batch", counted)
    monkeypatch.setattr("keras_attention.readers.translator.POSITIONS_PER_BATCH", 20)
    texts = ["abcdefghi", "ab", "abc", "a" * 10, "z"]
    results = handler.run_inference(texts, handler.load_model())
    assert [result.text for result in results] == [
        translation.text for translation in Translator.load(export).translate(texts)
    ]
    assert sorted(sizes[:3]) == [1, 1, 3]


def test_mistakes_are_told_before_anything_runs(export, tmp_path):
    (tmp_path / "in.txt").write_text("a\n")
    out = ["--output", tmp_path / "out"]
    nothing = call(bulk.main, [export, tmp_path / "none*", *out])
    assert nothing.status == 2 and nothing.err.endswith(
        "none*: no such file; name existing text files\n"
    )
    no_export = call(bulk.main, [tmp_path, tmp_path / "in.txt", *out])
    assert no_export.status == 2 and "holds no finished export" in no_export.err
    (tmp_path / "out-translations-00000-of-00009.tsv").touch()
    stale = call(bulk.main, [export, tmp_path / "in.txt", *out])
    assert stale.status == 2 and "exists already" in stale.err
