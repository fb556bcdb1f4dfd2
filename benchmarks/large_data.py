"""Memory and cost per token as the training data grow: `python -m benchmarks.large_data`.

    python -m benchmarks.large_data [--sizes 50000 100000 1000000 10000000] [--steps 800]

Synthetic pairs, a random word and its reversal, in 16 shards. Each size has a process of its own
that does what `train.py` does before and while it trains: opens the folder, surveys all pairs
(vocabulary, fingerprint, lengths: one pass), then makes `--steps` training steps of 256 pairs from
the stream, over as many epochs as that takes. So the survey is measured on all pairs,
training on a slice. Cost is per token of both sides, in seconds and in CPU seconds of all threads,
which other programs disturb less; memory is the process's peak (Linux). With ten million pairs on
two cores the survey takes about a minute, the whole table 3.
Expected: the same peak and the same cost per token from 100,000 pairs on.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.result_files import add_out_option, write_results

SHARDS = 16
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)


def write_data(folder: pathlib.Path, pairs: int) -> None:
    """Shards of training pairs, and the smallest other parts that there can be."""
    rng = np.random.default_rng(0)
    for shard in range(SHARDS):
        with open(folder / f"train-{shard:02}.tsv", "wb") as file:
            count = pairs // SHARDS + (shard < pairs % SHARDS)
            while count:
                rows = min(count, 10_000)
                letters = rng.choice(LETTERS, (rows, 20))
                lengths = rng.integers(5, 21, rows)
                words = [row[:n].tobytes() for row, n in zip(letters, lengths, strict=True)]
                file.write(b"".join(b"%b\t%b\n" % (word, word[::-1]) for word in words))
                count -= rows
    for name in ("valid", "test"):
        (folder / f"{name}.tsv").write_text("abc\tcba\n")


def measure(folder: pathlib.Path, steps: int) -> dict:
    """Survey and training in this process."""
    from keras_attention.commands import import_tensorflow_quietly
    from keras_attention.config import Config
    from keras_attention.pairs.pair_stream import PairStream
    from keras_attention.pairs.splits import open_splits

    import_tensorflow_quietly()
    from keras_attention.batching.batches import StreamedPairs, encode_pairs, training_batches
    from keras_attention.batching.survey import survey
    from keras_attention.models.training_model import build_training_model
    from keras_attention.training.step import make_optimizer, make_training_step

    config = Config(data=str(folder), batch_size=256, epochs=2)
    start = time.process_time()
    train = open_splits(folder, config.seed, in_memory=config.shuffle_buffer).train
    streamed = isinstance(train, PairStream)
    block_size = config.shuffle_buffer if streamed else len(train)
    seen = survey(train, config, block_size)
    survey_seconds = time.process_time() - start
    if streamed:
        pairs = StreamedPairs(train.shuffled, seen.source, seen.target, block_size)
    else:
        pairs = encode_pairs(train, seen.source, seen.target)
    model = build_training_model(config, len(seen.source), len(seen.target))
    optimizer = make_optimizer(config, seen.batches * config.epochs)
    optimizer.build(model.trainable_variables)
    training_step = make_training_step(model, optimizer, config)

    def endless():
        epoch = 0
        while True:
            yield from training_batches(pairs, config.batch_size, 0.001, config.seed, epoch)
            epoch += 1

    batches, tokens = endless(), 0
    for _ in range(10):  # traces and warms up
        training_step(*next(batches))
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        batch = next(batches)
        tokens += np.count_nonzero(batch.source_ids) + np.count_nonzero(batch.target_ids)
        float(training_step(*batch)[0])
    training_seconds, training_cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "pairs": seen.pairs,
        "streamed": streamed,
        "survey_cpu_us_per_pair": 1e6 * survey_seconds / seen.pairs,
        "training_steps": steps,
        "training_us_per_token": 1e6 * training_seconds / tokens,
        "training_cpu_us_per_token": 1e6 * training_cpu / tokens,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50_000, 100_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--steps", type=int, default=800, help="training steps to measure")
    add_out_option(parser, "large_data")
    parser.add_argument("--measure", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return print(json.dumps(measure(options.measure, options.steps)))
    print("| pairs | survey CPU µs/pair | training µs/token | CPU µs/token | peak MB | load |")
    print("|---|---|---|---|---|---|")
    rows = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_data(pathlib.Path(folder), size)
            command = [sys.executable, "-m", "benchmarks.large_data", "--measure", folder]
            command += ["--steps", str(options.steps)]
            result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row = json.loads(result.stdout.splitlines()[-1]) | {"load": os.getloadavg()[0]}
        rows.append(row)
        print(
            f"| {row['pairs']:,} | {row['survey_cpu_us_per_pair']:.1f} "
            f"| {row['training_us_per_token']:.2f} | {row['training_cpu_us_per_token']:.2f} "
            f"| {row['peak_mb']:.0f} | {row['load']:.1f} |",
            flush=True,
        )
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
