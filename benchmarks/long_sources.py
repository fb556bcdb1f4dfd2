"""What grows with the source's length: `python -m benchmarks.long_sources [--lengths 50 500 2000]`.

Random texts of a length and targets as long, in batches of a fixed number of positions; for each
length a process of its own makes training steps of the default model, then decodes. CPU time per
source token would be constant if all work were linear; the attention's is not: it grows with
source times target length, and so does its memory. Peak memory is of the whole process (Linux).
About two minutes on two cores.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.result_files import add_out_option, write_results

POSITIONS = 16_384
STEPS = 3


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(length: int) -> dict:
    from keras_attention.commands import import_tensorflow_quietly

    import_tensorflow_quietly()
    import tensorflow as tf

    from keras_attention.config import Config
    from keras_attention.models.inference import InferenceModel
    from keras_attention.models.training_model import build_training_model
    from keras_attention.training.step import make_optimizer, make_training_step

    size = 30
    rows = max(1, POSITIONS // length)
    config = Config()
    model = build_training_model(config, size, size)
    optimizer = make_optimizer(config, 100)
    optimizer.build(model.trainable_variables)
    training_step = make_training_step(model, optimizer, config)
    ids = np.random.default_rng(0).integers(4, size, (rows, length)).astype(np.int32)
    small = ids[:2, :5]
    training_step(small, small, small)  # traces
    base, cpu = peak_mb(), time.process_time()
    for _ in range(STEPS):
        float(training_step(ids, ids, ids)[0])
    training_cpu, training_mb = time.process_time() - cpu, peak_mb()
    inference = InferenceModel.from_training_model(model, config, length)
    greedy = tf.function(inference.greedy, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    greedy(small)
    cpu = time.process_time()
    decoded = greedy(ids)
    float(decoded.log_probability[0])
    tokens = rows * length
    return {
        "length": length,
        "rows": rows,
        "training_us_per_token": 1e6 * training_cpu / STEPS / tokens,
        "training_mb": training_mb - base,
        "decoding_us_per_token": 1e6 * (time.process_time() - cpu) / tokens,
        "peak_mb": peak_mb() - base,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[20, 100, 500, 1000, 2000])
    add_out_option(parser, "long_sources")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return print(json.dumps(measure(options.measure)))
    print(
        "| length | rows | training CPU µs/token | training MB | decoding CPU µs/token "
        "| MB with decoding | load |\n|---|---|---|---|---|---|---|"
    )
    rows = []
    for length in options.lengths:
        command = [sys.executable, "-m", "benchmarks.long_sources", "--measure", str(length)]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row = json.loads(result.stdout.splitlines()[-1]) | {"load": os.getloadavg()[0]}
        rows.append(row)
        print(
            f"| {length} | {row['rows']} | {row['training_us_per_token']:.1f} "
            f"| {row['training_mb']:.0f} | {row['decoding_us_per_token']:.1f} "
            f"| {row['peak_mb']:.0f} | {row['load']:.1f} |",
            flush=True,
        )
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
