"""Grapheme-to-phoneme conversion in many languages, compared with the published baselines.

    python -m benchmarks.g2p --data FOLDER [--task 2020] [--seeds 1 2 3] [--workers 2] [--export]

Trains one model for each language and seed with `configs/g2p.json`, one thread for each and
`--workers` at a time; decodes the test words with each model and with all seeds of a language as an
ensemble; with `--export` exports the ensemble and decodes them with its SavedModel, its weights
file and its LiteRT file as well. Writes `table.md` and `results.json` into the folder `--out` and
prints the table. What is finished is not done again, and a training that was stopped goes on where
it was.

FOLDER holds `LANGUAGE_train.tsv`, `LANGUAGE_dev.tsv` and `LANGUAGE_test.tsv` of one task:
SIGMORPHON 2020, task 1 (github.com/sigmorphon/2020, folder task1/data), or one size of 2021, task 1
(github.com/sigmorphon/2021-task1): `word<TAB>phones separated by spaces`.

WER: share of the words with any wrong phone. PER: edits per phone of the references, summed over
all words first. Both in per cent; macro is the mean over languages. These are the definitions of
the task.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.g2p_tasks import TASKS  # noqa: E402
from benchmarks.result_files import RESULTS, write_results  # noqa: E402
from keras_attention.config import Config  # noqa: E402
from keras_attention.evaluation.confidence import expected_calibration_error  # noqa: E402
from keras_attention.folders.run_folder import is_finished, read_metrics, write_metrics  # noqa: E402
from keras_attention.pairs.splits import load_splits  # noqa: E402
from keras_attention.recipe import read_recipe  # noqa: E402

PARTS = {"train": "train", "dev": "valid", "test": "test"}


def main() -> None:
    options = parse()
    published = TASKS[options.task].published
    out = pathlib.Path(options.out)
    for language in options.languages:
        prepare(pathlib.Path(options.data), out / "data" / language, language)
    started = time.monotonic()
    jobs = [(options, language, seed) for seed in options.seeds for language in options.languages]
    run_jobs(train_one, jobs, options.workers)
    print(f"trained in {time.monotonic() - started:.0f} s")
    scored = run_jobs(score_one, [(options, name) for name in options.languages], options.workers)
    results = dict(zip(options.languages, scored, strict=True))
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    table = table_of(results, len(options.seeds), published)
    (out / "table.md").write_text(table, encoding="utf-8")
    print(table)
    kind = f"beam {options.beam_width}" if options.beam_width > 1 else "greedy"
    row = {"decoding": kind, **published_form(results, published)}
    write_results(options.results, [row], ("decoding",))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, metavar="FOLDER", help="see above")
    parser.add_argument("--config", default=str(ROOT / "configs/g2p.json"), metavar="FILE.json")
    parser.add_argument("--task", default="2020", choices=TASKS)
    parser.add_argument("--out", metavar="FOLDER", help="default: runs/g2p, or runs/g2p-TASK")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--languages", nargs="+", metavar="LANGUAGE", help="default: all")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="trainings at a time")
    parser.add_argument("--beam-width", type=int, default=5, metavar="K", help="when scoring")
    parser.add_argument("--export", action="store_true", help="score what is shipped, too")
    options = parser.parse_args()
    # The first task keeps the names that it had before there were others.
    name = "g2p" if options.task == "2020" else f"g2p-{options.task}"
    options.out = options.out or f"runs/{name}"
    options.results = options.results or RESULTS / f"{name.replace('-', '_')}.json"
    known = TASKS[options.task].published
    options.languages = options.languages or list(known)
    if odd := set(options.languages) - set(known):
        parser.error(f"--languages: {options.task} has {', '.join(known)}. Received: {min(odd)}")
    return options


def prepare(data: pathlib.Path, folder: pathlib.Path, language: str) -> None:
    """Lays a language out as `train.py --data` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    for theirs, ours in PARTS.items():
        shutil.copyfile(data / f"{language}_{theirs}.tsv", folder / f"{ours}.tsv")


def run_jobs(function, jobs: list[tuple], workers: int) -> list:
    """The results of all jobs, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=context, max_tasks_per_child=1
    ) as pool:
        return [future.result() for future in [pool.submit(function, *job) for job in jobs]]


def use_one_thread() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def config_of(options, language: str, seed: int) -> Config:
    out = pathlib.Path(options.out)
    places = {"data": str(out / "data" / language), "out": str(out / language / str(seed))}
    recipe = read_recipe(options.config)
    with open(out / "data" / language / "train.tsv", encoding="utf-8") as lines:
        by_size = recipe.options_for(sum(1 for _ in lines))
    return Config(**(recipe.fields | by_size | places | {"seed": seed, "resume": True}))


def train_one(options, language: str, seed: int) -> None:
    config = config_of(options, language, seed)
    if is_finished(config.out):
        return
    use_one_thread()
    from keras_attention.training.trainer import train

    splits = load_splits(config.data, config.seed, config.source_tokens, config.target_tokens)
    os.makedirs(config.out, exist_ok=True)
    with (
        open(f"{config.out}.log", "a", encoding="utf-8") as log,
        open(os.devnull, "w", encoding="utf-8") as nowhere,
    ):
        sys.stdout = nowhere  # the progress bars of several trainings
        trained = train(config, splits, log=lambda line: print(line, file=log, flush=True))
        sys.stdout = sys.__stdout__
    trained.metrics["seconds"]["cpu"] = round(time.process_time(), 1)
    write_metrics(config.out, trained.metrics)
    wer = 100 - 100 * trained.metrics["test"]["exact_match"]
    print(f"{language}, seed {seed}: WER {wer:.2f}", flush=True)


def score_one(options, language: str) -> dict:
    """What the test words show of one language's models, alone and together."""
    use_one_thread()
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.readers.translator import Translator

    configs = [config_of(options, language, seed) for seed in options.seeds]
    test = load_splits(configs[0].data, 1, "char", configs[0].target_tokens).test
    alone = [figures(evaluate(Translator.load(c.out), test, options.beam_width)) for c in configs]
    together = Translator.load([config.out for config in configs])
    shipped = shipped_figures(options, language, configs, test) if options.export else {}
    return shipped | {
        "single": alone,
        "ensemble": figures(evaluate(together, test, options.beam_width)),
        "cpu_seconds": [read_metrics(config.out)["seconds"]["cpu"] for config in configs],
    }


