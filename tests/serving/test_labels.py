"""Labels that stay with a version, beside the newest one."""

import asyncio
import pathlib
import shutil

import pytest

from keras_attention.errors import UserError
from keras_attention.serving.model_versions import ModelVersions
from keras_attention.serving.statuses import StatusError
from tests.support.commands import call_verb
from tests.support.exports import random_export, version_folder


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    """Versions 1 and 2 of one model."""
    _, export = random_export()
    for number in (1, 2):
        shutil.copytree(version_folder(export), tmp_path / "m" / str(number))
    return tmp_path / "m"


async def drained(version):
    assert version.signatures


def refreshed(versions):
    asyncio.run(versions._refresh(drained))


def test_a_label_stays_with_its_version(folder):
    versions = ModelVersions("m", folder, labels=["newest"], pinned={"stable": 1, "canary": 2})
    assert versions.find("m", label="stable").number == 1
    assert versions.find("m", label="canary") is versions.find("m") is versions.current
    assert versions.find("m", label="newest").number == 2
    assert versions.find("m", number=1) is versions.find("m", label="stable")
    (state,) = versions.status("m", label="stable")["model_version_status"]
    assert (state["version"], state["state"]) == ("1", "AVAILABLE")
    for label in ("other", ""):
        with pytest.raises(StatusError):
            versions.find("m", label=label)


def test_a_newer_version_leaves_it_alone(folder):
    versions = ModelVersions("m", folder, labels=["newest"], pinned={"stable": 2})
    shutil.copytree(folder / "2", folder / "3")
    refreshed(versions)
    assert versions.current.number == 3
    stable = versions.find("m", label="stable")
    assert stable.number == 2 and stable.signature("")([b"a"])["text"].shape == (1,)
    shutil.rmtree(folder / "3")  # back to what the label has loaded already
    refreshed(versions)
    assert versions.current is stable


def test_a_label_of_no_version_is_told(folder):
    with pytest.raises(UserError, match="--label: stable=7 names no version .* holds 1, 2"):
        ModelVersions("m", folder, pinned={"stable": 7})


@pytest.mark.parametrize("labels", [["a", "a"], ["a=x"], ["a=1", "a"], ["=1"], ["a="]])
def test_bad_labels_are_told(labels):
    flags = [part for label in labels for part in ("--label", label)]
    finished = call_verb("serve", random_export()[1], *flags)
    assert finished.status == 2 and "--label: must be" in finished.err
