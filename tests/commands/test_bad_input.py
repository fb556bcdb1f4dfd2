"""What users get wrong: one line that names the place, and nothing is half-written."""

import json
import pathlib
import subprocess
import sys

import pytest

from keras_attention.pairs.splits import Splits
from tests.support import ROOT
from tests.support.commands import call_train, call_verb
from tests.support.tasks import reversal_splits, write_splits

OPTIONS = (
    *("--epochs", "1", "--units", "4", "--embedding-size", "2"),
    *("--encoder", "gru", "--no-bidirectional"),
)
GOOD = b"ab\tba\nabc\tcba\nb\tb\n"


def folder_with(tmp_path, part: str, content: bytes | None) -> pathlib.Path:
    """A data folder whose file `part` has this content; None leaves it out."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in Splits._fields:
        if name != part:
            (folder / f"{name}.tsv").write_bytes(GOOD)
        elif content is not None:
            (folder / f"{name}.tsv").write_bytes(content)
    return folder


def assert_refused(done, message: str, out: pathlib.Path | None = None):
    assert done.status == 2
    assert done.err.startswith(f"error: {message}"), done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    if out is not None:
        assert not out.exists()


BROKEN = {
    "missing": (None, "", "no"),
    "empty": (b"", "", "is empty"),
    "only blank lines": (b"\n\r\n  \n", "", "is empty"),
    "one column": (GOOD + b"abc\n", ":4", "1 column"),
    "four columns": (b"a\tb\t\tc\n" + GOOD, ":1", "4 columns"),
    "an empty source": (b"a\tb\n\tb\n", ":2", "empty source"),
    "an empty target": (b"a\tb\n\na\t\n", ":3", "empty target"),
    "invalid UTF-8": (GOOD + b"a\xff\tb\n", ":4", "invalid UTF-8"),
    "UTF-16": ("ab\tba\n".encode("utf-16"), ":1", "invalid UTF-8"),
    "a NUL": (GOOD + b"a\0\tb\n", ":4", "NUL"),
    "a link outside the pair": (GOOD + b"ab\tba\t0-1 2-0\n", ":4", "2-0"),
    "a link that is none": (GOOD + b"ab\tba\t0:1\n", ":4", "malformed link"),
}


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_file_names_its_line(tmp_path, mistake, part):
    content, line, message = BROKEN[mistake]
    folder = folder_with(tmp_path, part, content)
    done = call_train("--data", folder, "--out", tmp_path / "run", *OPTIONS)
    place = folder if content is None else folder / f"{part}.tsv"
    assert_refused(done, f"{place}{line}: ", tmp_path / "run")
    assert message in done.err and f"{part}.tsv" in done.err


@pytest.mark.parametrize("mistake", sorted(set(BROKEN) - {"missing", "empty", "only blank lines"}))
def test_evaluate_names_the_line_too(tmp_path, trained, mistake):
    content, line, message = BROKEN[mistake]
    (tmp_path / "pairs.tsv").write_bytes(content)
    done = call_verb("evaluate", trained.path, tmp_path / "pairs.tsv")
    assert_refused(done, f"{tmp_path / 'pairs.tsv'}{line}: ")
    assert message in done.err


def test_evaluate_without_pairs(tmp_path, trained):
    assert_refused(call_verb("evaluate", trained.path, tmp_path / "no.tsv"), f"{tmp_path}/no.tsv: ")
    (tmp_path / "no.tsv").write_bytes(b"")
    assert_refused(call_verb("evaluate", trained.path, tmp_path / "no.tsv"), f"{tmp_path}/no.tsv: ")


def test_no_data_at_all(tmp_path):
    done = call_train("--data", tmp_path / "no", "--out", tmp_path / "run")
    assert_refused(done, f"{tmp_path / 'no'}: no such file or folder", tmp_path / "run")


def test_too_few_sources_to_split(tmp_path):
    (tmp_path / "pairs.tsv").write_bytes(b"a\tb\na\tc\nb\tc\n")
    done = call_train("--data", tmp_path / "pairs.tsv", "--out", tmp_path / "run")
    assert_refused(done, f"{tmp_path / 'pairs.tsv'}: too few different sources", tmp_path / "run")


def test_a_side_without_a_word(tmp_path):
    folder = folder_with(tmp_path, "train", b"ab\tba\n  \tb\n")
    words = ("--source-tokens", "word")
    done = call_train("--data", folder, "--out", tmp_path / "run", *OPTIONS, *words)
    assert_refused(done, f"{folder / 'train.tsv'}:2: empty source", tmp_path / "run")


# --- what looks odd and is accepted


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfab\tba\nabc\tcba\nb\tb\n",
        b"ab\tba\r\nabc\tcba\r\nb\tb\r\n",
        b"\nab\tba\n\n \nabc\tcba\nb\tb",
    ],
    ids=["a byte-order mark", "Windows line ends", "blank lines, none at the end"],
)
def test_other_ways_to_write_the_same_pairs(tmp_path, content):
    runs = []
    for name, part in (("plain", GOOD), ("odd", content)):
        (tmp_path / name).mkdir()
        folder = folder_with(tmp_path / name, "train", part)
        run = tmp_path / name / "run"
        done = call_train("--data", folder, "--out", run, *OPTIONS)
        assert done.status == 0, done.err
        runs.append((run / "vocabulary.json").read_text())
    assert runs[0] == runs[1]


def test_the_same_line_again_and_again(tmp_path):
    folder = folder_with(tmp_path, "train", b"ab\tba\n" * 20)
    done = call_train("--data", folder, "--out", tmp_path / "run", *OPTIONS)
    assert done.status == 0
    assert done.out.splitlines()[-1].startswith("exact match on test: ")


@pytest.mark.slow
def test_a_source_of_10_000_characters_trains_and_translates(tmp_path):
    """It takes its time, but no more memory than a batch of short ones."""
    splits = Splits(*(part[:20] for part in reversal_splits()))
    folder = write_splits(tmp_path / "data", splits)
    for name in ("train", "test"):
        with open(folder / f"{name}.tsv", "a", encoding="utf-8") as file:
            file.write("abcde" * 2000 + "\tabc\n")
    done = call_train("--data", folder, "--out", tmp_path / "run", *OPTIONS)
    assert done.status == 0, done.err
    assert (tmp_path / "run" / "attention.png").exists()


# --- the run folder


@pytest.mark.parametrize("out", ["file", "file/run"])
def test_a_file_is_in_the_way(tmp_path, out):
    (tmp_path / "file").write_text("mine")
    folder = folder_with(tmp_path, "", None)
    done = call_train("--data", folder, "--out", tmp_path / out, *OPTIONS)
    assert_refused(done, f"{tmp_path / out}: cannot be written to")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path):
    folder, locked = folder_with(tmp_path, "", None), tmp_path / "locked"
    locked.mkdir(mode=0o555)
    try:
        (locked / "probe").touch()
        locked = pathlib.Path("/proc/1")  # the superuser may write everywhere but here
    except PermissionError:
        pass
    done = call_train("--data", folder, "--out", locked / "run", *OPTIONS)
    assert_refused(done, f"{locked / 'run'}: cannot be written to", locked / "run")


def test_a_run_that_exists(trained, reversal_folder):
    before = {path: path.stat().st_mtime_ns for path in trained.path.rglob("*")}
    done = call_train("--data", reversal_folder, "--out", trained.path)
    assert_refused(done, f"--out: {trained.path} already holds a run; give --resume")
    assert before == {path: path.stat().st_mtime_ns for path in trained.path.rglob("*")}


def copy_of(run: pathlib.Path, to: pathlib.Path, without: tuple = ()) -> pathlib.Path:
    to.mkdir()
    for name in ("config.json", "vocabulary.json", "model.keras"):
        if name not in without:
            (to / name).write_bytes((run / name).read_bytes())
    return to


def test_a_config_from_another_version(trained, tmp_path, reversal_folder):
    run = copy_of(trained.path, tmp_path / "run")
    fields = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(fields | {"of_tomorrow": 1}))
    message = f"{run / 'config.json'}: has an option that this version does not know: of_tomorrow"
    assert_refused(call_verb("translate", run, "abc"), message)
    done = call_train("--data", reversal_folder, "--out", run, "--resume")
    assert_refused(done, message)
    del fields["units"]
    (run / "config.json").write_text(json.dumps(fields))
    message = f"{run / 'config.json'}: lacks units; it was written by another version"
    assert_refused(call_verb("translate", run, "abc"), message)


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_a_run_that_is_not_finished(trained, tmp_path, reversal_folder, verb):
    run = copy_of(trained.path, tmp_path / "run", without=("model.keras",))
    done = call_verb(verb, run, reversal_folder / "test.tsv")
    assert_refused(done, f"{run}: holds a run that is not finished")


@pytest.mark.parametrize("name", ["model.keras", "vocabulary.json", "config.json"])
@pytest.mark.parametrize("damage", ["cut", "emptied", "other"])
def test_a_damaged_file_of_a_run(trained, tmp_path, name, damage):
    run = copy_of(trained.path, tmp_path / "run")
    content = (run / name).read_bytes()
    damaged = {"cut": content[: len(content) // 2], "emptied": b"", "other": b'{"a": 1}'}[damage]
    (run / name).write_bytes(damaged)
    # A config.json with no option of ours is another program's: the folder is no run at all.
    is_ours = (name, damage) != ("config.json", "other")
    place = f"{run / name}" if is_ours else f"{run}: is not a model"
    assert_refused(call_verb("translate", run, "abc"), place)


def test_a_model_with_broken_weights(trained, tmp_path):
    run = copy_of(trained.path, tmp_path / "run")
    content = bytearray((run / "model.keras").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = bytes(2000)
    (run / "model.keras").write_bytes(content)
    assert_refused(call_verb("translate", run, "abc"), f"{run / 'model.keras'}: cannot be read")


def test_a_true_process_writes_one_line_and_no_folder(tmp_path):
    folder = folder_with(tmp_path, "train", BROKEN["four columns"][0])
    command = [sys.executable, "train.py", "--data", folder, "--out", tmp_path / "run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {folder / 'train.tsv'}:1: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
