"""Files and folders that are replaced together: all of them, or none."""

import os

import pytest

from keras_attention._runtime import replacement
from keras_attention._runtime.replacement import replace_together


@pytest.fixture
def folders(tmp_path):
    for name in ("new", "out", "attic", "new/maps", "out/maps"):
        (tmp_path / name).mkdir(parents=True)
    for where in ("new", "out"):
        (tmp_path / where / "maps" / f"{where}.svg").write_text(where)
        (tmp_path / where / "page").write_text(where)
    return tmp_path


def moves(folder):
    return [(folder / "new" / name, folder / "out" / name) for name in ("maps", "page")]


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_everything_is_replaced_and_the_old_is_put_aside(folders):
    replace_together(moves(folders), folders / "attic")
    assert content(folders / "out") == {"maps/new.svg": "new", "page": "new"}
    assert sorted(content(folders / "attic").values()) == ["out", "out"]


def test_places_may_be_empty(folders):
    (folders / "out" / "page").unlink()
    replace_together(moves(folders), folders / "attic")
    assert content(folders / "out") == {"maps/new.svg": "new", "page": "new"}


@pytest.mark.parametrize("failing", range(4))
def test_after_a_failed_move_everything_is_as_before(folders, monkeypatch, failing):
    before = content(folders)
    calls = []

    def rename(*arguments):
        calls.append(arguments)
        if len(calls) == failing + 1:
            raise PermissionError(13, "denied")
        os.replace(*arguments)

    monkeypatch.setattr(replacement.os, "rename", rename)
    with pytest.raises(PermissionError):
        replace_together(moves(folders), folders / "attic")
    assert content(folders) == before


@pytest.mark.parametrize("killed", range(1, 4))
def test_who_is_killed_in_between_leaves_the_last_place_empty(folders, monkeypatch, killed):
    calls = []

    def rename(*arguments):
        if len(calls) == killed:
            raise KeyboardInterrupt  # nothing is put back, as after a kill
        calls.append(arguments)
        os.replace(*arguments)

    monkeypatch.setattr(replacement.os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        replace_together(moves(folders), folders / "attic")
    assert not (folders / "out" / "page").exists()
