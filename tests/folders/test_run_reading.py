"""A run that a training replaces while it is read is never read in parts."""

import os
import shutil

import pytest

from keras_attention.config import load_config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import remove_results, remove_run
from keras_attention.folders.run_reading import reading_run
from keras_attention.readers import engine_reader, run


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained.path, tmp_path / "run")


def test_a_run_that_stays_is_read(folder):
    with reading_run(folder) as path:
        assert path == folder


def replace(folder):
    """By another training to its end: no file is missing afterwards."""
    content = (folder / "model.keras").read_bytes()
    (folder / "new").write_bytes(content)
    os.replace(folder / "new", folder / "model.keras")


@pytest.mark.parametrize("change", [remove_run, remove_results, replace])
def test_a_change_meanwhile_is_told(folder, change):
    with pytest.raises(UserError, match="a training replaced the run while it was read"):
        with reading_run(folder):
            change(folder)


def test_what_the_change_damaged_is_not_told_as_damage(folder):
    """The file is missing since the run is being replaced, and copying it again helps nobody."""
    with pytest.raises(UserError, match="a training replaced the run while it was read"):
        with reading_run(folder) as path:
            remove_run(path)
            load_config(path / "config.json")


def test_damage_of_a_run_that_stays_is_told_as_such(folder):
    (folder / "vocabulary.json").unlink()
    with pytest.raises(UserError, match="vocabulary.json"), reading_run(folder) as path:
        run.load_vocabularies(path / "vocabulary.json")


@pytest.mark.parametrize("module", [run, engine_reader])
def test_both_readers_see_one_run(folder, module, monkeypatch):
    """Once a run whose calibration had gone was read as one that has none."""

    def load(path):
        remove_results(folder)
        return None

    read = module.load_run if module is run else engine_reader.EngineReader.load
    assert read(folder)
    monkeypatch.setattr(module, "load_calibration", load)
    with pytest.raises(UserError, match="a training replaced the run while it was read"):
        read(folder)


@pytest.mark.parametrize(
    ("missing", "words"), [("config.json", "holds no run"), ("model.keras", "not finished")]
)
def test_what_is_no_finished_run_is_told(folder, missing, words):
    (folder / missing).unlink()
    with pytest.raises(UserError, match=words), reading_run(folder):
        pass
