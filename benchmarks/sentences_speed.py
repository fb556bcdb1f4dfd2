"""The recipe for sentences and the same model in PyTorch, on the same batches, taking turns.

    python -m benchmarks.sentences_speed --data FOLDER --torch-python PYTHON [--run RUN]

FOLDER is laid out as `train.py --data` reads it, such as the `data` that `benchmarks.sentences`
writes. Training: real tokens of both sides a second, for each width, over the same batches; each
round trains on all of them with the one and then with the other. With `--run`, a finished run of
the recipe, both decode its test sentences with its weights, strings in and strings out for ours,
ids for PyTorch, greedily and with a beam of 5; the share of equal answers is shown. Medians of the
rounds; CPU seconds, of all threads, are the fairer figure on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from keras_attention.commands import divide_cores, import_tensorflow_quietly

divide_cores()  # as train.py does
import_tensorflow_quietly()

import keras  # noqa: E402

from benchmarks.result_files import ROOT, add_out_option, write_results  # noqa: E402
from keras_attention.batching.batches import training_batches  # noqa: E402
from keras_attention.batching.training_data import TrainingData, prepare  # noqa: E402
from keras_attention.config import Config, read_config_file  # noqa: E402
from keras_attention.models.training_model import build_training_model  # noqa: E402
from keras_attention.pairs.splits import load_splits  # noqa: E402
from keras_attention.readers.run import Run, load_run  # noqa: E402
from keras_attention.readers.translator import Translator  # noqa: E402
from keras_attention.training.length_penalty import BEAM_WIDTH  # noqa: E402
from keras_attention.training.step import make_optimizer, make_training_step  # noqa: E402

WIDTHS = (256, 512)
STEPS = 24
ROWS = 64  # sentences of a batch that PyTorch decodes
TORCH = "PyTorch"
OURS = "ours"


def main() -> None:
    options = parse()
    config = Config(**read_config_file(ROOT / "configs" / "sentences.json"))
    config = dataclasses.replace(config, data=str(options.data))
    splits = load_splits(config.data, config.seed, config.source_tokens, config.target_tokens)
    data = prepare(splits, config)
    rows = [
        compare_training(dataclasses.replace(config, units=units), data, options)
        for units in options.widths
    ]
    if options.run:
        run = load_run(options.run)
        sources = [pair.source for pair in splits.test]
        rows += [compare_decoding(run, sources, width, options) for width in (1, BEAM_WIDTH)]
    write_results(options.out, rows, ("what", "units", "beam_width"))
    for row in rows:
        print(json.dumps(row))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--torch-python", required=True, metavar="PYTHON")
    parser.add_argument("--run", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help="batches a round")
    parser.add_argument("--widths", type=int, nargs="*", default=WIDTHS, metavar="UNITS")
    add_out_option(parser, "sentences_speed")
    return parser.parse_args()


def compare_training(config: Config, data: TrainingData, options: argparse.Namespace) -> dict:
    """Tokens a second of both, on the first batches of an epoch."""
    stream = training_batches(data.train, config.batch_size, config.unknown_rate, 1, 0)
    batches = [next(stream) for _ in range(options.steps)]
    sizes = len(data.survey.source), len(data.survey.target)
    tokens = sum(np.count_nonzero(b.source_ids) + np.count_nonzero(b.target_ids) for b in batches)
    keras.utils.set_random_seed(1)
    model = build_training_model(config, *sizes)
    optimizer = make_optimizer(config, 10_000)
    optimizer.build(model.trainable_variables)
    step = make_training_step(model, optimizer, config)

    def ours() -> dict:
        for batch in batches:
            loss, *_ = step(*batch)
        return {"loss": float(loss)}

    with torch_contestant(config, sizes, batches, options) as ask:
        found = take_turns(ours, lambda: ask({"do": "train"}), options.rounds)
    row = {"what": "training", "units": config.units, "beam_width": None}
    return row | rates(found, int(tokens)) | {"unit": "real tokens of both sides a second"}


def compare_decoding(
    run: Run, sources: list[str], beam_width: int, options: argparse.Namespace
) -> dict:
    """Sentences a second of both, with the weights of a run."""
    translator = Translator.load(options.run)
    penalty = 0.0  # ours and theirs count it in other places, so that outputs would differ
    answers: dict[str, list[str]] = {}

    def ours() -> dict:
        found = translator.translate(sources, beam_width, penalty)
        answers[OURS] = [each.text for each in found]
        return {}

    encoded = run.source.encode(sources)
    order = np.argsort(encoded.lengths, kind="stable")
    parts = [order[first : first + ROWS] for first in range(0, len(order), ROWS)]
    sizes = len(run.source), len(run.target)
    with torch_contestant(run.config, sizes, [], options, run, penalty) as ask:
        np.savez(
            ask.folder / "sources.npz",
            **{f"{index:05}": encoded.padded(part) for index, part in enumerate(parts)},
        )
        np.savez(ask.folder / "weights.npz", **weights_of(run))
        ask({"do": "load"})

        def theirs() -> dict:
            found = ask({"do": "decode", "beam_width": beam_width})
            texts = [""] * len(sources)
            for place, ids in zip(order, found.pop("ids"), strict=True):
                texts[place] = run.target.join(run.target.tokens_of(ids))
            answers[TORCH] = texts
            return found

        found = take_turns(ours, theirs, options.rounds)
    same = np.mean([a == b for a, b in zip(answers[OURS], answers[TORCH], strict=True)])
    row = {"what": "decoding", "units": run.config.units, "beam_width": beam_width}
    return row | rates(found, len(sources)) | {"unit": "sentences a second", "same": float(same)}


class Asking:
    """A PyTorch process that answers requests."""

    def __init__(self, process: subprocess.Popen, folder: pathlib.Path):
        self.process, self.folder = process, folder

    def __call__(self, request: dict) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextlib.contextmanager
def torch_contestant(
    config: Config, sizes, batches, options, run: Run | None = None, penalty: float = 0.0
) -> Iterator[Asking]:
    about = {
        "sizes": sizes,
        "units": config.units,
        "embedding_size": config.embedding_size,
        "dropouts": [config.dropout, config.decoder_input_dropout],
        "label_smoothing": config.label_smoothing,
        "learning_rate": config.learning_rate,
        "longest": run.longest_output if run else None,
        "penalty": penalty,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
        arrays = {
            f"{i}/{k}": part for i, batch in enumerate(batches) for k, part in enumerate(batch)
        }
        np.savez(folder / "batches.npz", **arrays)
        command = [options.torch_python, "-m", "benchmarks.torch_sentences", str(folder)]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            yield Asking(process, folder)
        finally:
            process.stdin.close()
            process.wait()


def take_turns(ours, theirs, rounds: int) -> dict[str, list[dict]]:
    """Wall and CPU seconds of each round of both, after one that warms up."""
    found: dict[str, list[dict]] = {OURS: [], TORCH: []}
    for index in range(rounds + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        ours()
        own = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        other = theirs()
        if index:
            found[OURS].append(own)
            found[TORCH].append({name: other[name] for name in own})
    return found


def rates(found: dict[str, list[dict]], count: int) -> dict:
    """How much a second, by wall and by CPU seconds; ours as a multiple, round by round."""
    row: dict = {}
    for name, rounds in found.items():
        for clock in ("seconds", "cpu_seconds"):
            rate = count / statistics.median(each[clock] for each in rounds)
            row[f"{name} by {clock}"] = round(rate, 1)
    for clock in ("seconds", "cpu_seconds"):
        pairs = zip(found[OURS], found[TORCH], strict=True)
        times = statistics.median(theirs[clock] / own[clock] for own, theirs in pairs)
        row[f"times faster by {clock}"] = round(times, 2)
    return row


def weights_of(run: Run) -> dict[str, np.ndarray]:
    layers = {layer.name: layer for layer in run.model.layers}
    encoder = layers["encoder_1"]
    arrays = {
        f"{side}_embedding": layers[f"{side}_embedding"].get_weights()[0]
        for side in ("source", "target")
    }
    recurrent = {
        "forward": encoder.forward_layer,
        "backward": encoder.backward_layer,
        "decoder": layers["decoder_1"],
    }
    for name, layer in recurrent.items():
        for part, value in zip(
            ("kernel", "recurrent_kernel", "bias"), layer.get_weights(), strict=True
        ):
            arrays[f"{name}/{part}"] = value
    (arrays["score"],) = layers["attention"].get_weights()
    (arrays["attentional_layer"],) = layers["attentional_layer"].get_weights()
    arrays["affine"], arrays["affine/bias"] = layers["affine"].get_weights()
    return arrays


if __name__ == "__main__":
    main()
