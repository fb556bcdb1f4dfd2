"""Times one sentence through every exported artefact, compared with PyTorch with the same weights.

    pip install -r requirements-benchmarks.txt
    python benchmarks/export_latency.py exports/dates runs/dates [--out FILE.json]

In one process, in alternating rounds, strings in and strings out; LiteRT and PyTorch on one thread,
TensorFlow on its own default. The PyTorch decoder is written as its users write it (`nn.LSTM`,
`nn.LSTMCell`, a Python loop under `torch.inference_mode`), keeps score and attention as the others
do, holds the run's weights, and must give the same text; without PyTorch its row is left out. Runs
of the default architecture only. Half a minute on two cores.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from benchmarks.result_files import add_out_option, write_results
from keras_attention.commands import exit_with_user_errors, import_tensorflow_quietly
from keras_attention.errors import UserError

SENTENCE = "september 27, 1994"
ROUNDS = 20
CALLS = 25  # of each artefact in a round


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", metavar="EXPORT", type=pathlib.Path)
    parser.add_argument("run", metavar="RUN", type=pathlib.Path, help="that EXPORT was made from")
    parser.add_argument("--sentence", default=SENTENCE)
    add_out_option(parser, "export_latency")
    options = parser.parse_args(arguments)

    import_tensorflow_quietly()
    calls = _calls(options.export, options.run, options.sentence)
    answers = {name: call() for name, call in calls.items()}
    times = _times(calls)
    reference = answers["Keras, tf.function"]
    rows = []
    for name, seconds in times.items():
        milliseconds = sorted(1000 * s for s in seconds)
        row = {
            "artefact": name,
            "p50_ms": statistics.median(milliseconds),
            "p99_ms": milliseconds[int(0.99 * len(milliseconds))],
            "least_ms": milliseconds[0],
            "same_text": answers[name] == reference,
        }
        rows.append(row)
        print(
            f"{name:<28} p50 {row['p50_ms']:7.3f} ms   p99 {row['p99_ms']:7.3f} ms   "
            f"least {row['least_ms']:7.3f} ms   {answers[name]}"
        )
    content = {"sentence": options.sentence, "calls": ROUNDS * CALLS, "rows": rows}
    write_results(options.out, content)


def _times(calls) -> dict[str, list[float]]:
    """Seconds of each call; the artefacts take turns, so that a busy moment hits all of them."""
    for call in calls.values():
        for _ in range(CALLS):
            call()
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    return times


def _calls(export: pathlib.Path, run: pathlib.Path, sentence: str) -> dict:
    """What to time: name → a function without arguments that returns the answer."""
    import tensorflow as tf

    from keras_attention.folders.export_layout import described_version, read_manifest
    from keras_attention.folders.saved_model_files import load_saved_model
    from keras_attention.readers.engine_reader import EngineReader
    from keras_attention.readers.litert_reader import LiteRTReader
    from keras_attention.readers.run_reader import RunReader
    from keras_attention.readers.translator import Translator

    manifest = read_manifest(export)
    litert = export / "litert"
    served = load_saved_model(described_version(export, manifest))
    signatures = served.signatures
    text = tf.constant([sentence])

    def translate(reader):
        translator = Translator(reader)
        return lambda: translator.translate([sentence])[0].text

    def signature(name):
        def call():
            answer = signatures[name](text=text)["text"].numpy()[0]
            return (answer[0] if name == "beam" else answer).decode()

        return call

    calls = {
        "NumPy": translate(EngineReader.load(run)),
        "LiteRT float32": translate(LiteRTReader(litert / f"{manifest['name']}.tflite")),
        "LiteRT int8": translate(LiteRTReader(litert / f"{manifest['name']}.int8.tflite")),
        "SavedModel serving_default": signature("serving_default"),
        "SavedModel attention": signature("attention"),
        f"SavedModel beam {manifest['beam_width']}": signature("beam"),
        "Keras, tf.function": translate(RunReader.load(run)),
    }
    try:
        calls["PyTorch"] = _pytorch_call(run, sentence)
    except ImportError:
        print("no PyTorch here: pip install -r requirements-benchmarks.txt", file=sys.stderr)
    return calls


def _pytorch_call(run_folder: pathlib.Path, sentence: str):
    """Greedy decoding in PyTorch with the weights of the run.

    Raises:
        ImportError: PyTorch is not installed.
        UserError: the run is not of the default architecture.
    """
    import torch
    from torch import nn

    from keras_attention.readers.run import load_run
    from keras_attention.text.vocabulary import END, PADDING, START, UNKNOWN

    run = load_run(run_folder)
    config = run.config
    usual = (config.encoder, config.bidirectional, config.layers, config.attention)
    if usual != ("lstm", True, 1, "dot") or config.reverse_source or config.attentional_layer:
        raise UserError(f"{run_folder}: is not of the default architecture; PyTorch's is")
    torch.set_num_threads(1)
    units, width = config.units, config.embedding_size

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.source_embedding = nn.Embedding(len(run.source), width)
            self.target_embedding = nn.Embedding(len(run.target), width)
            self.encoder = nn.LSTM(width, units // 2, bidirectional=True, batch_first=True)
            self.cell = nn.LSTMCell(width, units)
            self.affine = nn.Linear(2 * units, len(run.target))
            never = torch.zeros(len(run.target))
            never[[PADDING, START, UNKNOWN]] = -1e9
            self.register_buffer("never", never)

        def greedy(self, source_ids):
            encoder_outputs, (h, c) = self.encoder(self.source_embedding(source_ids))
            h, c = (torch.cat([part[0], part[1]], dim=1) for part in (h, c))
            token = torch.full((len(source_ids),), START)
            ids, weights_of_steps, score = [], [], 0.0
            for _ in range(config.longest_output):
                h, c = self.cell(self.target_embedding(token), (h, c))
                scores = torch.einsum("bsu,bu->bs", encoder_outputs, h)
                weights = torch.softmax(scores, dim=1)
                context = torch.einsum("bs,bsu->bu", weights, encoder_outputs)
                logits = self.affine(torch.cat([context, h], dim=1)) + self.never
                best, token = torch.log_softmax(logits, dim=1).max(dim=1)
                score += best.item()
                if token.item() == END:
                    break
                ids.append(token.item())
                weights_of_steps.append(weights)
            return ids, score, weights_of_steps

    def tensors(layer):
        return [torch.tensor(w) for w in layer.get_weights()]

    model, named = Decoder().eval(), {layer.name: layer for layer in run.model.layers}
    with torch.no_grad():
        model.source_embedding.weight.copy_(*tensors(named["source_embedding"]))
        model.target_embedding.weight.copy_(*tensors(named["target_embedding"]))
        kernel, bias = tensors(named["affine"])
        model.affine.weight.copy_(kernel.T)
        model.affine.bias.copy_(bias)
        # Keras and PyTorch order the gates alike; PyTorch has two biases that it adds.
        parts = tensors(named["encoder_1"])
        for i, direction in enumerate(("", "_reverse")):
            _copy_lstm(model.encoder, parts[3 * i : 3 * i + 3], f"_l0{direction}")
        _copy_lstm(model.cell, tensors(named["decoder_1"]), "")

    @torch.inference_mode()
    def call():
        source_ids = torch.tensor([run.source.encode([sentence]).flat.tolist()])
        ids, _, _ = model.greedy(source_ids)
        return run.target.join(run.target.tokens_of(ids))

    return call


def _copy_lstm(module, weights, suffix: str) -> None:
    kernel, recurrent_kernel, bias = weights
    getattr(module, f"weight_ih{suffix}").copy_(kernel.T)
    getattr(module, f"weight_hh{suffix}").copy_(recurrent_kernel.T)
    getattr(module, f"bias_ih{suffix}").copy_(bias)
    getattr(module, f"bias_hh{suffix}").zero_()


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
