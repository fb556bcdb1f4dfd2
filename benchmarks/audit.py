"""The audit's report on a run, as the pages quote it: `python -m benchmarks.audit runs/dates`.

Runs `python -m keras_attention explain RUN --train-baselines`, or takes the report of a finished
one (`--report FILE`), and keeps its verdict and its summary; the measurements of single examples
stay in the report. About two minutes on two cores. For a report on something else, the sentiment
classifier of `examples/sentiment.py` for example, name another `--out`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.result_files import ROOT, add_out_option, write_results


def make_report(run: str, folder: str) -> pathlib.Path:
    command = [sys.executable, "-m", "keras_attention", "explain", run, "--train-baselines"]
    subprocess.run([*command, "--out", folder], cwd=ROOT, check=True)
    return pathlib.Path(folder) / "report.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="RUN", nargs="?", help="audited unless --report is given")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE.json", help="already written")
    add_out_option(parser, "audit")
    options = parser.parse_args()
    if not (options.run or options.report):
        parser.error("give RUN, or --report FILE.json")
    with tempfile.TemporaryDirectory() as folder:
        path = options.report or make_report(options.run, folder)
        report = json.loads(path.read_text(encoding="utf-8"))
    kept = {name: report[name] for name in report if name != "examples"}
    print(f"{report['verdict']['overall']}: {report['verdict']['reason']}")
    write_results(options.out, kept)


if __name__ == "__main__":
    main()
