"""Sentences per second in batches, greedily and with a beam, beside PyTorch with the same weights.

    python -m benchmarks.decoding RUN [--export EXPORT] [--torch-python PYTHON] [--rounds 3]

RUN is a finished run of the default kind of model. The sentences are the sources of its test
pairs, in batches of 256 by length, strings in and strings out; PyTorch is given the run's weights,
and its outputs are compared with ours. Rounds alternate; a row gives the median. (One sentence at a
time: `benchmarks/export_latency.py`.) About a minute on two cores.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from keras_attention.commands import divide_cores
from keras_attention.pairs.splits import load_splits
from keras_attention.readers.translator import Translator

ROOT = pathlib.Path(__file__).parent.parent
BEAM_WIDTH = 5


def save_weights(path: str, run: str) -> None:
    """Weights and vocabularies of a run for `benchmarks.torch_seq2seq`."""
    from keras_attention.readers.run import load_run

    loaded = load_run(run)
    layers = {layer.name: layer for layer in loaded.model.layers}
    encoder = layers["encoder_1"]
    arrays = {"source": "".join(loaded.source.tokens), "target": "".join(loaded.target.tokens)}
    for side in ("source", "target"):
        arrays[f"{side}_embedding"] = layers[f"{side}_embedding"].get_weights()[0]
    for name, layer in (
        ("forward", encoder.forward_layer),
        ("backward", encoder.backward_layer),
        ("decoder", layers["decoder_1"]),
    ):
        for part, value in zip(
            ("kernel", "recurrent_kernel", "bias"), layer.get_weights(), strict=True
        ):
            arrays[f"{name}/{part}"] = value
    arrays["affine/kernel"], arrays["affine/bias"] = layers["affine"].get_weights()
    np.savez(path, **{name: np.asarray(value) for name, value in arrays.items()})


def timed(translator: Translator, texts: list[str], beam_width: int) -> tuple[float, list[str]]:
    start = time.perf_counter()
    outputs = [result.text for result in translator.translate(texts, beam_width)]
    return time.perf_counter() - start, outputs


def torch_seconds(python: str, folder: pathlib.Path, texts: list[str]) -> tuple[float, list[str]]:
    """One round in a process of its own, after a first one that warms up."""
    (folder / "texts").write_text("\n".join(texts) + "\n", encoding="utf-8")
    command = [python, "-m", "benchmarks.torch_seq2seq", "decode", "--rounds", "1"]
    command += ["--data", folder / "texts", "--out", folder / "outputs"]
    command += ["--weights", folder / "weights.npz"]
    result = subprocess.run(
        [str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds = json.loads(result.stdout.splitlines()[-1])["seconds"][0]
    return seconds, (folder / "outputs").read_text(encoding="utf-8").splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("--export")
    parser.add_argument("--torch-python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--n", type=int, default=5000, help="sentences at most")
    parser.add_argument("--out", type=pathlib.Path, help="also write the rows as JSON")
    options = parser.parse_args()
    divide_cores()  # as the verbs do
    from keras_attention.config import load_config

    config = load_config(pathlib.Path(options.run) / "config.json")
    texts = [pair.source for pair in load_splits(config.data, config.seed).test[: options.n]]
    ways = {}
    run = Translator.load(options.run)
    ways["Keras, greedy"] = lambda: timed(run, texts, 1)
    ways[f"Keras, beam of {BEAM_WIDTH}"] = lambda: timed(run, texts, BEAM_WIDTH)
    if options.export:
        export = Translator.load(options.export)
        ways["SavedModel, greedy"] = lambda: timed(export, texts, 1)
        ways[f"SavedModel, beam of {BEAM_WIDTH}"] = lambda: timed(export, texts, BEAM_WIDTH)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.torch_python:
            save_weights(str(folder / "weights.npz"), options.run)
            ways["PyTorch, greedy"] = lambda: torch_seconds(options.torch_python, folder, texts)
        outputs = {way: function()[1] for way, function in ways.items()}  # warms up as well
        seconds = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, function in ways.items():
                seconds[way].append(function()[0])
    print(f"{len(texts)} sentences, load {os.getloadavg()[0]:.1f}\n")
    print("| way | sentences/s | same outputs as Keras, greedy |\n|---|---|---|")
    rows = []
    for way in ways:
        rate = len(texts) / statistics.median(seconds[way])
        pairs = zip(outputs[way], outputs["Keras, greedy"], strict=True)
        same = sum(a == b for a, b in pairs) / len(texts)
        rows.append({"way": way, "sentences_per_second": rate, "same": same})
        print(f"| {way} | {rate:,.0f} | {same:.2%} |")
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
