"""Fixed vector, peeky and attention side by side: same budget, data and seeds; one table.

Every model is an ordinary run, so that an interrupted comparison goes on where it was.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import statistics
import time
from collections.abc import Callable, Sequence

from keras_attention._runtime.files import write_text
from keras_attention._runtime.progress import duration
from keras_attention.config import Config
from keras_attention.datasets.string_tasks import TASKS, generate
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.evaluation.metrics import pointing_accuracy
from keras_attention.folders.run_folder import CHECKPOINT, check_startable
from keras_attention.pairs.alignment import Link, carry_links
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.splits import Splits, load_splits
from keras_attention.readers.translation import Translation
from keras_attention.training.checkpoint import fingerprint_of_splits, read_progress_of
from keras_attention.training.trainer import train

RESULT = "result.json"


@dataclasses.dataclass(frozen=True)
class Model:
    """One row of the table: a name and the options that make it."""

    name: str
    options: dict


_PLAIN = {"bidirectional": False}
_REVERSED = {"bidirectional": False, "reverse_source": True}

# The three that every task is given; the article's claim is about the first and the last.
THREE = (
    Model("fixed vector", {"attention": "none"}),
    Model("peeky", {"attention": "peeky"}),
    Model("attention", {"attention": "dot"}),
)
# What else the article and the book turn on and off, on the data proper.
VARIANTS = (
    Model("fixed vector, one direction", {"attention": "none", **_PLAIN}),
    Model("fixed vector, reversed source", {"attention": "none", **_REVERSED}),
    Model("attention, one direction", {"attention": "dot", **_PLAIN}),
    Model("attention, reversed source", {"attention": "dot", **_REVERSED}),
    Model("fixed vector, no clipping", {"attention": "none", "clipnorm": 0.0}),
    Model("attention, no clipping", {"attention": "dot", "clipnorm": 0.0}),
)

# More than train.py needs, so that the models without attention have their chance, too.
DATA_OPTIONS = {"batch_size": 256, "epochs": 6}
# Random letters carry no pattern to recite, so nothing has to keep the decoder from reciting.
STRING_OPTIONS = {"decoder_input_dropout": 0.0, "batch_size": 128, "epochs": 10}
STRING_SIZES = {"train": 20_000, "valid": 1_000, "test": 2_000}


@dataclasses.dataclass(frozen=True)
class Result:
    """What one model made of one task with one seed.

    Attributes:
        task: "copy", "reverse", or the name of the data.
        model: Name of the model.
        seed: Its seed.
        exact_match: On test, by free decoding.
        n: Test pairs.
        pointing: See `metrics.pointing_accuracy`, over the right answers; None without attention,
            gold alignment or a right answer.
        curve: Exact match on validation data after each epoch.
        gradient_norms: Mean norm of all gradients together in each epoch, before clipping.
        by_length: `[longest source, n, exact match]` of slices of the source length.
        parameters: Of the model.
        seconds: Of training.
    """

    task: str
    model: str
    seed: int
    exact_match: float
    n: int
    pointing: float | None
    curve: list[float]
    gradient_norms: list[float]
    by_length: list[list[float]]
    parameters: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Task:
    """Data, the models to try on it, and the options that all of them share."""

    name: str
    splits: Splits
    models: tuple[Model, ...]
    options: dict


def make_tasks(data: str, seed: int, epochs: int | None) -> list[Task]:
    """The data proper with all variants, then copy and reverse with the three models.

    Raises:
        UserError: the data cannot be read, see `data.load_splits`.
    """
    chosen = {} if epochs is None else {"epochs": epochs}
    splits = load_splits(data, seed)
    name = pathlib.Path(data).stem
    name = f"{name} data" if name in TASKS else name  # folders and rows are told apart by it
    tasks = [Task(name, splits, THREE + VARIANTS, {**DATA_OPTIONS, "data": data, **chosen})]
    for name in TASKS:
        options = {**STRING_OPTIONS, "data": name, **chosen}
        tasks.append(Task(name, generate(name, seed, **STRING_SIZES), THREE, options))
    return tasks


def compare(
    tasks: Sequence[Task], seeds: Sequence[int], out: pathlib.Path, log: Callable[[str], None]
) -> list[Result]:
    """Trains every model on every task with every seed; what is done already is read.

    Args:
        tasks: See `make_tasks`.
        seeds: Seeds of the models; the data stay the same.
        out: Runs are written below it.
        log: Takes each line that is to be shown.

    Raises:
        UserError: a run below `out` was trained with other options or on other data.
    """
    planned = [(task, model, seed) for task in tasks for model in task.models for seed in seeds]
    fingerprints = {task.name: fingerprint_of_splits(task.splits) for task in tasks}
    results: list[Result] = []
    spent: list[float] = []  # seconds of each training of this process
    for number, (task, model, seed) in enumerate(planned, 1):
        left = ""
        if spent:
            rest = statistics.fmean(spent) * (len(planned) - number + 1)
            left = f", about {duration(rest)} left in all"
        log(f"[{number}/{len(planned)}] {task.name}: {model.name}, seed {seed}{left}")
        folder = run_folder_of(out, task.name, model.name, seed)
        config = Config(
            **{**task.options, **model.options}, seed=seed, out=str(folder), resume=True
        )
        done = folder / RESULT
        # A result of other options, more epochs included, must not stand in this table.
        check_startable(config, may_extend=False)
        if done.is_file():
            read_progress_of(folder / CHECKPOINT, config.data, fingerprints[task.name])
        else:
            started = time.monotonic()
            result = _train_one(config, task, model, log)
            spent.append(time.monotonic() - started)
            write_text(done, json.dumps(dataclasses.asdict(result), indent=1) + "\n")
        results.append(Result(**json.loads(done.read_text(encoding="utf-8"))))
        log(f"  exact match on test: {results[-1].exact_match:.4f}")
    return results


def run_folder_of(out: pathlib.Path, task: str, model: str, seed: int) -> pathlib.Path:
    """Where a comparison keeps one model: an ordinary run folder, to `plot` or `evaluate` it."""
    return out / "runs" / task / f"{model.replace(', ', '-').replace(' ', '-')}-{seed}"


def _train_one(config: Config, task: Task, model: Model, log: Callable[[str], None]) -> Result:
    trained = train(config, task.splits, log=lambda line: log("  " + line))
    history = trained.history
    return Result(
        task=task.name,
        model=model.name,
        seed=config.seed,
        exact_match=trained.test.exact_match,
        n=trained.test.n,
        pointing=_pointing(trained.test, task),
        curve=[row["valid_exact_match"] for row in history],
        gradient_norms=[row["gradient_norm"] for row in history],
        by_length=[[part.longest, part.n, part.exact_match] for part in trained.test.by_length],
        parameters=trained.metrics["parameters"],
        seconds=trained.metrics["seconds"]["training"],
    )


def _pointing(test: Evaluation, task: Task) -> float | None:
    pairs = zip(test.translations, task.splits.test, strict=True)
    right = [
        (translation.attention_weights, links)
        for translation, pair in pairs
        if translation.attention_weights is not None and (links := _links(translation, pair))
    ]
    return pointing_accuracy(*zip(*right, strict=True)) if right else None


def _links(translation: Translation, pair: Pair) -> tuple[Link, ...] | None:
    """The gold alignment in the model's own tokens; only a right answer has one."""
    if pair.alignment is None or translation.text != pair.target:
        return None
    tokens = translation.source_tokens, translation.target_tokens
    return carry_links(pair.alignment, pair.source, tokens[0], pair.target, tokens[1])


