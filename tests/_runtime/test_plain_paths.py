"""Paths that TensorFlow's loader would read as patterns."""

import tempfile

import pytest

from keras_attention._runtime.plain_paths import plain_path
from keras_attention.errors import UserError


@pytest.mark.parametrize("name", ["plain", "with space", "가나", "per%20cent", "{a,b}"])
def test_other_folders_are_themselves(tmp_path, name):
    with plain_path(tmp_path / name) as path:
        assert path == tmp_path / name


@pytest.mark.parametrize("name", ["b[1]", "a*b", "q?", "back\\slash", "[", "]"])
def test_a_pattern_is_read_through_a_plain_path_that_goes_away(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_text("content", encoding="utf-8")
    with plain_path(folder) as path:
        assert not set(str(path)) & set("*?[]\\")
        assert (path / "file").read_text(encoding="utf-8") == "content"
    assert not path.exists() and (folder / "file").exists()


def test_a_relative_path(tmp_path, monkeypatch):
    (tmp_path / "b[1]").mkdir()
    (tmp_path / "b[1]" / "file").touch()
    monkeypatch.chdir(tmp_path)
    with plain_path("b[1]") as path:
        assert (path / "file").exists()


def test_a_folder_for_temporary_files_of_such_a_name_is_told(tmp_path, monkeypatch):
    bad = tmp_path / "t[1]"
    bad.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(bad))
    with pytest.raises(UserError, match="set TMPDIR"), plain_path(bad):
        pass
