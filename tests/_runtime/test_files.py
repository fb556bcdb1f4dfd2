"""Files that appear whole, on every system."""

import os
import stat

import pytest

from keras_attention._runtime import files


@pytest.fixture
def umask():
    """Sets the process's umask; the test's own, put back at its end."""
    before = os.umask(0o22)
    try:
        yield lambda mask: os.umask(mask)
    finally:
        os.umask(before)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_file_has_the_mode_of_any_new_file(tmp_path, umask, mask, mode):
    umask(mask)
    files.write_text(tmp_path / "a.txt", "a")
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_a_writer_that_fails_leaves_the_old_content_and_nothing_else(tmp_path):
    files.write_text(tmp_path / "a.txt", "old")
    with pytest.raises(RuntimeError), files.replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("new", encoding="utf-8")
        raise RuntimeError
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_the_temporary_name_ends_as_the_files_does(tmp_path):
    with files.replacing(tmp_path / "model.keras") as temporary:
        assert temporary.name.endswith("model.keras") and temporary.exists()


def test_a_system_that_opens_no_folder_writes_all_the_same(tmp_path, monkeypatch):
    """Windows refuses to open a folder, with which its names would be put on disk."""
    really_open = os.open

    def refusing(path, *arguments, **options):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing)
    files.write_text(tmp_path / "a.txt", "a")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["a"]


def test_what_a_killed_process_left_goes(tmp_path):
    (tmp_path / ".writing-1a.txt").write_text("half", encoding="utf-8")
    (tmp_path / ".writing-folder").mkdir()
    (tmp_path / ".writing-folder" / "b.txt").write_text("half", encoding="utf-8")
    (tmp_path / "kept.txt").write_text("whole", encoding="utf-8")
    files.remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
