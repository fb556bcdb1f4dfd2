"""Trains an attention model on pairs of texts, and writes a run folder.

With the defaults it learns to write dates as ISO 8601 ("september 27, 1994" → "1994-09-27") from
`data/dates` into `runs/dates`: exact match on test 1.0000, in 14 seconds on two cores of an AMD
EPYC at 2.6 GHz. Started on several machines with `TF_CONFIG` set, it trains on all of them
together.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import tempfile
import time

from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores
from keras_attention.checks.check import quick_findings
from keras_attention.commands.options.training_options import parse_training_options
from keras_attention.config import DEFAULT_DATA, load_config
from keras_attention.errors import UserError
from keras_attention.evaluation.reports.card import Card
from keras_attention.folders.card_file import CARD, write_card
from keras_attention.folders.run_folder import (
    ATTENTION,
    CONFIG,
    VOCABULARY,
    check_startable,
    is_run,
    resumption_of,
    write_metrics,
)
from keras_attention.pairs.splits import Splits, open_splits
from keras_attention.text.vocabulary import load_vocabularies
from keras_attention.training.cluster import task_of_environment
from keras_attention.training.resumption import check_warm_start, finished_metrics

PLOTTED = 6


def run(arguments: list[str]) -> None:
    started = time.monotonic()
    options = parse_training_options(arguments, __doc__)
    config = options.config()
    # The data first: a mistake in them leaves no empty run folder behind.
    _check_default_data(config.data)
    kinds = config.source_tokens, config.target_tokens
    splits = open_splits(config.data, config.seed, *kinds, in_memory=config.shuffle_buffer)
    # Of streamed pairs nobody knows more than that they are more than fit into memory.
    pairs = len(splits.train) if isinstance(splits, Splits) else config.shuffle_buffer + 1
    config = options.config(pairs)
    task = task_of_environment()
    if task.is_chief and (by_size := options.chosen_by_size(pairs)):
        told = ", ".join(f"{name} {value}" for name, value in by_size.items())
        print(f"{options.path}, by the number of pairs: {told}")
    if task.is_chief:
        with folder_lock(config.out):
            test = _train_run(config, splits, task, started)
    else:  # Another process writes the run; what is written here is thrown away.
        with tempfile.TemporaryDirectory() as folder:
            aside = dataclasses.replace(config, out=folder, resume=False, overwrite=False)
            test = _train(aside, splits, task, started)["test"]
    print(f"exact match on test: {test['exact_match']:.4f} (n={test['n']})")


def _train_run(config, splits, task, started: float) -> dict:
    """The test's metrics of the run in `config.out`, trained unless it is finished already."""
    check_startable(config)
    check_warm_start(config)
    if isinstance(splits, Splits):  # to look at more would take the memory after all
        kinds = config.source_tokens, config.target_tokens
        for finding in quick_findings(splits, *kinds, config.source_form, config.data):
            print(f"warning: {finding.place}: {finding.message}", file=sys.stderr)
    metrics = finished_metrics(config, splits, task)
    if metrics is not None:
        print(f"{config.out} is finished already")
        return metrics["test"]
    try:
        metrics = _train(config, splits, task, started)
    except KeyboardInterrupt as stop:
        if is_run(config.out):
            stop.add_note(f"go on with `{resumption_of(config.out)}`")
        raise
    _write_card(config.out, metrics)
    write_metrics(config.out, metrics)
    return metrics["test"]


def _write_card(out: str, metrics: dict) -> None:
    vocabularies = load_vocabularies(pathlib.Path(out) / VOCABULARY)
    tokens = len(vocabularies[0].tokens), len(vocabularies[1].tokens)
    config = load_config(pathlib.Path(out) / CONFIG)
    card = Card(pathlib.Path(out).resolve().name, config, metrics, tokens)
    if not write_card(out, card.to_markdown()):
        print(f"{out}: has a {CARD} of its own, so no model card is written")


def _check_default_data(data: str) -> None:
    """The default data come with a clone; elsewhere one line says how to come by pairs."""
    if data == DEFAULT_DATA and not pathlib.Path(data).exists():
        raise UserError(
            f"--data: {data} is not in this folder; name your pairs, a .tsv file or a folder, or "
            f"make the dates with `python -m keras_attention.datasets.dates --out {data}`"
        )


def _train(config, splits, task, started: float) -> dict:
    divide_cores()
    import_tensorflow_quietly()
    from keras_attention.training.distribution import make_strategy, telling_of_lost_workers
    from keras_attention.training.trainer import train

    with telling_of_lost_workers(task), make_strategy(task).scope():
        trained = train(config, splits, started=started, task=task)
    if trained.translator.has_attention:
        _plot(trained.test.translations, pathlib.Path(config.out) / ATTENTION)
    return trained.metrics


def _plot(translations, path: pathlib.Path) -> None:
    from keras_attention.plots.heatmap import plot_attention_grid, save_figure

    save_figure(plot_attention_grid(translations[:PLOTTED]), path)
