"""How many requests `python -m keras_attention serve` answers, and what happens beyond that.

    python benchmarks/serving_load.py EXPORT [--seconds 5] [--overload-seconds 300] [--out FILE]

Starts the server as a process of its own on a free port of this machine and asks it from this one:

- closed loop, 1 to 64 connections, each asking again as soon as it is answered: the most that can
  be answered a second, the peak;
- half of the peak, at even intervals whatever the server does, so that waiting counts as latency;
- 150 % of the peak for a while: how many were answered with 200 and with 429, whether any was lost,
  and the server's memory; straight after it half of the peak again, and the seconds until the last
  request that was refused, or answered later than 99 of 100 at half of the peak;
- a new version put into place under half of the peak.

One text a request, of 14 to 22 characters, `serving_default`; latencies in milliseconds. About
seven minutes with the default times; everything stops by itself. Both processes share the cores.
"""

import argparse
import asyncio
import collections
import contextlib
import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.result_files import add_out_option, write_results  # noqa: E402

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
MOST_CONNECTIONS = 256
IDLE_SECONDS = 10  # after which a client drops a connection, before the server does
TEXTS = [f"{month} {day}, {1970 + day}" for month in ("march", "september") for day in range(1, 29)]


@dataclasses.dataclass
class Load:
    """What came back.

    Attributes:
        seconds: How long requests were sent.
        statuses: Answers by HTTP status; 0 counts requests without an answer.
        latencies: Seconds of each answer with status 200.
        asked: Of an open loop, for each answer: when it was due, its status, and its seconds.
    """

    seconds: float
    statuses: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    latencies: list[float] = dataclasses.field(default_factory=list)
    asked: list[tuple[float, int, float]] = dataclasses.field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests answered with 200 a second."""
        return self.statuses[200] / self.seconds

    def summary(self) -> dict:
        cuts = (
            statistics.quantiles(self.latencies, n=1000) if len(self.latencies) > 1 else [0] * 999
        )
        named = {"p50": cuts[499], "p95": cuts[949], "p99": cuts[989]}
        return {
            "per_second": round(self.rate, 1),
            **{name: round(1000 * cut, 2) for name, cut in named.items()},
            "most": round(1000 * max(self.latencies, default=0), 2),
            "statuses": dict(sorted(self.statuses.items())),
        }


class Connection(asyncio.Protocol):
    """One connection that asks one request at a time, with as little work as Python allows."""

    @classmethod
    async def open(cls, port: int) -> "Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, "127.0.0.1", port)
        return connection

    def connection_made(self, transport) -> None:
        self._transport = transport
        self._received = bytearray()
        self._answer: asyncio.Future | None = None
        self._used = time.perf_counter()

    def ask(self, request: bytes) -> asyncio.Future:
        """A future of the status; 0 where the connection was lost."""
        self._answer = asyncio.get_running_loop().create_future()
        if self._transport.is_closing():
            self._answer.set_result(0)
        else:
            self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = bytes(self._received[:head_end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(self._received) < head_end + 4 + length:
            return
        self._received.clear()
        self._finish(int(head[9:12]))

    def connection_lost(self, error) -> None:
        self._finish(0)

    def _finish(self, status: int) -> None:
        self._used = time.perf_counter()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)

    @property
    def stale(self) -> bool:
        """Whether it is closed, or so long idle that the server may be about to close it."""
        if time.perf_counter() - self._used > IDLE_SECONDS:
            self.close()
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()


def request_for(name: str, text: str, signature: str = "serving_default") -> bytes:
    """The bytes of a predict request."""
    body = json.dumps({"signature_name": signature, "instances": [text]}).encode()
    head = f"POST /v1/models/{name}:predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def closed_loop(port: int, requests: list[bytes], connections: int, seconds: float) -> Load:
    """Each connection asks again as soon as it has its answer."""
    load = Load(seconds)
    end = time.perf_counter() + seconds

    async def ask_on(place: int) -> None:
        connection = await Connection.open(port)
        while (start := time.perf_counter()) < end:
            place += 1
            status = await connection.ask(requests[place % len(requests)])
            load.statuses[status] += 1
            if status == 200:
                load.latencies.append(time.perf_counter() - start)
            elif status == 0:
                connection = await Connection.open(port)
        connection.close()

    await asyncio.gather(*(ask_on(7 * i) for i in range(connections)))
    return load


async def open_loop(port: int, requests: list[bytes], rate: float, seconds: float) -> Load:
    """`rate` requests a second at even intervals, whether or not earlier ones are answered."""
    load = Load(seconds)
    idle: list[Connection] = []
    opened, asking = 0, set()

    async def ask(due: float, request: bytes, connection: Connection | None) -> None:
        if connection is None or connection.stale:
            connection = await Connection.open(port)
        status = await connection.ask(request)
        load.statuses[status] += 1
        seconds = time.perf_counter() - due
        load.asked.append((due - start, status, seconds))
        if status == 200:
            load.latencies.append(seconds)
        idle.append(connection)

    start = time.perf_counter()
    for place in range(round(rate * seconds)):
        due = start + place / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        elif place % 8 == 0:
            await asyncio.sleep(0)  # late: let the answers in all the same
        while not idle and opened >= MOST_CONNECTIONS:
            await asyncio.sleep(0.001)
        connection = idle.pop() if idle else None
        opened += connection is None
        task = asyncio.ensure_future(ask(due, requests[place % len(requests)], connection))
        asking.add(task)
        task.add_done_callback(asking.discard)
    load.seconds = time.perf_counter() - start
    if asking:
        await asyncio.wait(asking, timeout=60)
    load.statuses[0] += len(asking)
    for connection in idle:
        connection.close()
    return load


@contextlib.contextmanager
def running_server(export: pathlib.Path, *options: str) -> Iterator[tuple[subprocess.Popen, int]]:
    """A server of an export on a free port of this machine, ended with the block."""
    command = [sys.executable, "-m", "keras_attention", "serve", str(export), "--port", "0"]
    with subprocess.Popen(
        [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            line = server.stdout.readline()
            if not line.startswith("serving"):
                raise RuntimeError(f"the server did not start: {line}")
            yield server, int(line.rstrip("/\n").rpartition(":")[2])
        finally:
            server.terminate()
            server.wait(timeout=60)


def resident_megabytes(process: subprocess.Popen) -> float:
    """Memory that a process holds (Linux)."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def overload(
    server: subprocess.Popen, port: int, requests: list[bytes], rate: float, seconds: float
) -> dict:
    """Open loop at `rate`, with the server's memory every tenth of the time."""
    memory = []

    async def watch() -> None:
        while True:
            memory.append(round(resident_megabytes(server), 1))
            await asyncio.sleep(seconds / 10)

    watching = asyncio.ensure_future(watch())
    load = await open_loop(port, requests, rate, seconds)
    watching.cancel()
    memory.append(round(resident_megabytes(server), 1))
    sent = round(load.statuses.total() / load.seconds, 1)
    return {"sent_per_second": sent, **load.summary(), "memory_mb": memory}


