"""Pairs of commands on one folder at the same moment: `python -m benchmarks.folder_stress`.

    python -m benchmarks.folder_stress [--pairs 200] [--seed 1] [--verbs train resume ...]

Two trainings are made alone first, of other pairs and other options; their weights are known from
then on, since the same seed gives the same bits. Then, again and again, two random commands start
on one run folder within a second: `train`, `--resume` or `--overwrite` of either training, `export`
or `explain` of the run. In every second pair one of the two is killed with kill -9 at a random
moment. A pair fails if

- a command shows a traceback, or ends with another status than 0, 2 with one line of an error, or
  that of the kill;
- the run that is left cannot be resumed by its own config to its end;
- its weights are then not, to the bit, those of the training that its config and vocabulary name;
- anything temporary is left in the run once it is finished, or the export cannot be read.

The commands are forked from this program, which has imported TensorFlow once: what is left of each
is short, so that two of them meet more often. Of the audit one part is measured.

The result is written to `benchmarks/results/folder_stress.json`. Four pairs and what comes before
them took 47 seconds of CPU time, so 200 take about half an hour of it. Expected: no failure.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import traceback
from typing import NamedTuple

from benchmarks.result_files import add_out_option, write_results
from keras_attention.__main__ import run_verb
from keras_attention._runtime.process import owned_by_command
from keras_attention._runtime.quiet import import_tensorflow_quietly

SMALL = ("--embedding-size", "4", "--batch-size", "16", "--encoder", "gru", "--no-bidirectional")
TRAININGS = {
    "A": ("--units", "8", "--epochs", "3", *SMALL),
    "B": ("--units", "4", "--epochs", "2", *SMALL),
}
VERBS = ("train", "resume", "overwrite", "export", "explain")
WORDS = ("abcd", "jihg", "edcba")
MODULES = ("training.trainer", "export.exporter", "explanation.audit", "readers.translator")
MODES = {"train": (), "resume": ("--resume",), "overwrite": ("--overwrite",)}


class Ended(NamedTuple):
    """How a command ended: its exit status, below 0 a signal, and what it printed."""

    status: int
    output: str
    error: str


class Command:
    """`keras-attention VERB ...` in a process of its own, forked from this one."""

    def __init__(self, verb: str, *arguments: str):
        self._printed = [tempfile.TemporaryFile() for _ in range(2)]
        self._process = os.fork()
        if not self._process:
            self._run(verb, list(arguments))

    def _run(self, verb: str, arguments: list[str]) -> None:
        status = 1
        try:
            with open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), 0)
            for number, file in enumerate(self._printed, start=1):
                os.dup2(file.fileno(), number)
            run_verb(verb, arguments)
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(status)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)

    def wait(self) -> Ended:
        status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        texts = []
        for file in self._printed:
            with file:
                file.seek(0)
                texts.append(file.read().decode())
        return Ended(status, *texts)


class Stress:
    """The folders of one round of pairs, and what two trainings alone have given."""

    def __init__(self, folder: pathlib.Path):
        self.data = {name: folder / f"data{name}" for name in TRAININGS}
        self.run, self.export, self.audit = (folder / n for n in ("run", "export", "audit"))
        self.alone, self.answers = {}, {}
        started = time.monotonic()
        for name, letters in (("A", "abcde"), ("B", "fghij")):
            write_pairs_of(self.data[name], letters)
            out = folder / f"alone{name}"
            done = Command(*self.training(name, "train", out)).wait()
            if done.status:
                raise RuntimeError(done.error)
            self.alone[name] = content_of(out)
            self.answers[name] = self._answers_of(out)
        self.seconds = (time.monotonic() - started) / len(TRAININGS)

    def training(self, name: str, verb: str, out: pathlib.Path) -> list[str]:
        options = ["--data", str(self.data[name]), "--out", str(out)]
        return ["train", *options, *TRAININGS[name], *MODES[verb]]

    def command(self, verb: str, name: str) -> list[str]:
        if verb == "export":
            return ["export", str(self.run), "--out", str(self.export), "--beam-width", "2"]
        if verb == "explain":
            options = ["--out", str(self.audit), "--examples", "2", "--only", "contrast"]
            return ["explain", str(self.run), *options]
        return self.training(name, verb, self.run)

    def faults_of_run(self) -> list[str]:
        """Resumes what is in the run folder by its own config, and compares it with the known."""
        config = self.run / "config.json"
        if not self.run.exists() or not any(self.run.iterdir()):
            return []
        try:
            units = json.loads(config.read_text(encoding="utf-8"))["units"]
        except (OSError, ValueError, KeyError) as error:
            return [f"the run's config cannot be read: {error!r}"]
        name = "A" if str(units) == TRAININGS["A"][1] else "B"
        done = Command(*self.training(name, "resume", self.run)).wait()
        if done.status:
            return [f"cannot be resumed: {done.error}"]
        wanted, found = self.alone[name], content_of(self.run)
        faults = [f"other {part} than alone" for part in wanted if wanted[part] != found[part]]
        left = [p.name for p in self.run.rglob("*") if ".writing" in p.name or "lock" in p.name]
        return faults + [f"left over: {left}"] * bool(left)

    def faults_of_export(self) -> list[str]:
        """Whether the export answers as one of the two runs, and all of its versions are whole."""
        if not (self.export / "manifest.json").exists():
            return []
        try:
            answers = self._answers_of(self.export)
        except RuntimeError as error:
            return [f"the export cannot be read: {error}"]
        faults = []
        if not any(map(answers_agree, [answers] * len(self.answers), self.answers.values())):
            faults.append(f"the export answers as neither run: {answers}")
        for version in self.export.glob("serving/*/*"):
            parts = ("saved_model.pb", "variables/variables.index")
            if not all((version / part).is_file() for part in parts):
                faults.append(f"version {version.name} is not whole")
        return faults

    def faults_of_audit(self) -> list[str]:
        report = self.audit / "report.json"
        try:
            return [] if not report.exists() or json.loads(report.read_bytes()) else ["no audit"]
        except ValueError as error:
            return [f"the audit cannot be read: {error}"]

    def _answers_of(self, model: pathlib.Path) -> list[str]:
        ended = Command("translate", str(model), "--scores", *WORDS).wait()
        if ended.status:
            raise RuntimeError(ended.error)
        return ended.output.splitlines()


def answers_agree(some: list[str], others: list[str]) -> bool:
    """The same texts, and scores that differ by rounding alone."""
    for line, other in zip(some, others, strict=True):
        text, *scores = line.split("\t")
        other_text, *other_scores = other.split("\t")
        pairs = zip(map(float, scores), map(float, other_scores), strict=True)
        if text != other_text or any(abs(a - b) > 1e-3 for a, b in pairs):
            return False
    return True


def write_pairs_of(folder: pathlib.Path, letters: str) -> None:
    """Words and their reversals; 48, 24 and 24 of them."""
    random_generator = random.Random(letters)
    folder.mkdir()
    for name, count in (("train", 48), ("valid", 24), ("test", 24)):
        words = ("".join(random_generator.choices(letters, k=4)) for _ in range(count))
        lines = "".join(f"{word}\t{word[::-1]}\n" for word in words)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8", newline="")


def content_of(run: pathlib.Path) -> dict[str, bytes]:
    """What must be the same to the bit: vocabulary, and the last and the best weights."""
    import numpy as np

    with np.load(run / "checkpoint" / "state.npz") as arrays:
        names = [name for name in sorted(arrays.files) if name != "progress"]
        weights = b"".join(arrays[name].tobytes() for name in names)
    return {"vocabulary": (run / "vocabulary.json").read_bytes(), "weights": weights}


def run_pair(commands, kill: int | None, longest: float, rng: random.Random) -> list[str]:
    """Starts two commands, kills one of them if asked; returns what went wrong."""
    processes = []
    for command in commands:
        processes.append(Command(*command))
        time.sleep(rng.uniform(0, 0.5) * (rng.random() < 0.5))
    if kill is not None:
        time.sleep(rng.uniform(0.05, longest))
        processes[kill].kill()
    faults = []
    for number, process in enumerate(processes):
        status, _, error = process.wait()
        lines = [line for line in error.splitlines() if line.startswith("error: ")]
        killed = number == kill and status == -signal.SIGKILL
        told = status == 2 and len(lines) == 1
        if "Traceback" in error or not (status == 0 or told or killed):
            faults.append(f"status {status}: {error}")
    return faults


def import_once() -> None:
    """All that the commands need, in the environment in which they import it."""
    with owned_by_command():
        import_tensorflow_quietly()
        for module in MODULES:
            importlib.import_module(f"keras_attention.{module}")


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbs", nargs="+", choices=VERBS, default=VERBS)
    add_out_option(parser, "folder_stress")
    options = parser.parse_args(arguments)
    import_once()
    rng, failed, counts = random.Random(options.seed), [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        stress = Stress(pathlib.Path(folder))
        for number in range(options.pairs):
            chosen = [(rng.choice(options.verbs), rng.choice("AB")) for _ in range(2)]
            kill = rng.randrange(2) if number % 2 else None
            commands = [stress.command(*one) for one in chosen]
            faults = run_pair(commands, kill, 2 * stress.seconds, rng)
            # Now and then a run is left unfinished, for the next pair to find.
            if faults or rng.random() < 0.7 or number == options.pairs - 1:
                faults += stress.faults_of_run()
                faults += stress.faults_of_export() + stress.faults_of_audit()
            counts.update(verb for verb, _ in chosen)
            counts["kills"] += kill is not None
            if faults:
                failed.append({"pair": number, "commands": chosen, "kill": kill, "faults": faults})
            told = f"[{number + 1}/{options.pairs}] {chosen}, kill {kill}"
            print(f"{told}: {faults or 'well'}", flush=True)
    result = {"pairs": options.pairs, "seed": options.seed, **counts, "failed": failed}
    write_results(options.out, result)
    print(f"{len(failed)} of {options.pairs} pairs failed")
    return result


if __name__ == "__main__":
    sys.exit(bool(main()["failed"]))