def shipped_figures(options, language: str, configs: list[Config], test) -> dict:
    """What the export of all seeds together shows: `{"exported": {artefact: figures}}`."""
    from keras_attention.evaluation.evaluation import evaluate
    from keras_attention.folders.export_layout import is_export
    from keras_attention.readers.translator import Translator

    export = pathlib.Path(options.out) / "exports" / language
    if not is_export(export):
        runs = ",".join(config.out for config in configs)
        command = [sys.executable, "export.py", runs, "--out", str(export)]
        command += ["--beam-width", str(max(options.beam_width, 2))]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    artefacts = {
        "SavedModel": (Translator.load(export, engine="tensorflow"), options.beam_width),
        "weights": (Translator.load(export), options.beam_width),
        "LiteRT, greedy": (Translator.load(export / "litert" / f"{language}.tflite"), 1),
    }
    return {
        "exported": {
            name: round(100 - 100 * evaluate(translator, test, width).exact_match, 4)
            for name, (translator, width) in artefacts.items()
        }
    }


def figures(evaluation) -> dict:
    return {
        "wer": 100 - 100 * evaluation.exact_match,
        "per": 100 * evaluation.token_error_rate,
        "confidences": [round(t.confidence, 5) for t in evaluation.translations],
        "right": [int(right) for right in evaluation.right],
    }


def table_of(results: dict, n: int, published: dict[str, float]) -> str:
    """The results of n seeds as a Markdown table, a row a language."""
    lines = [
        f"| language | published WER | WER, mean of {n} | from – to | PER | WER of {n} together "
        "| PER | WER / published |",
        "|---|---|---|---|---|---|---|---|",
    ]
    columns: list[list[float]] = [[] for _ in range(5)]
    for language, result in results.items():
        wers = [single["wer"] for single in result["single"]]
        row = [
            published[language],
            statistics.mean(wers),
            statistics.mean(single["per"] for single in result["single"]),
            result["ensemble"]["wer"],
            result["ensemble"]["per"],
        ]
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        lines.append(line_of(language, row, f"{min(wers):.2f} – {max(wers):.2f}"))
    means = [statistics.mean(column) for column in columns]
    # Of a language that is published without an error there is no ratio.
    ratios = [ours / theirs for ours, theirs in zip(columns[1], columns[0], strict=True) if theirs]
    lines.append(line_of("macro", means, "", statistics.mean(ratios)))
    return "\n".join([*lines, "", *notes_of(results)]) + "\n"


def line_of(name: str, row: list[float], spread: str, ratio: float | None = None) -> str:
    published, wer, per, wer_together, per_together = row
    if ratio is None and published:
        ratio = wer / published
    return (
        f"| {name} | {published:.2f} | {wer:.2f} | {spread} | {per:.2f} | {wer_together:.2f} "
        f"| {per_together:.2f} | {'' if ratio is None else format(ratio, '.2f')} |"
    )


def published_form(results: dict, published: dict[str, float]) -> dict:
    """The results without the confidence of every word: what the pages' figures are made from."""
    singles = [single for result in results.values() for single in result["single"]]
    ensembles = [result["ensemble"] for result in results.values()]
    return {
        "languages": {
            language: {
                "published_wer": published[language],
                "wer": [round(single["wer"], 4) for single in result["single"]],
                "per": [round(single["per"], 4) for single in result["single"]],
                "wer_together": round(result["ensemble"]["wer"], 4),
                "per_together": round(result["ensemble"]["per"], 4),
                "cpu_seconds": result["cpu_seconds"],
                **({"exported_wer": result["exported"]} if "exported" in result else {}),
            }
            for language, result in results.items()
        },
        "calibration_error": {
            "single": pooled_calibration_error(singles),
            "together": pooled_calibration_error(ensembles),
            "mean_of_singles": statistics.mean(pooled_calibration_error([s]) for s in singles),
        },
    }


def notes_of(results: dict) -> list[str]:
    singles = [single for result in results.values() for single in result["single"]]
    together = [result["ensemble"] for result in results.values()]
    errors = [pooled_calibration_error([single]) for single in singles]
    minutes = sum(sum(result["cpu_seconds"]) for result in results.values()) / 60
    return [
        f"Expected calibration error over all words: {pooled_calibration_error(singles):.3f} for "
        f"single models, {pooled_calibration_error(together):.3f} for ensembles; mean over single "
        f"models, {len(singles[0]['right'])} words each: {statistics.mean(errors):.3f}.",
        f"Training took {minutes:.0f} CPU minutes in all.",
    ]


def pooled_calibration_error(scored: list[dict]) -> float:
    return expected_calibration_error(
        [value for one in scored for value in one["confidences"]],
        [value for one in scored for value in one["right"]],
    )


if __name__ == "__main__":
    main()
