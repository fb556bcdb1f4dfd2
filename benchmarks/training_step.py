"""Real tokens per second of a training step, and its share of what the processor can multiply.

    python -m benchmarks.training_step [--rounds 5] [--batch-sizes 256 64] [--policy mixed_bfloat16]

For three widths of the default model on batches of `data/dates`: steps over the same 24 batches,
and in the same rounds the matrix products that these steps cannot do without, alone and at the
same sizes (input and state times the gates' matrix, forward and both backward products, for the
rows of a batch). The ideal time is what those products would take for the real tokens, padding
left out; the share is ideal / measured. Attention and affine layer are counted in the products at
the decoder's rate. The peak is that of two loops of products side by side, which keep two cores
busy; one loop alone, with products that wait for each other, is the last column's measure. CPU
seconds, of all threads, are the fairer figure on a busy machine. About three minutes on two cores.
"""

import argparse
import itertools
import os
import pathlib
import time

from keras_attention.commands import divide_cores, import_tensorflow_quietly

divide_cores()  # as train.py does
import_tensorflow_quietly()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from benchmarks.result_files import add_out_option, write_results  # noqa: E402
from keras_attention.batching.batches import encode_pairs, training_batches  # noqa: E402
from keras_attention.config import Config  # noqa: E402
from keras_attention.models.training_model import build_training_model  # noqa: E402
from keras_attention.pairs.pair_files import read_pairs  # noqa: E402
from keras_attention.text.vocabulary import Vocabulary  # noqa: E402
from keras_attention.training.step import make_optimizer, make_training_step  # noqa: E402

TRAIN = pathlib.Path(__file__).parent.parent / "data" / "dates" / "train.tsv"
WIDTHS = (128, 256, 512)
STEPS = 24
REPEATS = 50


def load_batches(config: Config):
    """The first batches of an epoch, and the sizes of the two vocabularies."""
    pairs = read_pairs(TRAIN)
    source, target = (
        Vocabulary.from_texts((pair[side] for pair in pairs), "char") for side in range(2)
    )
    stream = training_batches(encode_pairs(pairs, source, target), config.batch_size, 0.0, 1, 0)
    batches = [[tf.constant(part) for part in next(stream)] for _ in range(STEPS)]
    return batches, len(source), len(target)


def make_products(rows: int, inputs: int, units: int, loops: int):
    """A function that multiplies what one step of one LSTM needs, often; and its operations.

    So many loops of it run side by side: the three products of one cannot keep two cores busy.
    """
    x = tf.random.normal([rows, inputs + units])
    kernel = tf.random.normal([inputs + units, 4 * units])
    gates = tf.random.normal([rows, 4 * units])

    def step(left, total):
        forward = tf.matmul(x + total, kernel)
        to_input = tf.matmul(gates + total, kernel, transpose_b=True)
        to_kernel = tf.matmul(x + total, gates, transpose_a=True)
        return left - 1, 0.0 * (forward[0, 0] + to_input[0, 0] + to_kernel[0, 0])

    @tf.function(autograph=False)
    def products():
        start = REPEATS, 0.0
        return [tf.while_loop(lambda left, _: left > 0, step, start)[1] for _ in range(loops)]

    return products, loops * REPEATS * 3 * 2 * rows * (inputs + units) * 4 * units


def count_operations(config: Config, batches, target_size: int) -> tuple[float, float, int]:
    """Floating-point operations of encoder and of decoder side, and tokens; padding left out."""
    size, units = config.embedding_size, config.units
    encoder = decoder = tokens = 0
    for source_ids, _, target_ids in batches:
        source_lengths = np.count_nonzero(source_ids, axis=1)
        target_lengths = np.count_nonzero(target_ids, axis=1)
        half = units // 2
        encoder += 2 * source_lengths.sum() * 2 * 4 * half * (size + half)
        decoder += target_lengths.sum() * 2 * 4 * units * (size + units)
        decoder += 2 * 2 * units * (source_lengths * target_lengths).sum()  # scores and context
        decoder += target_lengths.sum() * 2 * 2 * units * target_size
        tokens += source_lengths.sum() + target_lengths.sum()
    return 3.0 * encoder, 3.0 * decoder, int(tokens)  # backward costs twice forward


def timed(function) -> tuple[float, float]:
    """Seconds, and CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(width: int, batch_size: int, rounds: int) -> dict:
    keras.utils.set_random_seed(1)
    config = Config(units=width, batch_size=batch_size)
    batches, source_size, target_size = load_batches(config)
    model = build_training_model(config, source_size, target_size)
    optimizer = make_optimizer(config, 1000)
    optimizer.build(model.trainable_variables)
    training_step = make_training_step(model, optimizer, config)
    encoder, decoder, tokens = count_operations(config, batches, target_size)
    sizes = ((width // 2, encoder), (width, decoder))
    products = {
        loops: [
            (*make_products(config.batch_size, config.embedding_size, units, loops), operations)
            for units, operations in sizes
        ]
        for loops in (1, 2)
    }

    def steps():
        for batch in batches:
            result = training_step(*batch)
        float(result[0])

    steps()  # traces
    for function, *_ in products[1] + products[2]:
        function()
    step_times, ideal_times = [], {loops: [] for loops in products}
    for _ in range(rounds):
        step_times.append(timed(steps))
        for loops, functions in products.items():
            ideal = np.zeros(2)
            for function, done, needed in functions:
                ideal += np.array(timed(function)) * needed / done
            ideal_times[loops].append(ideal)
    seconds, cpu = np.median(step_times, axis=0)
    one_loop, _ = np.median(ideal_times[1], axis=0)
    ideal_seconds, ideal_cpu = np.median(ideal_times[2], axis=0)
    return {
        "batch_size": batch_size,
        "units": width,
        "tokens_per_second": tokens / seconds,
        "cpu_us_per_token": 1e6 * cpu / tokens,
        "gflops": (encoder + decoder) / seconds / 1e9,
        "peak_gflops": (encoder + decoder) / ideal_seconds / 1e9,
        "share": ideal_seconds / seconds,
        "cpu_share": ideal_cpu / cpu,
        "share_of_one_loop": one_loop / seconds,
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[256, 64])
    parser.add_argument("--policy", default="float32", help="Keras' dtype policy of the model")
    add_out_option(parser, "training_step")
    options = parser.parse_args()
    keras.config.set_dtype_policy(options.policy)
    print(
        "| batch | units | real tokens/s | CPU µs/token | GFLOP/s | peak | share | CPU share "
        "| load | share of one loop |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for batch_size, width in itertools.product(options.batch_sizes, options.widths):
        row = measure(width, batch_size, options.rounds)
        rows.append(row)
        print(
            f"| {batch_size} | {width} | {row['tokens_per_second']:,.0f} "
            f"| {row['cpu_us_per_token']:.2f} "
            f"| {row['gflops']:.1f} | {row['peak_gflops']:.1f} | {row['share']:.0%} "
            f"| {row['cpu_share']:.0%} | {row['load']:.1f} | {row['share_of_one_loop']:.0%} |",
            flush=True,
        )
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