def table(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Header and rows of text, seeds averaged (with the range where there are several)."""
    lines: list[tuple[str, ...]] = [
        ("task", "model", "seeds", "exact match", "pointing", "parameters", "seconds")
    ]
    for task, model in dict.fromkeys((result.task, result.model) for result in results):
        group = [result for result in results if (result.task, result.model) == (task, model)]
        pointing = [result.pointing for result in group if result.pointing is not None]
        lines.append(
            (
                task,
                model,
                str(len(group)),
                _mean_and_range([result.exact_match for result in group]),
                _mean_and_range(pointing) if pointing else "–",
                str(group[0].parameters),
                f"{statistics.mean(result.seconds for result in group):.0f}",
            )
        )
    return lines


def length_table(results: Sequence[Result], task: str) -> list[tuple[str, ...]]:
    """Header and rows of text: exact match on one task's test pairs by the source's length.

    A column's head is the range of lengths that lie in it; seeds are averaged.
    """
    group = [result for result in results if result.task == task]
    bounds = [int(longest) for longest, _, _ in group[0].by_length]
    heads = [f"up to {bounds[0]}"] + [f"{a + 1} to {b}" for a, b in itertools.pairwise(bounds)]
    lines = [("model", *heads)]
    for model in dict.fromkeys(result.model for result in group):
        parts = [result.by_length for result in group if result.model == model]
        means = [statistics.mean(part[2] for part in column) for column in zip(*parts, strict=True)]
        lines.append((model, *(f"{mean:.4f}" for mean in means)))
    return lines


def _mean_and_range(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.4f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.4f}–{max(values):.4f})"
