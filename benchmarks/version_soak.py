"""Versions that come slowly, broken, repaired, whole and go again, while a server is asked.

    python -m benchmarks.version_soak EXPORT [--minutes 20] [--rate R] [--kill] [--out FILE]

Sends R requests a second at even intervals (by default 70 % of the peak, measured first), some of
them broken, with clients beside it that send a byte a second, and in every minute

1. copies a version 2 file by file, slowly;
2. puts a version 3 into place whole, by one rename, as export.py does it;
3. lets a version 4 appear with half of its variables, and repairs it;
4. removes versions 4, 3 and 2, the newest first, so that version 1 is served again.

With `--kill` the process is ended by SIGKILL in the middle of the time and started again; what is
asked meanwhile is counted apart. The JSON says, for every step, how long it took until the right
version answered, and for the whole time: answers by status, requests lost, latencies, memory, and
whether the server's own metrics add up to what was counted here: once for each process that
served, at a moment when no request is under way.

Ends with status 1 where an answer was lost, a good request refused, a version late (30 s), the
memory not flat (a tenth more in the last third of the time than at most in the first), or the
metrics do not add up.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable

from benchmarks.result_files import ROOT, add_out_option, write_results
from benchmarks.serving_load import (
    TEXTS,
    Connection,
    Load,
    closed_loop,
    request_for,
    resident_megabytes,
)

LATEST_SECONDS = 30
MOST_GROWTH = 1.1  # of the memory
SENT_AWAY = 408  # what a slow client is answered
BROKEN = b'{"instances": ["a"'  # every hundredth body


class Server:
    """A server process on one port, which can be ended and started again."""

    def __init__(self, export: pathlib.Path, options: tuple[str, ...] = ()):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._command = [
            *(sys.executable, "-m", "keras_attention", "serve", str(export)),
            *("--port", str(self.port), "--no-access-log", *options),
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self._command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if not (line := self.process.stdout.readline()).startswith("serving"):
            raise RuntimeError(f"the server did not start: {line}{self.process.stderr.read()}")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)

    def get(self, path: str) -> bytes:
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.read()


class Soak:
    """Requests at even intervals until it is told to stop.

    Attributes:
        load: Good requests while the server was up.
        answered: Statuses of all requests since the process that serves now was started.
        broken: Statuses of the broken ones.
        down: Statuses of all requests while the server was being restarted.
        is_down: Set by who restarts it.
    """

    def __init__(self, port: int, name: str, rate: float):
        self.load = Load(0.0)
        self.broken: collections.Counter = collections.Counter()
        self.down: collections.Counter = collections.Counter()
        self.is_down = False
        self.answered: collections.Counter = collections.Counter()
        self._may_ask = asyncio.Event()
        self._may_ask.set()
        self._port = port
        self._rate = rate
        self._good = [request_for(name, text) for text in TEXTS]
        head = f"POST /v1/models/{name}:predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        self._broken = f"{head}Content-Length: {len(BROKEN)}\r\n\r\n".encode() + BROKEN
        self._idle: list[Connection] = []
        self._asking: set[asyncio.Task] = set()
        self._stop = False

    async def run(self) -> None:
        start = time.perf_counter()
        place = 0
        while not self._stop:
            due = start + place / self._rate
            wait = due - time.perf_counter()
            await asyncio.sleep(max(wait, 0) if wait > 0 or place % 8 == 0 else 0)
            if not self._may_ask.is_set():
                held = time.perf_counter()
                await self._may_ask.wait()
                start += time.perf_counter() - held
                continue
            task = asyncio.ensure_future(self._ask(due, place))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
            place += 1
        if self._asking:
            await asyncio.wait(self._asking, timeout=60)
        self.load.statuses[0] += len(self._asking)
        self.load.seconds = time.perf_counter() - start
        for connection in self._idle:
            connection.close()

    def stop(self) -> None:
        self._stop = True

    @contextlib.asynccontextmanager
    async def silence(self) -> AsyncIterator[None]:
        """A time in which nothing is asked and nothing is under way."""
        self._may_ask.clear()
        if self._asking:
            await asyncio.wait(self._asking, timeout=60)
        try:
            yield
        finally:
            self._may_ask.set()

    async def _ask(self, due: float, place: int) -> None:
        broken = place % 100 == 99
        request = self._broken if broken else self._good[place % len(self._good)]
        began_down = self.is_down
        connection = None
        while self._idle and connection is None:
            connection = self._idle.pop()
            connection = None if connection.stale else connection
        try:
            connection = connection or await Connection.open(self._port)
            status = await connection.ask(request)
        except OSError:
            status = 0
        self.answered[status] += 1
        if began_down or self.is_down:
            self.down[status] += 1
        elif broken:
            self.broken[status] += 1
        else:
            self.load.statuses[status] += 1
            if status == 200:
                self.load.latencies.append(time.perf_counter() - due)
        if connection is not None and status:
            self._idle.append(connection)


async def slow_client(port: int, name: str) -> None:
    """Sends a byte of a request a second, for ever, and begins anew when it is sent away."""
    text = f"POST /v1/models/{name}:predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n"
    text += "\r\n" + "x" * 500
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            for letter in text.encode():
                writer.write(bytes([letter]))
                await writer.drain()
                await asyncio.sleep(1)
                if writer.transport.is_closing():
                    break
            writer.close()
        await asyncio.sleep(1)


class Steps:
    """What happens to the version folders, with the time until the right one is served."""

    def __init__(self, server: Server, versions: pathlib.Path, newer: pathlib.Path, pause: float):
        self._server = server
        self._versions = versions
        self._newer = newer
        self._pause = pause
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)

    async def once(self) -> None:
        """All steps, one after the other."""
        await self._step("copied slowly", self._copy_slowly, 2)
        await self._step("put whole", self._put_whole, 3)
        await self._step("broken", self._break, 3)
        await self._step("repaired", self._repair, 4)
        for number in (4, 3, 2):
            await self._step("removed", lambda number=number: self._remove(number), number - 1)

    async def _step(self, name: str, act: Callable[[], Awaitable[None]], served: int) -> None:
        await act()
        start = time.perf_counter()
        while await asyncio.to_thread(self._served) != served:
            if time.perf_counter() - start > 4 * LATEST_SECONDS:
                raise RuntimeError(f"{name}: version {served} was never served")
            await asyncio.sleep(0.1)
        self.seconds[name].append(round(time.perf_counter() - start, 2))
        await asyncio.sleep(self._pause)

    def _served(self) -> int | None:
        status = self._server.get(f"/v1/models/{self._versions.name}")
        states = json.loads(status)["model_version_status"]
        served = [int(state["version"]) for state in states if state["state"] == "AVAILABLE"]
        return max(served, default=None)

    async def _copy_slowly(self) -> None:
        for path in sorted(self._newer.rglob("*"), reverse=True):
            to = self._versions / "2" / path.relative_to(self._newer)
            if path.is_file():
                to.parent.mkdir(parents=True, exist_ok=True)
                content = path.read_bytes()
                for size in range(0, len(content) + 1, max(1, len(content) // 3)):
                    to.write_bytes(content[:size])
                    await asyncio.sleep(0.3)
                to.write_bytes(content)

    async def _put_whole(self) -> None:
        await asyncio.to_thread(shutil.copytree, self._newer, self._versions / ".new")
        (self._versions / ".new").rename(self._versions / "3")

    async def _break(self) -> None:
        await asyncio.to_thread(shutil.copytree, self._newer, self._versions / ".new")
        data = self._versions / ".new" / "variables" / "variables.data-00000-of-00001"
        with open(data, "r+b") as file:
            file.truncate(data.stat().st_size // 2)
        (self._versions / ".new").rename(self._versions / "4")
        await asyncio.sleep(3)

    async def _repair(self) -> None:
        name = pathlib.Path("variables") / "variables.data-00000-of-00001"
        await asyncio.to_thread(shutil.copy, self._newer / name, self._versions / "4" / name)

    async def _remove(self, number: int) -> None:
        await asyncio.to_thread(shutil.rmtree, self._versions / str(number))


def counted(server: Server) -> collections.Counter:
    """Predict requests by HTTP status, as the server's metrics have them."""
    page = server.get("/monitoring/prometheus/metrics").decode()
    found: collections.Counter = collections.Counter()
    for code, value in re.findall(
        r'^keras_attention_requests_total\{.*code="(\d+)"\} (\d+)', page, re.M
    ):
        found[int(code)] += int(value)
    return found


