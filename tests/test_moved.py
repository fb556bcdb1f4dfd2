"""The module names of version 0.1 go on working, and say what the new name is."""

import importlib
import subprocess
import sys
import warnings

import pytest

from keras_attention._moved import MOVED
from tests.support import ROOT


@pytest.mark.parametrize("old", MOVED)
def test_old_name_gives_what_the_new_modules_hold(old, recwarn):
    sys.modules.pop(f"keras_attention.{old}", None)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        module = importlib.import_module(f"keras_attention.{old}")
    assert any(f"keras_attention.{MOVED[old][0]}" in str(w.message) for w in recwarn)
    for part in MOVED[old]:
        new = importlib.import_module(f"keras_attention.{part}")
        own = [
            name
            for name, value in vars(new).items()
            if getattr(value, "__module__", None) == new.__name__ and not name.startswith("_")
        ]
        assert own, f"{part} defines nothing public"
        for name in own:
            assert getattr(module, name) is getattr(new, name)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("explanation.subject", "Subject", "AttributionModel"),
        ("explanation.subject", "ClassifierSubject", "ClassifierAttributionModel"),
        ("figure_files", "fixed_settings", "matplotlib_defaults"),
    ],
)
def test_a_renamed_class_is_found_under_its_old_name(module, old, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = importlib.import_module(f"keras_attention.{module}")
    now = importlib.import_module(f"keras_attention.{MOVED[module][0]}")
    assert getattr(before, old) is getattr(now, new)


def test_an_unknown_name_of_an_old_module_is_an_attribute_error():
    with pytest.warns(FutureWarning, match="keras_attention.pairs.pair"):
        sys.modules.pop("keras_attention.data", None)
        module = importlib.import_module("keras_attention.data")
    with pytest.raises(AttributeError, match="keras_attention.data.*nosuch"):
        module.nosuch  # noqa: B018
    assert not hasattr(module, "__all__")


def test_old_modules_still_run_as_programs(tmp_path):
    for name in ("keras_attention.phrases", "keras_attention.datasets.phrases"):
        finished = subprocess.run(
            [sys.executable, "-m", name, "--out", str(tmp_path / name)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        assert (tmp_path / name / "train.tsv").is_file()
        assert ("is now" in finished.stderr) == (name == "keras_attention.phrases")


def test_the_dates_are_written_under_their_old_name_as_well(tmp_path):
    """`python -m keras_attention.dates` is in pages that were published."""
    finished = subprocess.run(
        [sys.executable, "-m", "keras_attention.dates", "--out", str(tmp_path / "file" / "x")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        input="",
    )
    assert finished.returncode == 0, finished.stderr
    for part in ("train", "valid", "test"):
        committed = (ROOT / "data" / "dates" / f"{part}.tsv").read_bytes()
        assert (tmp_path / "file" / "x" / f"{part}.tsv").read_bytes() == committed


def test_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("keras_attention.nosuch")
