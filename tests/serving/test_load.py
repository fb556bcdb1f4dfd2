"""Under load, in short: benchmarks/serving_load.py has the figures; nothing here is about speed."""

import asyncio
import importlib.util
import json
import shutil
import sys
import time

import pytest

from keras_attention.readers.saved_model_reader import SavedModelReader
from tests.support import ROOT
from tests.support.exports import random_export
from tests.support.servers import server_of


@pytest.fixture(scope="module")
def load():
    path = ROOT / "benchmarks" / "serving_load.py"
    spec = importlib.util.spec_from_file_location("serving_load", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["serving_load"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["serving_load"]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """A copy of an export, that may get versions, and another model of the same name."""
    first, second = random_export()[1], random_export(seed=1)[1]
    copy = tmp_path_factory.mktemp("exports") / "copy"
    shutil.copytree(first, copy)
    name = json.loads((second / "manifest.json").read_text())["name"]
    return copy, second / "serving" / name / "1"


@pytest.fixture(scope="module")
def server(exports):
    with server_of(exports[0], "--poll-seconds", "0.2") as server:
        yield server


def requests_of(load, server, signature="serving_default"):
    texts = [f"ab {i} 가나" for i in range(40)]
    return [load.request_for(server.name, text, signature) for text in texts]


def test_recovery_is_when_the_last_unusual_answer_was_asked_for(load):
    """Of 200 requests, one in a hundred may take longer at any time."""
    usual, slow, refused = (200, 0.01), (200, 0.5), (429, 0.001)

    def after(*odd):
        asked = [(i / 100, *usual) for i in range(200)]
        for place, what in odd:
            asked[place] = (place / 100, *what)
        return load.recovered_after(load.Load(2.0, asked=asked), 0.02)

    assert after() == after((199, slow), (150, refused)) == 0.0
    assert after((30, slow), (20, refused), (10, refused)) == 0.1
    assert after(*((i, refused) for i in range(51)), (199, slow)) == 0.49


@pytest.mark.parametrize("connections", [1, 16, 64])
def test_all_of_up_to_64_connections_are_answered(load, server, connections):
    load_ = asyncio.run(load.closed_loop(server.port, requests_of(load, server), connections, 1))
    assert set(load_.statuses) == {200} and load_.statuses[200] >= connections


def test_requests_that_are_joined_get_the_same_answers_as_alone(server):
    """Many at once, of unequal lengths, each compared with the model."""
    import concurrent.futures

    reader = SavedModelReader(random_export()[1])
    texts = [("ab 0123가나é😀" * 5)[: 1 + i % 60] for i in range(96)]
    expected = reader.translate_batch(texts)

    def ask(chunk):
        return server.predict({"instances": chunk}).body["predictions"]

    chunks = [texts[i : i + 1 + i % 3] for i in range(0, 96)]
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, chunks))
    for start, (chunk, answer) in enumerate(zip(chunks, answers, strict=True)):
        for row, translation in zip(answer, expected[start : start + len(chunk)], strict=True):
            assert row["text"] == translation.text
            assert row["confidence"] == pytest.approx(translation.confidence, abs=1e-5)


def test_beyond_what_can_be_done_requests_are_refused_and_none_is_lost(load, server):
    before = load.resident_megabytes(server.process)
    requests = requests_of(load, server, "beam")
    loaded = asyncio.run(load.open_loop(server.port, requests, rate=1500, seconds=3))
    assert set(+loaded.statuses) <= {200, 429}
    assert loaded.statuses[429] > 0, "that was no overload"
    assert loaded.statuses[200] > 0
    assert loaded.statuses.total() == 4500
    assert server.predict({"instances": ["ab"]}).status == 200
    assert load.resident_megabytes(server.process) < before + 200


def test_a_newer_version_is_taken_without_losing_a_request(load, server, exports):
    copy, newer = exports
    versions = copy / "serving" / server.name
    before = server.predict({"instances": ["ab 12"]}).body
    (versions / "garbage").mkdir()
    (versions / "7").touch()  # a file is no version

    async def swap():
        loading = asyncio.ensure_future(
            load.open_loop(server.port, requests_of(load, server), rate=40, seconds=8)
        )
        await asyncio.sleep(0.5)
        shutil.copytree(newer, versions / ".new")
        (versions / ".new").rename(versions / "2")
        return await loading

    loaded = asyncio.run(swap())
    assert set(+loaded.statuses) <= {200, 429}, "each is answered; a slow machine may be busy"
    assert loaded.statuses.total() == 320
    wait_for_version(server, "2")
    answer = server.predict({"instances": ["ab 12"]}).body
    expected = SavedModelReader(random_export(seed=1)[1]).translate_batch(["ab 12"])[0]
    assert answer != before and answer["predictions"][0]["text"] == expected.text
    assert states_of(server) == {"2": "AVAILABLE", "1": "END"}
    old = server.predict({"instances": ["ab"]}, "/versions/1")
    message = f"Servable not found for request: Specific({server.name}, 1)"
    assert (old.status, old.body) == (404, {"error": message})
    assert (
        server.ask("GET", f"/v1/models/{server.name}/metadata").body["model_spec"]["version"] == "2"
    )

    # What cannot be loaded is reported, and changes nothing.
    (versions / "9").mkdir()
    (versions / "9" / "saved_model.pb").write_bytes(b"\0broken")
    wait_for(lambda: states_of(server).get("9") == "END")
    assert server.predict({"instances": ["ab 12"]}).body == answer
    status = server.ask("GET", f"/v1/models/{server.name}/versions/9").body
    assert status["model_version_status"][0]["status"]["error_message"]

    # Taking the newest away goes back to the one before.
    shutil.rmtree(versions / "9")
    shutil.rmtree(versions / "2")
    wait_for_version(server, "1")
    assert server.predict({"instances": ["ab 12"]}).body == before


def states_of(server):
    states = server.ask("GET", f"/v1/models/{server.name}").body["model_version_status"]
    return {state["version"]: state["state"] for state in states}


def wait_for_version(server, version):
    wait_for(lambda: states_of(server).get(version) == "AVAILABLE")


def wait_for(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "never became true"
        time.sleep(0.1)