def recovered_after(load: Load, usual_seconds: float) -> float:
    """Seconds until requests at a bearable rate are all answered, and as fast as usual."""
    late = [due for due, status, seconds in load.asked if status != 200 or seconds > usual_seconds]
    # Of a hundred that are answered as usual, one takes longer: that many are none of its doing.
    usual = len(load.asked) // 100
    return round(sorted(late)[-usual - 1], 3) if len(late) > usual else 0.0


async def swap(
    server: subprocess.Popen, port: int, requests: list[bytes], rate: float, versions: pathlib.Path
) -> dict:
    """Half the peak while a version 2 is put into place as export.py does it."""
    loading = asyncio.ensure_future(open_loop(port, requests, rate, 20))
    await asyncio.sleep(4)
    shutil.copytree(versions / "1", versions / ".new")
    (versions / ".new").rename(versions / "2")
    load = await loading
    status = await asyncio.to_thread(_status, port, versions.name)
    return {**load.summary(), "versions": status}


def _status(port: int, name: str) -> dict:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models/{name}", timeout=30) as reply:
        states = json.load(reply)["model_version_status"]
    return {state["version"]: state["state"] for state in states}


async def measure(export: pathlib.Path, seconds: float, overload_seconds: float) -> dict:
    name = json.loads((export / "manifest.json").read_text(encoding="utf-8"))["name"]
    requests = [request_for(name, text) for text in TEXTS]
    report: dict = {"closed_loop": {}}
    with running_server(export, "--no-access-log") as (server, port):
        await closed_loop(port, requests, 8, 2)  # warm
        for connections in CONNECTIONS:
            load = await closed_loop(port, requests, connections, seconds)
            report["closed_loop"][connections] = load.summary()
            print(f"{connections:3} connections: {load.summary()}", flush=True)
        peak = max(row["per_second"] for row in report["closed_loop"].values())
        report["peak"] = peak
        report["half_of_peak"] = (await open_loop(port, requests, peak / 2, 4 * seconds)).summary()
        print("half of the peak:", report["half_of_peak"], flush=True)
        report["overload"] = await overload(server, port, requests, 1.5 * peak, overload_seconds)
        print("150 % of the peak:", report["overload"], flush=True)
        after = await open_loop(port, requests, peak / 2, 2 * seconds)
        usual = report["half_of_peak"]["p99"] / 1000
        recovered = recovered_after(after, usual)
        report["after_overload"] = {**after.summary(), "recovered_after_seconds": recovered}
        print("after it:", report["after_overload"], flush=True)
        versions = export / "serving" / name
        report["swap"] = await swap(server, port, requests, peak / 2, versions)
        print("a new version:", report["swap"], flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--overload-seconds", type=float, default=300)
    add_out_option(parser, "serving_load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:  # the swap writes a version
        copy = pathlib.Path(folder) / "export"
        shutil.copytree(options.export, copy)
        report = asyncio.run(measure(copy, options.seconds, options.overload_seconds))
    write_results(options.out, report)


if __name__ == "__main__":
    main()
