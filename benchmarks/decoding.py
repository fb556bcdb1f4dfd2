"""Sentences per second in batches: NumPy, TensorFlow and PyTorch with the same weights.

    python -m benchmarks.decoding RUN [--export EXPORT] [--torch-python PYTHON] [--rounds 3]

RUN is a finished run of the default kind of model. The sentences are the sources of its test
pairs, in batches by length, strings in and strings out; PyTorch is given the run's weights,
and its outputs are compared with ours. Rounds alternate; a row gives the median. Variables that
choose another OpenBLAS than a user's machine would (`OPENBLAS_CORETYPE`, `OPENBLAS_L2_SIZE`) are
taken away first. (One sentence at a time: `benchmarks/export_latency.py`.) About a minute on two
cores.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.result_files import add_out_option, write_results
from keras_attention.commands import divide_cores
from keras_attention.pairs.splits import load_splits
from keras_attention.readers.translator import Translator

# NumPy's BLAS reads these when it is imported.
OPENBLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
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
    add_out_option(parser, "decoding")
    options = parser.parse_args()
    divide_cores()  # as the verbs do
    from keras_attention.config import load_config

    config = load_config(pathlib.Path(options.run) / "config.json")
    texts = [pair.source for pair in load_splits(config.data, config.seed).test[: options.n]]
    ways = {}
    models = {
        "NumPy": (options.run, "numpy"),
        "TensorFlow": (options.run, "tensorflow"),
    }
    if options.export:
        models["NumPy, export"] = options.export, "numpy"
        models["TensorFlow, export"] = options.export, "tensorflow"
    for name, (path, engine) in models.items():
        translator = Translator.load(path, engine)
        for how, beam_width in (("greedy", 1), (f"beam of {BEAM_WIDTH}", BEAM_WIDTH)):
            ways[f"{name}, {how}"] = functools.partial(timed, translator, texts, beam_width)
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
    load = os.getloadavg()[0]
    print(f"{len(texts)} sentences, load {load:.1f}\n")
    print("| way | sentences/s | same outputs as TensorFlow, greedy |\n|---|---|---|")
    rows = []
    for way in ways:
        rate = len(texts) / statistics.median(seconds[way])
        pairs = zip(outputs[way], outputs["TensorFlow, greedy"], strict=True)
        same = sum(a == b for a, b in pairs) / len(texts)
        rows.append({"way": way, "sentences_per_second": rate, "same": same})
        print(f"| {way} | {rate:,.0f} | {same:.2%} |")
    write_results(options.out, rows)


if __name__ == "__main__":
    if any(name in os.environ for name in OPENBLAS):
        for name in OPENBLAS:
            os.environ.pop(name, None)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.decoding", *sys.argv[1:]])
    sys.exit(main())
