"""Where every figure of the documentation comes from: `benchmarks/results/NAME.json`.

A file holds what was measured, the command that measured it, and on what. Pages never repeat a
figure by hand: `python -m docs.making.numbers` takes them from these files.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import shlex
import sys
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "numpy", "torch", "dateparser")


def add_out_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds `--out`, by default `benchmarks/results/NAME.json`."""
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=RESULTS / f"{name}.json",
        metavar="FILE.json",
        help=f"where to write the figures (default: benchmarks/results/{name}.json)",
    )


def write_results(path: pathlib.Path, results, key: Sequence[str] = ()) -> None:
    """Writes `results` with the command and the environment that they were measured with.

    With `key`, `results` is a list of rows, each of which is given its command; rows that the file
    holds already stay there unless a new one has the same values under the names in `key`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if key:
        results = [{**row, "command": _command()} for row in results]
        new = {tuple(row[name] for name in key) for row in results}
        old = read_results(path.stem, path.parent) if path.is_file() else []
        results = [r for r in old if tuple(r[name] for name in key) not in new] + results
    content = {"command": _command(), "environment": _environment(), "results": results}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    temporary = path.with_name(path.name + ".writing")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def read_results(name: str, folder: pathlib.Path = RESULTS):
    """The results in `benchmarks/results/NAME.json`.

    Raises:
        FileNotFoundError: nobody has measured them.
    """
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["results"]


def _command() -> str:
    """The command line as typed from the root of the repository, `PYTHON` aside."""
    module = pathlib.Path(sys.argv[0]).stem
    return shlex.join(["python", "-m", f"benchmarks.{module}", *map(_shown, sys.argv[1:])])


def _shown(argument: str) -> str:
    """An argument; of an absolute path the last two parts, which are all that others can use."""
    return "/".join(pathlib.Path(argument).parts[-2:]) if os.path.isabs(argument) else argument


def _environment() -> dict:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        **versions,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor()
