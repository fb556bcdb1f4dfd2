"""Translation of sentences: attention beside the fixed vector and peeky, on Multi30k.

    python -m benchmarks.sentences --data FOLDER [--seeds 1 2 3] [--runs runs/sentences]

FOLDER holds Multi30k's task 1 as it is downloaded: train.de, train.en, val.de, val.en,
test_2016_flickr.de and .en, raw and cased. Each model is trained by the command that a user would
give, `train.py --config configs/sentences.json`, one after the other; what is finished is not done
again, and what was stopped goes on where it was. Then every model translates the test sentences,
greedily and with a beam of 5, and so do the seeds of a model together.

BLEU is sacrebleu's, 13a, cased and lower-cased (`-lc`). CPU seconds are those of the training's
process, user and system: where other work shares the machine, half of them is what two idle cores
take. `--report` scores what is finished and trains nothing; `--export` also exports the attention
model of the first seed and scores its SavedModel and LiteRT files, float and quantised.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from benchmarks.result_files import ROOT, add_out_option, write_results
from keras_attention.folders.run_folder import HISTORY, is_finished, read_metrics
from keras_attention.pairs.pair_files import read_pairs, write_pairs
from keras_attention.pairs.parallel import read_parallel

CONFIG = ROOT / "configs" / "sentences.json"
PARTS = {"train": "train", "val": "valid", "test_2016_flickr": "test"}
PLAIN = {"attentional_layer": False}
MODELS: dict[str, dict] = {
    "attention": {},
    "fixed vector": {"attention": "none", **PLAIN},
    "peeky": {"attention": "peeky", **PLAIN},
}
BEAM = 5
SLICES = (10, 15, 20)  # words of a source up to which a slice goes; the last is open
LOOK = 5.0  # seconds between two looks at a training's cost


def main() -> None:
    options = parse()
    data = options.runs / "data"
    lay_out(options.data, data)
    planned = [(model, seed) for model in options.models for seed in options.seeds]
    if not options.report:
        for model, seed in planned:
            train_one(model, seed, data, options)
    finished = [
        (model, seed) for model, seed in planned if is_finished(folder(options, model, seed))
    ]
    rows = []
    for model in options.models:
        seeds = [seed for each, seed in finished if each == model]
        if seeds:
            rows.append(score(model, seeds, data, options))
    write_results(options.out, rows, ("model",))
    print(table_of(rows))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs" / "sentences")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--report", action="store_true", help="train nothing")
    parser.add_argument("--export", action="store_true", help="score an export as well")
    add_out_option(parser, "sentences")
    return parser.parse_args()


def lay_out(corpus: pathlib.Path, data: pathlib.Path) -> None:
    """The corpus as `train.py --data` reads it, joined as the verb `convert` joins it."""
    data.mkdir(parents=True, exist_ok=True)
    for theirs, ours in PARTS.items():
        path = data / f"{ours}.tsv"
        if not path.is_file():
            text = read_parallel(corpus / f"{theirs}.de", corpus / f"{theirs}.en")
            write_pairs(path, text.pairs)


def folder(options: argparse.Namespace, model: str, seed: int) -> pathlib.Path:
    return options.runs / model.replace(" ", "-") / str(seed)


def train_one(model: str, seed: int, data: pathlib.Path, options: argparse.Namespace) -> None:
    """Trains by the command, and keeps what it cost beside the run, over all its processes."""
    out = folder(options, model, seed)
    if is_finished(out):
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    flags = {"config": CONFIG, "data": data, "out": out, "seed": seed}
    command = [sys.executable, str(ROOT / "train.py"), "--resume"]
    for name, value in flags.items():
        command += [f"--{name}", str(value)]
    for name, value in MODELS[model].items():
        flag = "--" + name.replace("_", "-")
        command += [flag.replace("--", "--no-", 1)] if value is False else [flag, str(value)]
    before = read_cost(out)
    with open(f"{out}.log", "a", encoding="utf-8") as log:
        child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            watch(child, out, before)
        finally:
            child.terminate()
            child.wait()
    if child.returncode:
        raise SystemExit(f"{model}, seed {seed}: ended with {child.returncode}; see {out}.log")


def watch(child: subprocess.Popen, out: pathlib.Path, before: dict) -> None:
    """Writes what the training has cost so far, until it ends."""
    started = time.monotonic()
    while True:
        ended = child.poll() is not None
        if not ended and (spent := cost_of(child.pid)):
            cost = {
                "cpu_seconds": round(before["cpu_seconds"] + spent["cpu_seconds"], 1),
                "wall_seconds": round(before["wall_seconds"] + time.monotonic() - started, 1),
                "peak_megabytes": max(before["peak_megabytes"], spent["peak_megabytes"]),
            }
            cost_file(out).write_text(json.dumps(cost) + "\n", encoding="utf-8")
        if ended:
            return
        time.sleep(LOOK)


def cost_of(pid: int) -> dict | None:
    """CPU seconds, all threads, and the largest memory of a process; None once it is gone."""
    try:
        figures = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM")), None)
    if peak is None:  # it has ended and was not yet waited for
        return None
    user, system = figures.rpartition(")")[2].split()[11:13]
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        "cpu_seconds": (int(user) + int(system)) / ticks,
        "peak_megabytes": round(int(peak.split()[1]) / 1000),
    }


def cost_file(out: pathlib.Path) -> pathlib.Path:
    return out.with_name(out.name + ".cost.json")


def read_cost(out: pathlib.Path) -> dict:
    path = cost_file(out)
    if not path.is_file():
        return {"cpu_seconds": 0.0, "wall_seconds": 0.0, "peak_megabytes": 0}
    return json.loads(path.read_text(encoding="utf-8"))


def score(model: str, seeds: list[int], data: pathlib.Path, options: argparse.Namespace) -> dict:
    """All figures of one model: each seed alone, and several together."""
    from keras_attention.readers.translator import Translator

    test = read_pairs(data / "test.tsv", "subword", "subword")
    runs = [folder(options, model, seed) for seed in seeds]
    alone = [figures(Translator.load(run), test) for run in runs]
    row = {
        "model": model,
        "seeds": seeds,
        **{name: [each[name] for each in alone] for name in alone[0]},
        "mean_bleu_lc_beam": round(statistics.mean(each["bleu_lc_beam"] for each in alone), 2),
        "below_last_epoch": [below_last_epoch(run) for run in runs],
        "length_penalty": [read_metrics(run).get("length_penalty") for run in runs],
        "epochs": [read_metrics(run)["epochs"] for run in runs],
        "parameters": read_metrics(runs[0])["parameters"],
        "cost": [read_cost(run) for run in runs],
    }
    if len(runs) > 1:
        row["together"] = figures(Translator.load(runs), test)
    if options.export and model == "attention":
        row["export"] = score_export(runs[0], test, options.runs / "export")
    return row


def score_export(run: pathlib.Path, test, export: pathlib.Path) -> dict:
    """Greedy BLEU of a run's export, by artefact, and the loss by quantised weights."""
    from keras_attention.readers.translator import Translator

    command = [sys.executable, str(ROOT / "export.py"), str(run), "--out", str(export)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (plain,) = (path for path in export.glob("litert/*.tflite") if not path.stem.endswith(".int8"))
    models = {
        "SavedModel": (export, "tensorflow"),
        "LiteRT": (plain, None),
        "LiteRT int8": (plain.with_suffix(".int8.tflite"), None),
    }
    sources, references = [pair.source for pair in test], [pair.target for pair in test]
    found: dict = {}
    for name, (path, engine) in models.items():
        answers = Translator.load(path, engine).translate(sources)
        found[name] = bleu([each.text for each in answers], references, lowercase=True)
    found["lost by int8"] = round(found["LiteRT"] - found["LiteRT int8"], 2)
    return found


def figures(translator, test) -> dict:
    """BLEU greedy and with the beam, cased and lower-cased; by length; and of the confidence."""
    from keras_attention.evaluation.evaluation import evaluate

    found: dict = {}
    for name, width in (("greedy", 1), ("beam", BEAM)):
        result = evaluate(translator, test, width)
        outputs = [each.text for each in result.translations]
        found[f"bleu_{name}"] = bleu(outputs, result.references)
        found[f"bleu_lc_{name}"] = bleu(outputs, result.references, lowercase=True)
        if name == "greedy":
            found["calibration_error"] = round(result.calibration_error, 4)
            found["rank_correlation"] = result.rank_correlation
            found["coverage"] = [[p.coverage, p.min_confidence, p.quality] for p in result.coverage]
            spread = result.attention_spread()
            found["one_position"] = spread and spread.one_position
    found["bleu_lc_by_length"] = by_length(outputs, test)
    return found


def bleu(outputs, references, lowercase: bool = False) -> float:
    import sacrebleu

    metric = sacrebleu.BLEU(tokenize="13a", lowercase=lowercase, force=True)
    return round(metric.corpus_score(list(outputs), [list(references)]).score, 2)


def by_length(outputs: list[str], test) -> list[dict]:
    """BLEU (`-lc`) of the test sentences in slices of their sources' words."""
    words = [len(pair.source.split()) for pair in test]
    slices, least = [], 1
    for most in (*SLICES, max(words)):
        rows = [row for row, count in enumerate(words) if least <= count <= most]
        if rows:
            value = bleu([outputs[r] for r in rows], [test[r].target for r in rows], True)
            slices.append({"least": least, "most": most, "n": len(rows), "bleu": value})
        least = most + 1
    return slices


def below_last_epoch(run: pathlib.Path) -> float:
    """By how much the kept epoch's BLEU on validation lies below the last epoch's."""
    import csv

    with open(run / HISTORY, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = rows[read_metrics(run)["best_epoch"] - 1]
    return round(float(rows[-1]["valid_bleu"]) - float(kept["valid_bleu"]), 2)


def table_of(rows: list[dict]) -> str:
    """The results as a Markdown table, a row a model, means over seeds."""
    lines = [
        "| model | seeds | greedy | beam 5 | greedy, lc | beam 5, lc | together, beam 5, lc "
        "| CPU minutes | memory, GB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        names = ("bleu_greedy", "bleu_beam", "bleu_lc_greedy", "bleu_lc_beam")
        means = [f"{statistics.mean(row[name]):.1f}" for name in names]
        together = f"{row['together']['bleu_lc_beam']:.1f}" if "together" in row else "–"
        minutes = statistics.mean(each["cpu_seconds"] for each in row["cost"]) / 60
        memory = max(each["peak_megabytes"] for each in row["cost"]) / 1000
        cells = [row["model"], str(len(row["seeds"])), *means, together]
        lines.append(f"| {' | '.join(cells)} | {minutes:.1f} | {memory:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
