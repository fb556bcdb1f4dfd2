"""English names in Hangul and katakana, beside Phonetisaurus: `... names --data FOLDER`.

Trains one model a script with `configs/g2p.json` (or takes finished ones from `--runs`), trains
Phonetisaurus on the same names, and counts how often one of the first 1, 2 and 3 answers is right.
A name that the data write in several ways is right in any of them. FOLDER holds
`korean_train.tsv`, `korean_valid.tsv`, `korean_test.tsv` and the same of katakana
(docs/get-the-data.md: `names/`).

Phonetisaurus is on PyPI as `phonetisaurus`, with its binaries for Linux; `--peer FOLDER` names
where it was installed with `pip install --target FOLDER phonetisaurus`. Without it, ours alone is
measured. Validation chooses; the test names are looked at once, at the end.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.folders.run_folder import is_finished, read_metrics
from keras_attention.pairs.answers import Answers
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs

SCRIPTS = ("korean", "katakana")
BEST = (1, 2, 3)
BEAM_WIDTH = 5


@dataclasses.dataclass(frozen=True)
class Answered:
    """What a system said to the test names.

    Attributes:
        answers: Of each name, best first.
        seconds: For all of them.
    """

    answers: list[list[str]]
    seconds: float


def main() -> None:
    options = parse()
    for script in options.scripts:
        folder = options.runs / "data" / script
        lay_out(options.data, folder, script)
        test = Answers(read_pairs(folder / "test.tsv"))
        names = list(dict.fromkeys(pair.source for pair in read_pairs(folder / "test.tsv")))
        rows = [ours(options, script, folder, seed, names, test) for seed in options.seeds]
        if options.peer:
            rows.append(phonetisaurus(options.peer, script, folder, names, test))
        for row in rows:
            print(row, flush=True)
        write_results(options.out, rows, ("script", "system"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--peer", type=pathlib.Path, metavar="FOLDER", help="see the docstring")
    parser.add_argument("--scripts", nargs="+", default=list(SCRIPTS), choices=SCRIPTS)
    parser.add_argument(
        "--seeds", nargs="*", type=int, default=[1], metavar="N", help="none: the peer alone"
    )
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs" / "names")
    parser.add_argument("--config", default=str(ROOT / "configs/g2p.json"), metavar="FILE.json")
    add_out_option(parser, "names")
    return parser.parse_args()


def lay_out(data: pathlib.Path, folder: pathlib.Path, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "test"):
        shutil.copyfile(data / f"{script}_{part}.tsv", folder / f"{part}.tsv")


def right_at(answers: Sequence[Sequence[str]], names: Sequence[str], test: Answers) -> dict:
    """Share of the names for which one of the first k answers is right, in per cent, for each k."""
    return {
        f"right_at_{k}": round(
            100
            * sum(
                not set(answers_of[:k]).isdisjoint(test.targets(name))
                for name, answers_of in zip(names, answers, strict=True)
            )
            / len(names),
            2,
        )
        for k in BEST
    }


def row_of(system: str, script: str, said: Answered, names, test, training: dict) -> dict:
    return {
        "script": script,
        "system": system,
        "names": len(names),
        **right_at(said.answers, names, test),
        **training,
        "names_per_second": round(len(names) / said.seconds, 1),
    }


def ours(options, script: str, folder: pathlib.Path, seed: int, names, test: Answers) -> dict:
    """One model of the recipe, decoded with a beam."""
    out = options.runs / script / str(seed)
    if not is_finished(out):
        command = [sys.executable, "train.py", "--config", options.config, "--data", str(folder)]
        command += ["--out", str(out), "--seed", str(seed), "--resume"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        cpu = cpu_seconds(before)
    else:
        cpu = None  # of an earlier call, which may have been interrupted
    from keras_attention.readers.translator import Translator

    translator = Translator.load(out)
    started = time.monotonic()
    results = translator.translate(names, BEAM_WIDTH)
    seconds = time.monotonic() - started
    answers = [[r.text, *(other.text for other in r.alternatives)] for r in results]
    metrics = read_metrics(out)
    training = {
        "cpu_seconds": cpu,
        "parameters": metrics["parameters"],
        "valid_exact_match": metrics["valid"]["exact_match"],
    }
    return row_of(f"ours, seed {seed}", script, Answered(answers, seconds), names, test, training)


def cpu_seconds(before: resource.struct_rusage) -> float:
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)


def phonetisaurus(
    peer: pathlib.Path, script: str, folder: pathlib.Path, names, test: Answers
) -> dict:
    """Phonetisaurus as its package trains and applies it, with no option but the number of answers.

    It reads words that are one piece, and separates phones by spaces, as the data do.
    """
    environment = os.environ | {"PYTHONPATH": str(peer)}
    program = [sys.executable, "-m", "phonetisaurus"]
    with tempfile.TemporaryDirectory() as place:
        lexicon, model = pathlib.Path(place) / "train.dict", pathlib.Path(place) / "g2p.fst"
        write_lexicon(lexicon, read_pairs(folder / "train.tsv"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        quiet = {"env": environment, "check": True, "stderr": subprocess.DEVNULL}
        subprocess.run(
            [*program, "train", "--model", str(model), str(lexicon)],
            stdout=subprocess.DEVNULL,
            **quiet,
        )
        cpu = cpu_seconds(before)
        started = time.monotonic()
        said = subprocess.run(
            [*program, "predict", "--nbest", str(max(BEST)), "--model", str(model)],
            input="".join(f"{name}\n" for name in names),
            text=True,
            stdout=subprocess.PIPE,
            **quiet,
        )
        seconds = time.monotonic() - started
    answers = read_answers(said.stdout, names)
    training = {"cpu_seconds": cpu, "parameters": None, "valid_exact_match": None}
    return row_of("Phonetisaurus 0.3.0", script, Answered(answers, seconds), names, test, training)


def write_lexicon(path: pathlib.Path, pairs: Sequence[Pair]) -> None:
    path.write_text("".join(f"{p.source} {p.target}\n" for p in pairs), encoding="utf-8")


def read_answers(output: str, names: Sequence[str]) -> list[list[str]]:
    """The answers of each name, best first; none where it gave none."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        name, _, phones = line.strip().partition(" ")
        if phones and phones not in found.setdefault(name, []):
            found[name].append(phones)
    return [found.get(name, []) for name in names]


if __name__ == "__main__":
    main()
