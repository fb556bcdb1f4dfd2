"""Versions that are copied slowly, broken, repaired and removed while they are served."""

import asyncio
import json
import os
import pathlib
import shutil
import time

import pytest
import tensorflow as tf

from keras_attention.errors import UserError
from keras_attention.export.saved_model import write_saved_model
from keras_attention.readers.saved_model_reader import SavedModelReader
from keras_attention.serving import model_versions
from keras_attention.serving.loaded_version import LoadedVersion
from keras_attention.serving.model_versions import ModelVersions
from tests.support.exports import random_export, random_run, random_texts
from tests.support.servers import server_of

TEXT = "ab 12"


@pytest.fixture(scope="module")
def newer() -> pathlib.Path:
    """A version folder of another model of the same name."""
    return folder_of(random_export(seed=1)[1]) / "1"


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """What the two models say."""
    return {
        name: SavedModelReader(random_export(seed=seed)[1]).translate_batch([TEXT])[0].text
        for name, seed in (("old", 0), ("new", 1))
    }


@pytest.fixture
def export(tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(random_export()[1], tmp_path / "export"))


def folder_of(export: pathlib.Path) -> pathlib.Path:
    name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
    return export / "serving" / name


def put(version: pathlib.Path, to: pathlib.Path) -> None:
    """As an export does it: whole, by one rename."""
    shutil.copytree(version, to.with_name(".new"))
    to.with_name(".new").rename(to)


async def no_calls(version) -> None:
    """Stands for a batcher that runs nothing."""


def look(versions: ModelVersions, times: int = 1) -> None:
    for _ in range(times):
        asyncio.run(versions._refresh(no_calls))


def said(versions: ModelVersions) -> str:
    return versions.current.signature("")([TEXT.encode()])["text"][0].decode()


@pytest.fixture
def versions(export) -> ModelVersions:
    return ModelVersions("NAME", folder_of(export))


def empty(folder):
    folder.mkdir()


def only_the_graph(folder):
    folder.mkdir()
    return ["saved_model.pb"]


def empty_graph(folder):
    folder.mkdir()
    (folder / "saved_model.pb").touch()


def truncated_variables(folder):
    shutil.copytree(folder.with_name("whole"), folder)
    data = folder / "variables" / "variables.data-00000-of-00001"
    with open(data, "r+b") as file:
        file.truncate(data.stat().st_size // 2)


def flipped_variables(folder):
    shutil.copytree(folder.with_name("whole"), folder)
    data = folder / "variables" / "variables.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[100] ^= 0xFF
    data.write_bytes(content)


def garbage(folder):
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"\0broken")


@pytest.mark.parametrize(
    "broken", [empty, only_the_graph, empty_graph, truncated_variables, flipped_variables, garbage]
)
def test_a_version_that_is_not_whole_is_taken_once_it_is(export, versions, newer, answers, broken):
    folder = folder_of(export)
    shutil.copytree(newer, folder / "whole")  # no number, so no version
    for name in broken(folder / "2") or ():
        shutil.copy(newer / name, folder / "2" / name)
    look(versions, times=3)
    assert said(versions) == answers["old"]
    (state,) = versions.status("NAME", 2)["model_version_status"]
    assert state["state"] == "END" and state["status"]["error_message"]
    shutil.copytree(newer, folder / "2", dirs_exist_ok=True)
    look(versions, times=2)
    assert versions.current.number == 2 and said(versions) == answers["new"]
    (state,) = versions.status("NAME", 2)["model_version_status"]
    assert state["state"] == "AVAILABLE" and state["status"]["error_code"] == "OK"


def test_what_does_not_change_is_not_tried_again(export, versions, newer, monkeypatch):
    from keras_attention.serving import model_versions

    tried = []
    real = model_versions.LoadedVersion

    def counting(number, *arguments):
        tried.append(number)
        return real(number, *arguments)

    monkeypatch.setattr(model_versions, "LoadedVersion", counting)
    folder = folder_of(export)
    empty(folder / "3")
    look(versions, times=5)
    assert tried == [3]
    # While it grows it is looked at only: what is half there would fail.
    for size in range(1, 5):
        (folder / "3" / "saved_model.pb").write_bytes(b"x" * size)
        look(versions)
    assert tried == [3]
    look(versions, times=3)
    assert tried == [3, 3]
    # A broken newest one does not hide a good one below it.
    put(newer, folder / "2")
    look(versions)
    assert versions.current.number == 2


def test_a_content_of_the_same_sizes_and_times_is_another(export, versions, newer, answers):
    """As `cp -p` or `rsync` repair a file."""
    folder = folder_of(export)
    shutil.copytree(newer, folder / "whole")
    flipped_variables(folder / "2")
    data = folder / "2" / "variables" / "variables.data-00000-of-00001"
    times = data.stat()
    look(versions)
    shutil.copy(newer / "variables" / data.name, data)
    os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))
    look(versions, times=2)
    assert said(versions) == answers["new"]


