"""Peak memory of `translate` over 10 thousand to 1 million lines.

    python -m benchmarks.engine_memory RUN

RUN is a finished run. The sources of its test pairs, over and over, go into the standard input of
one process for each number of lines; its answers are counted as they come. A row gives lines a
second, start included, and the largest resident memory of that process. Two minutes on two cores.
"""

import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import threading
import time

from benchmarks.result_files import add_out_option, write_results
from keras_attention.config import load_config
from keras_attention.pairs.splits import load_splits

ROOT = pathlib.Path(__file__).parent.parent
LINES = (10_000, 100_000, 1_000_000)
AT_ONCE = 1_000  # lines written together


def feed(stream, sources: list[str], lines: int) -> None:
    """Writes that many lines, and closes the stream."""
    endless = itertools.cycle(sources)
    with stream:
        for first in range(0, lines, AT_ONCE):
            some = itertools.islice(endless, min(AT_ONCE, lines - first))
            stream.write("".join(f"{source}\n" for source in some).encode())


def translated(run: str, sources: list[str], lines: int) -> dict:
    """One process over that many lines."""
    command = [sys.executable, "-m", "keras_attention", "translate", run]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    feeder = threading.Thread(target=feed, args=(process.stdin, sources, lines))
    feeder.start()
    answers = 0
    while content := process.stdout.read1():
        answers += content.count(b"\n")
    feeder.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or answers != lines:
        sys.exit(f"{answers} answers to {lines} lines, exit status {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    seconds = time.perf_counter() - start
    peak = usage.ru_maxrss * unit / 1e6
    return {"lines": lines, "peak_megabytes": peak, "lines_per_second": lines / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("--lines", type=int, nargs="+", default=LINES)
    add_out_option(parser, "engine_memory")
    options = parser.parse_args()
    config = load_config(pathlib.Path(options.run) / "config.json")
    sources = [pair.source for pair in load_splits(config.data, config.seed).test]
    rows = []
    print("| lines | peak memory, MB | lines/s |\n|---|---|---|")
    for lines in options.lines:
        rows.append(translated(str(pathlib.Path(options.run).resolve()), sources, lines))
        row = rows[-1]
        print(f"| {lines:,} | {row['peak_megabytes']:.0f} | {row['lines_per_second']:,.0f} |")
    write_results(options.out, rows)


if __name__ == "__main__":
    sys.exit(main())
