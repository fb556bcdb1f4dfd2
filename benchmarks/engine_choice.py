"""Where NumPy or TensorFlow decodes faster: `python -m benchmarks.engine_choice [--rounds 3]`.

Models of random weights and random sources, from the default kind of model to wide ones, long
sources, large vocabularies, many layers and every score; the same texts go through both engines in
alternating rounds, greedily and with a beam of 5, and as one sentence at a time. A row gives the
median rates and their ratio. Some ten minutes on two cores.
"""

import argparse
import statistics
import sys
import time

import numpy as np

from benchmarks.result_files import add_out_option, write_results
from keras_attention._runtime.quiet import import_tensorflow_quietly
from keras_attention._runtime.threads import divide_cores

# Options of the model; tokens of a source, ids of the target, texts.
CASES = {
    "default": ({}, 20, 30, 2048),
    "256 units": ({"units": 256}, 20, 30, 1024),
    "512 units, 2 layers": ({"units": 512, "layers": 2}, 20, 30, 512),
    "GRU": ({"encoder": "gru"}, 20, 30, 1024),
    "general": ({"attention": "general"}, 20, 30, 1024),
    "additive": ({"attention": "additive"}, 20, 30, 512),
    "no attention": ({"attention": "none"}, 20, 30, 1024),
    "sources of 200": ({}, 200, 30, 512),
    "additive, sources of 200": ({"attention": "additive"}, 200, 30, 64),
    "sources of 2,000": ({}, 2000, 30, 32),
    "vocabulary of 10,000": ({"units": 256, "embedding_size": 256}, 20, 10_000, 256),
}
LONGEST_OUTPUT = 20


def readers(options: dict, target_size: int):
    """The same random model in both engines."""
    import keras

    from keras_attention.config import Config
    from keras_attention.models.inference import InferenceModel
    from keras_attention.models.training_model import build_training_model
    from keras_attention.readers.engine_reader import engine_from_model
    from keras_attention.readers.run_reader import RunReader
    from keras_attention.text.vocabulary import Vocabulary

    keras.utils.set_random_seed(1)
    config = Config(**options)
    source = Vocabulary("char", tuple(map(chr, range(97, 123))))
    target = Vocabulary("char", tuple(map(chr, range(0x4E00, 0x4E00 + target_size - 4))))
    model = build_training_model(config, len(source), len(target))
    inference = InferenceModel.from_training_model(model, config, LONGEST_OUTPUT)
    return {
        "numpy": engine_from_model(model, config, source, target, LONGEST_OUTPUT),
        "tensorflow": RunReader(inference, source, target),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    add_out_option(parser, "engine_choice")
    options = parser.parse_args()
    divide_cores()
    import_tensorflow_quietly()
    from keras_attention.readers.translator import Translator

    rows = []
    print(
        "| model | decoding | NumPy, texts/s | TensorFlow, texts/s | ratio |\n|---|---|---|---|---|"
    )
    for name in options.only:
        model_options, length, target_size, n = CASES[name]
        rng = np.random.default_rng(0)
        sizes = rng.integers(max(1, length // 2), length + 1, n)
        texts = ["".join(map(chr, rng.integers(97, 123, size))) for size in sizes]
        engines = readers(model_options, target_size)
        for how, given, beam_width in (
            ("greedy", texts, 1),
            ("beam of 5", texts[: max(1, n // 4)], 5),
            ("one text", texts[:1], 1),
        ):
            seconds = {engine: [] for engine in engines}
            for turn in range(options.rounds + 1):
                for engine, reader in engines.items():
                    start = time.perf_counter()
                    Translator(reader).translate(given, beam_width)
                    if turn:  # the first traces a graph
                        seconds[engine].append(time.perf_counter() - start)
            rates = {e: len(given) / statistics.median(s) for e, s in seconds.items()}
            ratio = rates["numpy"] / rates["tensorflow"]
            rows.append({"model": name, "decoding": how, **rates})
            print(
                f"| {name} | {how} | {rates['numpy']:,.0f} | {rates['tensorflow']:,.0f} "
                f"| {ratio:.2f} |",
                flush=True,
            )
    write_results(options.out, rows)


if __name__ == "__main__":
    sys.exit(main())
