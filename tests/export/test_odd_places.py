"""Exports in folders whose names TensorFlow would read as patterns, and what else a path can be."""

import errno
import os
import pathlib
import shutil

import pytest

from keras_attention.errors import UserError
from keras_attention.export import exporter
from keras_attention.export.exporter import ExportOptions
from keras_attention.readers.translator import Translator
from tests.support.commands import call_verb
from tests.support.exports import call_export, random_export, random_run
from tests.support.servers import server_of

PATTERNS = ["b[1]", "back\\slash", "a*b?"]


@pytest.mark.parametrize("name", PATTERNS)
def test_an_export_that_was_moved_there_is_read_and_served(tmp_path, name):
    run, made = random_export()
    moved = tmp_path / name / "export"
    shutil.copytree(made, moved)
    expected = Translator.load(made).translate(["가나 b"])[0]
    assert Translator.load(moved).translate(["가나 b"])[0].text == expected.text
    litert = next((moved / "litert").glob("*[!8].tflite"))
    assert Translator.load(litert).translate(["가나 b"])[0].text == expected.text


def test_a_pattern_does_not_find_another_folder(tmp_path):
    """`a?b` matches `aXb`, whose weights are another model's."""
    first, second = random_export()[1], random_export(seed=1)[1]
    shutil.copytree(second, tmp_path / "aXb")
    shutil.copytree(first, tmp_path / "a?b")
    texts = ["가나 b", "abc", "0123"]
    found = [t.text for t in Translator.load(tmp_path / "a?b").translate(texts)]
    assert found == [t.text for t in Translator.load(first).translate(texts)]


def test_exported_there(tmp_path):
    run = random_run(attention="none", encoder="gru", bidirectional=False)
    out = tmp_path / "b[1]\\x" / "e"
    out.parent.mkdir()
    finished = call_export(run.config.out, "--out", out, "--beam-width", 2)
    assert (finished.status, finished.err) == (0, "")
    assert Translator.load(out).translate(["abc"])


def test_served_there(tmp_path):
    shutil.copytree(random_export()[1], tmp_path / "b[1]\\x")
    with server_of(tmp_path / "b[1]\\x") as server:
        assert server.predict({"instances": ["가나 b"]}).status == 200


def test_a_run_folder_called_like_a_litert_file_is_a_run(tmp_path):
    run = random_run()
    folder = shutil.copytree(run.config.out, tmp_path / "x.tflite")
    finished = call_verb("translate", folder, "가나 b")
    assert finished.status == 0, finished.err
    assert finished.out == call_verb("translate", run.config.out, "가나 b").out


class TestWhatMayNotBeRead:
    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
    def test_by_the_system(self, tmp_path):
        (tmp_path / "locked").mkdir(mode=0)
        with pytest.raises(UserError, match="may not be read"):
            Translator.load(tmp_path / "locked" / "run")

    def test_a_manifest(self, tmp_path, monkeypatch):
        copy = shutil.copytree(random_export()[1], tmp_path / "copy")

        def refused(path, *_, **__):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(pathlib.Path, "read_text", refused)
        with pytest.raises(UserError, match="manifest.json: may not be read; ask its owner"):
            Translator.load(copy)

    def test_a_litert_file(self, monkeypatch):
        litert = next((random_export()[1] / "litert").glob("*[!8].tflite"))

        def refused(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(pathlib.Path, "read_bytes", refused)
        with pytest.raises(UserError, match="may not be read; ask its owner"):
            Translator.load(litert)

    def test_a_folder_above(self, tmp_path, monkeypatch):
        def refused(path, **_):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(pathlib.Path, "stat", refused)
        with pytest.raises(UserError, match="may not be read; ask its owner"):
            Translator.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "make room"), (errno.EIO, ""), (errno.EROFS, "read only")],
)
def test_an_error_while_writing_is_told_as_what_it_is(tmp_path, monkeypatch, number, advice):
    def refused(*_):
        raise OSError(number, os.strerror(number), "some/file")

    monkeypatch.setattr(exporter, "_build", refused)
    with pytest.raises(UserError) as error:
        exporter.export(random_run(), [], tmp_path / "out", ExportOptions("x"))
    said = str(error.value)
    assert f"cannot be written to: some/file: {os.strerror(number)}" in said and advice in said
    assert ("make room" in said) == (number == errno.ENOSPC)
    assert not (tmp_path / "out").exists()
