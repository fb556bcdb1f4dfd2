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

The result is written to `benchmarks/results/folder_stress.json`. 200 pairs take about an hour on
two cores. Expected: no failure.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks.result_files import ROOT, add_out_option, write_results

SMALL = ("--embedding-size", "4", "--batch-size", "16", "--encoder", "gru", "--no-bidirectional")
TRAININGS = {
    "A": ("--units", "8", "--epochs", "3", *SMALL),
    "B": ("--units", "4", "--epochs", "2", *SMALL),
}
VERBS = ("train", "resume", "overwrite", "export", "explain")
MODES = {"train": (), "resume": ("--resume",), "overwrite": ("--overwrite",)}


class Stress:
    """The folders of one round of pairs, and what two trainings alone have given."""

    def __init__(self, folder: pathlib.Path):
        self.data = {name: folder / f"data{name}" for name in TRAININGS}
        self.run, self.export, self.audit = (folder / n for n in ("run", "export", "audit"))
        self.alone = {}
        for name, letters in (("A", "abcde"), ("B", "fghij")):
            write_pairs_of(self.data[name], letters)
            out = folder / f"alone{name}"
            done = subprocess.run(self.training(name, "train", out), cwd=ROOT, capture_output=True)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            self.alone[name] = content_of(out)

    def training(self, name: str, verb: str, out: pathlib.Path) -> list[str]:
        options = ["--data", str(self.data[name]), "--out", str(out)]
        return [sys.executable, "train.py", *options, *TRAININGS[name], *MODES[verb]]

    def command(self, verb: str, name: str) -> list[str]:
        if verb == "export":
            return [sys.executable, "export.py", str(self.run), "--out", str(self.export)]
        if verb == "explain":
            options = ["--out", str(self.audit), "--examples", "2"]
            return [sys.executable, "-m", "keras_attention", "explain", str(self.run), *options]
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
        command = self.training(name, "resume", self.run)
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
        if done.returncode:
            return [f"cannot be resumed: {done.stderr.decode()}"]
        wanted, found = self.alone[name], content_of(self.run)
        faults = [f"other {part} than alone" for part in wanted if wanted[part] != found[part]]
        left = [p.name for p in self.run.rglob("*") if ".writing" in p.name or "lock" in p.name]
        return faults + [f"left over: {left}"] * bool(left)

    def faults_of_export(self) -> list[str]:
        if not (self.export / "export.json").exists():
            return []
        command = [sys.executable, "-m", "keras_attention", "translate", str(self.export), "abc"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
        return [f"the export cannot be read: {done.stderr.decode()}"] * (done.returncode != 0)


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


def run_pair(stress: Stress, commands, kill: int | None, rng: random.Random) -> list[str]:
    """Starts two commands, kills one of them if asked; returns what went wrong."""
    processes = []
    for command in commands:
        processes.append(
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        )
        time.sleep(rng.uniform(0, 0.5) * (rng.random() < 0.5))
    if kill is not None:
        time.sleep(rng.uniform(0.2, 8.0))
        processes[kill].send_signal(signal.SIGKILL)
    faults = []
    for number, process in enumerate(processes):
        error = process.communicate()[1].decode()
        lines = [line for line in error.splitlines() if line.startswith("error: ")]
        killed = number == kill and process.returncode == -signal.SIGKILL
        told = process.returncode == 2 and len(lines) == 1
        if "Traceback" in error or not (process.returncode == 0 or told or killed):
            faults.append(f"status {process.returncode}: {error}")
    return faults


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbs", nargs="+", choices=VERBS, default=VERBS)
    add_out_option(parser, "folder_stress")
    options = parser.parse_args(arguments)
    rng, failed, counts = random.Random(options.seed), [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        stress = Stress(pathlib.Path(folder))
        for number in range(options.pairs):
            chosen = [(rng.choice(options.verbs), rng.choice("AB")) for _ in range(2)]
            kill = rng.randrange(2) if number % 2 else None
            faults = run_pair(stress, [stress.command(*one) for one in chosen], kill, rng)
            # Now and then a run is left unfinished, for the next pair to find.
            if faults or rng.random() < 0.7 or number == options.pairs - 1:
                faults += stress.faults_of_run() + stress.faults_of_export()
            counts.update(verb for verb, _ in chosen)
            counts["kills"] += kill is not None
            if faults:
                failed.append({"pair": number, "commands": chosen, "kill": kill, "faults": faults})
            print(f"[{number + 1}/{options.pairs}] {chosen}, kill {kill}: {faults or 'well'}")
    result = {"pairs": options.pairs, "seed": options.seed, **counts, "failed": failed}
    write_results(options.out, result)
    print(f"{len(failed)} of {options.pairs} pairs failed")
    return result


if __name__ == "__main__":
    sys.exit(bool(main()["failed"]))
