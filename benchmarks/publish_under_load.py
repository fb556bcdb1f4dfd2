"""Publishing under load: `python -m benchmarks.publish_under_load`.

Trains three models of a part of the dates, a poor one, a middling one and a good one, exports and
serves the middling one, and asks the server steadily while

1. the poor one is to be published (`export --against`), which is refused;
2. the good one is, which is published and taken over by the server;
3. `rollback` gives the middling one back.

The JSON holds the answers by status and the requests lost, in all and in each step, what
`--against` said, and which versions were served. Ends with status 1 where an answer was lost or a
step did not end as it should. Finished trainings in `--out-runs` are not done again.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import time

from benchmarks.result_files import ROOT, add_out_option, write_results
from benchmarks.serving_load import TEXTS, Connection, request_for, running_server
from keras_attention.folders.run_folder import is_finished, read_metrics

PAIRS = 6000
MODELS = {
    "poor": ("--units", "32", "--epochs", "3"),
    "middling": ("--units", "64", "--epochs", "8"),
    "good": ("--units", "128", "--epochs", "16"),
}
CONNECTIONS, PAUSE = 4, 0.05  # s between two requests of a connection
LATEST_SECONDS = 300  # for a step, on a busy machine


def write_data(folder: pathlib.Path) -> pathlib.Path:
    """The first lines of the committed parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, most in (("train", PAIRS), ("valid", 500), ("test", 1000)):
        with open(ROOT / "data" / "dates" / f"{part}.tsv", encoding="utf-8", newline="") as file:
            lines = [line for line, _ in zip(file, range(most), strict=False)]
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8", newline="")
    return folder


def command(*arguments) -> subprocess.CompletedProcess:
    """`python -m keras_attention ARGUMENTS`."""
    line = [sys.executable, "-m", "keras_attention", *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")


class Asking:
    """Requests at a steady pace on some connections.

    Attributes:
        statuses: Answers by status in each step; 0 is a request that got none.
        step: Under which name they are counted.
    """

    def __init__(self, port: int, name: str):
        self.statuses: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.step = "before"
        self._port = port
        self._requests = [request_for(name, text) for text in TEXTS]
        self._stopped = False

    async def run(self) -> None:
        await asyncio.gather(*(self._ask(number) for number in range(CONNECTIONS)))

    def stop(self) -> None:
        self._stopped = True

    async def _ask(self, number: int) -> None:
        connection = None
        while not self._stopped:
            number += 1
            try:
                if connection is None or connection.stale:
                    connection = await Connection.open(self._port)
                status = await connection.ask(self._requests[number % len(self._requests)])
            except OSError:
                status, connection = 0, None
            self.statuses[self.step][status] += 1
            await asyncio.sleep(PAUSE)
        if connection is not None:
            connection.close()


async def served(port: int, name: str, wanted: int) -> float:
    """Seconds until a version is the one that is served.

    Raises:
        TimeoutError: it is not.
    """
    start = time.perf_counter()
    while time.perf_counter() - start < LATEST_SECONDS:
        if await asyncio.to_thread(newest, port, name) == wanted:
            return time.perf_counter() - start
        await asyncio.sleep(0.2)
    raise TimeoutError(f"version {wanted} is not served")


def newest(port: int, name: str) -> int:
    """The version that answers now, as the metadata reply says."""
    import urllib.request

    url = f"http://127.0.0.1:{port}/v1/models/{name}/metadata"
    with urllib.request.urlopen(url, timeout=60) as reply:
        return int(json.load(reply)["model_spec"]["version"])


async def steps(port: int, name: str, export: pathlib.Path, runs: dict, data: pathlib.Path) -> dict:
    """All three steps under load, and what became of them."""
    asking = Asking(port, name)
    task = asyncio.create_task(asking.run())
    await asyncio.sleep(2)
    found = {}
    for step, model, status, version in (
        ("the poor one is refused", "poor", 3, 1),
        ("the good one is published", "good", 0, 2),
        ("rollback", None, 0, 1),
    ):
        asking.step = step
        report = export.with_suffix(f".{model}.json")
        options = ("rollback", export)
        if model is not None:
            options = ("export", runs[model], "--out", export, "--against", export)
            options += ("--data", data / "test.tsv", "--comparison", report)
        ended = await asyncio.to_thread(command, *options)
        row = {"status": ended.returncode, "said": (ended.stderr or ended.stdout).splitlines()[-1:]}
        row["version_taken_over_after_s"] = round(await served(port, name, version), 2)
        row["version"] = version
        row["as_it_should_be"] = ended.returncode == status
        if model is not None:
            change = json.loads(report.read_text(encoding="utf-8"))
            row["against"] = {
                key: change[key]
                for key in (
                    "n",
                    "exact_match",
                    "exact_match_p",
                    "token_error_rate",
                    "counts",
                    "worse",
                )
            }
        await asyncio.sleep(2)
        found[step] = row
    asking.stop()
    await task
    for step, row in found.items():
        row["answers"] = {str(key): count for key, count in asking.statuses[step].items()}
    total = sum(asking.statuses.values(), collections.Counter())
    return {
        "steps": found,
        "answers": {str(key): count for key, count in total.items()},
        "lost": total[0],
        "failed": sum(count for status, count in total.items() if status not in (0, 200, 429)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out-runs", type=pathlib.Path, default=ROOT / "runs" / "publish_load")
    add_out_option(parser, "publish_under_load")
    options = parser.parse_args()
    data = write_data(options.out_runs / "data")
    runs = {name: options.out_runs / name / "dates" for name in MODELS}
    for name, recipe in MODELS.items():
        if not is_finished(runs[name]):
            ended = command("train", "--data", data, "--out", runs[name], "--resume", *recipe)
            if ended.returncode:
                sys.exit(ended.stderr)
    export = options.out_runs / "export"
    shutil.rmtree(export, ignore_errors=True)
    ended = command("export", runs["middling"], "--out", export)
    if ended.returncode:
        sys.exit(ended.stderr)
    with running_server(export, "--poll-seconds", "0.5", "--no-access-log") as (_, port):
        results = asyncio.run(steps(port, "dates", export, runs, data))
    results["exact_match"] = {
        name: read_metrics(run)["test"]["exact_match"] for name, run in runs.items()
    }
    print(json.dumps(results, indent=1))
    write_results(options.out, results)
    right = all(row["as_it_should_be"] for row in results["steps"].values())
    if results["lost"] or results["failed"] or not right:
        sys.exit(1)


if __name__ == "__main__":
    main()