def test_a_version_removed_and_put_back(export, versions, newer, answers):
    folder = folder_of(export)
    put(newer, folder / "2")
    look(versions)
    assert said(versions) == answers["new"]
    shutil.rmtree(folder / "2")
    look(versions)
    assert said(versions) == answers["old"]
    put(newer, folder / "2")
    look(versions)
    assert said(versions) == answers["new"]
    shutil.rmtree(folder / "2")
    shutil.rmtree(folder / "1")
    look(versions)
    assert said(versions) == answers["new"], "with nothing in its place it stays"


def test_zeros_before_a_number(export, versions, newer, answers):
    put(newer, folder_of(export) / "007")
    look(versions)
    assert versions.current.number == 7 and said(versions) == answers["new"]


def test_numbers_beyond_64_bits_are_passed_by(export, versions, newer):
    put(newer, folder_of(export) / "99999999999999999999")
    look(versions)
    assert versions.current.number == 1


def test_a_start_while_the_newest_is_being_copied_serves_the_one_before(export, newer, answers):
    folder = folder_of(export)
    only_the_graph(folder / "2")
    versions = ModelVersions("NAME", folder)
    assert versions.current.number == 1
    shutil.copytree(newer, folder / "2", dirs_exist_ok=True)
    look(versions, times=2)
    assert said(versions) == answers["new"]


def test_a_start_with_nothing_that_can_be_loaded_is_told(export):
    folder = folder_of(export)
    shutil.rmtree(folder / "1")
    garbage(folder / "3")
    with pytest.raises(UserError, match="/3: cannot be loaded"):
        ModelVersions("NAME", folder)
    shutil.rmtree(folder / "3")
    with pytest.raises(UserError, match="holds no version"):
        ModelVersions("NAME", folder)


def test_a_version_with_a_table_of_words(tmp_path):
    """Tables are filled when a version is loaded."""
    run = random_run(seed=4, tokens=("word", "word"), attention="none")
    write_saved_model(run, tmp_path / "1", "NAME", 2, 0.0)
    version = LoadedVersion(1, tmp_path / "1")
    texts = [text.encode() for text in random_texts(run.source, 8)]
    served = tf.saved_model.load(str(tmp_path / "1"))
    expected = served.signatures["serving_default"](text=tf.constant(texts))
    found = version.signature("")(texts)
    assert found["text"].tolist() == expected["text"].numpy().tolist()
    assert version.source_tokens.count("bb never 날짜 seen".encode()) == (4, 2)
    version.close()


def test_it_says_while_it_loads(export, versions, newer, monkeypatch):
    """So that what arrives meanwhile may wait, see `Batcher`."""
    seen, load = [], model_versions._load_politely

    def watched(*arguments):
        seen.append(versions.loading)
        return load(*arguments)

    monkeypatch.setattr(model_versions, "_load_politely", watched)
    assert not versions.loading
    put(newer, folder_of(export) / "2")
    garbage(folder_of(export) / "3")
    look(versions)
    assert seen == [True, True] and not versions.loading


def test_what_was_replaced_is_drained_and_then_closed(export, versions, newer):
    before = versions.current
    events = []

    async def drain(version):
        assert version is before and versions.current is not before
        assert version.signature("")([b"a"])["text"].shape == (1,), "it still answers"
        events.append("drained")

    put(newer, folder_of(export) / "2")
    asyncio.run(versions._refresh(drain))
    assert events == ["drained"]
    with pytest.raises(RuntimeError, match="closed"):
        before.signature("")([b"a"])


@pytest.mark.slow
def test_no_answer_is_lost_while_versions_come_broken_and_whole(export, newer, answers):
    """In short: benchmarks/version_soak.py does it for long."""
    import concurrent.futures

    folder = folder_of(export)
    with server_of(export, "--poll-seconds", "0.2") as server:
        stop = False
        seen: list[tuple[int, str]] = []

        def ask():
            while not stop:
                answer = server.predict({"instances": [TEXT]})
                body = answer.body
                seen.append((answer.status, body.get("predictions", [{}])[0].get("text", "")))
                time.sleep(0.02)

        def wait_for(text, seconds=30):
            end = time.monotonic() + seconds
            while seen[-1][1] != text:
                assert time.monotonic() < end, f"{text!r} was never answered"
                time.sleep(0.1)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            asking = [pool.submit(ask) for _ in range(2)]
            try:
                while not seen:
                    time.sleep(0.1)
                only_the_graph(folder / "2")
                for path in sorted(newer.rglob("*")):  # slowly
                    to = folder / "2" / path.relative_to(newer)
                    if path.is_dir():
                        to.mkdir(exist_ok=True)
                    else:
                        shutil.copy(path, to)
                    time.sleep(0.4)
                wait_for(answers["new"])
                garbage(folder / "3")
                time.sleep(1)
                assert seen[-1][1] == answers["new"]
                shutil.rmtree(folder / "3")
                shutil.rmtree(folder / "2")
                wait_for(answers["old"])
            finally:
                stop = True
            for future in asking:
                future.result()
    assert {status for status, _ in seen} == {200}
    assert {text for _, text in seen} == set(answers.values())
