"""Versions of an export are whole: a rollback gives back every file of the one before."""

import json
import pathlib
import shutil

import pytest

from keras_attention.export.publish import publish
from keras_attention.export.rollback import roll_back
from keras_attention.folders.card_file import CARD, MARK
from keras_attention.folders.export_layout import read_manifest, version_folders
from keras_attention.readers.translator import Translator
from tests.support.commands import call_verb
from tests.support.exports import call_export, random_export, random_run


def files_of(export: pathlib.Path) -> dict[str, bytes]:
    """All that readers read, which is everything but the versions that are kept."""
    return {
        path.relative_to(export).as_posix(): path.read_bytes()
        for path in export.rglob("*")
        if path.is_file() and path.relative_to(export).parts[0] != "versions"
    }


def publish_again(export: pathlib.Path, seed: int) -> None:
    """The model of another seed, as a new version."""
    _, other = random_export(seed=seed)
    name = read_manifest(export)["name"]
    aside = export / ".building-test"
    shutil.copytree(other, aside, ignore=shutil.ignore_patterns("versions"))
    others = read_manifest(other)["name"]
    for path in sorted(aside.rglob(f"{others}*"), key=lambda path: -len(path.parts)):
        path.rename(path.with_name(path.name.replace(others, name)))
    manifest = read_manifest(aside) | {"name": name}
    (aside / "manifest.json").write_text(json.dumps(manifest))
    (aside / CARD).write_text(f"{MARK} of seed {seed}")
    publish(aside, export, {})
    shutil.rmtree(aside)


@pytest.fixture
def export(tmp_path) -> pathlib.Path:
    folder = pathlib.Path(shutil.copytree(random_export()[1], tmp_path / "export"))
    publish_again(folder, 5)
    return folder


def texts(export, engine):
    return [r.text for r in Translator.load(export, engine).translate(["abc", "d e", "0가"])]


def test_a_rollback_gives_everything_back(export):
    before = files_of(export)
    publish_again(export, 0)
    assert files_of(export) != before
    assert roll_back(export) == (3, 2)
    assert files_of(export) == before
    assert texts(export, "numpy") == texts(export, "tensorflow")


def test_it_can_be_done_again_and_goes_further_back(export):
    first = files_of(random_export()[1])
    finished = call_verb("rollback", export)
    assert finished.status == 0 and "version 1 is served and read again" in finished.out
    assert files_of(export) == first  # which has no card
    assert call_verb("rollback", export).status == 2


def test_a_number_is_never_given_twice(export):
    roll_back(export)
    publish_again(export, 5)
    assert read_manifest(export)["version"] == 3
    served = export / "serving" / read_manifest(export)["name"]
    assert list(version_folders(served)) == [1, 3]


def test_an_interrupted_rollback_is_ended_by_the_next(export, tmp_path):
    """Servers went back already; everything else was still to come."""
    served = export / "serving" / read_manifest(export)["name"] / "2"
    served.rename(tmp_path / "2")
    assert roll_back(export) == (2, 1)
    assert texts(export, "numpy") == texts(random_export()[1], "numpy")


def test_a_card_of_ones_own_stays(export):
    (export / CARD).write_text("mine")
    roll_back(export)
    assert (export / CARD).read_text() == "mine"


def test_without_its_files_a_version_does_not_come_back(export):
    shutil.rmtree(export / "versions" / "1")
    before = files_of(export)
    finished = call_verb("rollback", export)
    assert finished.status == 2 and "only the SavedModel is left" in finished.err
    assert files_of(export) == before


@pytest.mark.parametrize("what", ["nowhere", "empty"])
def test_what_is_no_export_is_told(what, tmp_path):
    (tmp_path / "empty").mkdir()
    finished = call_verb("rollback", tmp_path / what)
    assert finished.status == 2 and "holds no finished export" in finished.err


# --- publish only what is not worse


def test_a_worse_run_is_refused_and_nothing_is_written(trained, reversal_folder, tmp_path):
    report = tmp_path / "change.json"
    worse, data = random_run().config.out, reversal_folder / "test.tsv"
    options = ("--against", trained.path, "--data", data, "--comparison", report)
    finished = call_export(worse, "--out", tmp_path / "out", *options)
    assert finished.status == 3
    assert "is significantly worse than" in finished.err and "--publish-worse" in finished.err
    assert "broken" in finished.out
    assert not (tmp_path / "out").exists()
    content = json.loads(report.read_text())
    assert content["worse"] and content["counts"]["broken"] == len(
        [each for each in content["changed"] if each["kind"] == "broken"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--publish-worse",)])
def test_a_better_run_is_published_and_a_worse_one_if_asked_for(
    flags, trained, reversal_folder, tmp_path
):
    runs = [random_run().config.out, trained.path]
    against, run = reversed(runs) if flags else runs
    options = ("--against", against, "--data", reversal_folder / "test.tsv", *flags)
    finished = call_export(run, "--out", tmp_path / "out", *options)
    assert finished.status == 0, finished.err
    assert read_manifest(tmp_path / "out")["version"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--against", "x"), "--against: needs --data"),
        (("--data", "x"), "--data: needs --against"),
        (("--publish-worse",), "--publish-worse: needs --against"),
        (("--against", "x", "--data", "y"), "x: does not exist"),
    ],
)
def test_options_that_make_no_sense_are_told(options, message, tmp_path):
    finished = call_export(random_run().config.out, "--out", tmp_path / "out", *options)
    assert finished.status == 2 and message in finished.err
    assert not (tmp_path / "out").exists()