async def compared(server: Server, soaking: Soak, before: collections.Counter) -> dict:
    """Predict requests as the server's metrics and as its clients have counted them, by status."""
    async with soaking.silence():
        after = await asyncio.to_thread(counted, server)
    metrics = after - before
    metrics.pop(SENT_AWAY, None)  # slow clients count nothing
    clients = dict(+soaking.answered)
    return {"metrics": dict(sorted(metrics.items())), "clients": dict(sorted(clients.items()))}


def is_flat(memory: list[float]) -> bool:
    """Whether the last third of some measurements is no more than `MOST_GROWTH` times the first."""
    third = -(-len(memory) // 3)
    return max(memory[-third:]) <= MOST_GROWTH * max(memory[:third])


async def killed_and_started(server: Server, soaking: Soak) -> collections.Counter:
    """Ends the process in the middle of its work and starts the next; what that one has counted."""
    soaking.is_down = True
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    async with soaking.silence():  # so that what was asked of the old one is not counted here
        soaking.is_down = False
        soaking.answered.clear()
        return await asyncio.to_thread(counted, server)


async def soak(
    export: pathlib.Path, minutes: float, rate: float | None, kill: bool, pause: float = 3.0
) -> dict:
    """Runs it all; see the module."""
    name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
    versions = export / "serving" / name
    server = Server(export)
    try:
        if rate is None:
            requests = [request_for(name, text) for text in TEXTS]
            await closed_loop(server.port, requests, 8, 2)  # warm
            rate = 0.7 * (await closed_loop(server.port, requests, 64, 5)).rate
        before = counted(server)
        soaking = Soak(server.port, name, rate)
        steps = Steps(server, versions, versions / "1", pause)
        asking = asyncio.ensure_future(soaking.run())
        slow = [asyncio.ensure_future(slow_client(server.port, name)) for _ in range(8)]
        memory: list[list[float]] = [[]]  # of each process
        comparisons = []
        start = time.perf_counter()
        while time.perf_counter() - start < 60 * minutes or not memory[-1]:
            began = time.perf_counter()
            await steps.once()
            memory[-1].append(round(resident_megabytes(server.process), 1))
            print(f"{time.perf_counter() - start:6.0f} s {memory[-1][-1]} MB", flush=True)
            if kill and len(memory) == 1 and time.perf_counter() - start > 30 * minutes:
                comparisons.append(await compared(server, soaking, before))
                before = await killed_and_started(server, soaking)
                memory.append([])
            rest = min(60, 60 * minutes) - (time.perf_counter() - began)
            await asyncio.sleep(max(0.0, rest))
        comparisons.append(await compared(server, soaking, before))
        soaking.stop()
        await asking
        for client in slow:
            client.cancel()
    finally:
        server.stop()
    good = soaking.load.statuses
    return {
        "minutes": round(soaking.load.seconds / 60, 2),
        "asked_per_second": round(rate, 1),
        **soaking.load.summary(),
        "lost": good[0],
        "refused": good[429] + good[503],
        "broken_bodies": dict(sorted(soaking.broken.items())),
        "while_restarting": dict(sorted(soaking.down.items())),
        "seconds_until_served": {name: sorted(s) for name, s in steps.seconds.items()},
        "latest": max(max(s) for s in steps.seconds.values()),
        "memory_mb": memory,
        "memory_flat": all(map(is_flat, memory)),
        "counted": comparisons,
        "metrics_add_up": all(each["metrics"] == each["clients"] for each in comparisons),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--kill", action="store_true")
    add_out_option(parser, "version_soak")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:  # versions come and go in a copy
        copy = pathlib.Path(folder) / "export"
        shutil.copytree(options.export, copy)
        report = asyncio.run(soak(copy, options.minutes, options.rate, options.kill))
    print(json.dumps(report, indent=1))
    write_results(options.out, report)
    late = report["latest"] > LATEST_SECONDS
    right = report["memory_flat"] and report["metrics_add_up"]
    if report["lost"] or report["refused"] or late or not right:
        sys.exit(1)


if __name__ == "__main__":
    main()
