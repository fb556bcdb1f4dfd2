"""Bulk translation on Apache Beam: every line of the input is answered or accounted for."""

import bz2
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


def answers_of(export, texts) -> list[str]:
    return [translation.text for translation in Translator.load(export).translate(texts)]


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
    assert sorted(sizes[:2]) == [2, 3]


def test_mistakes_are_told_before_anything_runs(export, tmp_path):
    (tmp_path / "in.txt").write_text("a\n")
    out = ["--output", tmp_path / "out"]
    for options, message in (
        (["--nosuch", "1"], "--nosuch: is not an option of this command"),
        (["--direct_num_workers", "two"], "--direct_num_workers: invalid int value: 'two'"),
        (["--longest-source", "-5"], "--longest-source: must be at least 1. Received: -5"),
        (["--output", tmp_path / "in.txt" / "out"], f"--output: {tmp_path}/in.txt cannot be writt"),
    ):
        done = call(bulk.main, [export, tmp_path / "in.txt", *out, *options])
        assert (done.status, done.out) == (2, "") and done.err.startswith(f"error: {message}")
        assert done.err.count("\n") == 1
    done = call(bulk.main, [export, tmp_path / "in.txt", "--direct_num_workers", "1"])
    assert done.err == "error: the following arguments are required: --output\n"
    done = call(bulk.main, [export, tmp_path, *out])
    assert done.status == 2 and done.err.startswith(f"error: {tmp_path}: is a folder; name its fil")
    nothing = call(bulk.main, [export, tmp_path / "none*", *out])
    assert nothing.status == 2 and nothing.err.endswith(
        "none*: no such file; name existing text files\n"
    )
    no_export = call(bulk.main, [tmp_path, tmp_path / "in.txt", *out])
    assert no_export.status == 2 and "holds no finished export" in no_export.err
    (tmp_path / "out-translations-00000-of-00009.tsv").touch()
    stale = call(bulk.main, [export, tmp_path / "in.txt", *out])
    assert stale.status == 2 and "exists already" in stale.err


def test_a_file_that_cannot_be_read_is_set_aside_and_the_others_are_translated(export, tmp_path):
    texts = [f"{'ab' * (number % 9)}{number}" for number in range(2000)]
    whole = gzip.compress("\n".join(texts).encode())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cut.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "in" / "broken.gz").write_bytes(b"no gzip")
    (tmp_path / "in" / "cut.bz2").write_bytes(bz2.compress(b"a\nb\n")[:-8])
    (tmp_path / "in" / "folder").mkdir()
    (tmp_path / "in" / "good.txt").write_bytes(b"abc\n")
    done = call(bulk.main, [export, tmp_path / "in" / "*", "--output", tmp_path / "out"])
    assert done.status == 0, done.err
    malformed = {row[0].rsplit("/")[-1]: row for row in rows(tmp_path, "out-malformed")}
    assert set(malformed) == {"cut.gz", "broken.gz", "cut.bz2"}
    assert all(row[2].startswith("cannot be read: ") for row in malformed.values())
    answers = rows(tmp_path, "out-translations")
    read = [row[2] for row in answers if row[0].endswith("cut.gz")]
    assert read == answers_of(export, texts[: len(read)])
    assert int(malformed["cut.gz"][1]) == len(read) + 1
    good = [row[2] for row in answers if row[0].endswith("good.txt")]
    assert good == answers_of(export, ["abc"])
    assert done.out.splitlines()[-1] == f"{len(answers)} lines translated, 3 malformed"


@pytest.mark.parametrize("name", ["x[1].txt", "a*?.txt", "["])
def test_a_file_is_found_whatever_signs_are_in_its_name(export, tmp_path, name):
    (tmp_path / name).write_bytes(b"abc\n")
    (tmp_path / "x1.txt").write_bytes(b"other\n")
    done = call(bulk.main, [export, tmp_path / name, "--output", tmp_path / "out"])
    assert done.status == 0, done.err
    answer = answers_of(export, ["abc"])[0]
    assert rows(tmp_path, "out-translations")[0][:3] == [str(tmp_path / name), "1", answer]


def test_a_job_that_fails_leaves_no_temporary_folders(export, tmp_path, monkeypatch):
    def failing(element):
        raise RuntimeError("a worker's fault")

    monkeypatch.setattr(bulk, "_format_result", failing)
    (tmp_path / "in.txt").write_bytes(b"abc\n")
    with pytest.raises(Exception, match="a worker's fault"):
        call(bulk.main, [export, tmp_path / "in.txt", "--output", tmp_path / "out"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt"]
