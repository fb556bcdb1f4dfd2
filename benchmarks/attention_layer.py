"""Speed and memory of `keras_attention.Attention` compared with Keras' own, in one run.

    python benchmarks/attention_layer.py [--rounds 21] [--out FILE.json]

Both layers compute the same: dot score, ragged mask, context and weights; the outputs are compared
first. "eager" is a plain call, "graph" the same in `tf.function`, "gradient" the graph with the
gradients by query and value. Rounds alternate between the layers, so that both meet the same load,
and a row gives the medians; the ratio is the median over rounds of ours / theirs. Memory is the
peak during one call in a fresh process above what it held before (Linux only), without inputs.
About two minutes on two cores. Expected: no ratio above 1.05.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from benchmarks.result_files import add_out_option, write_results  # noqa: E402
from keras_attention import Attention  # noqa: E402

SHAPES = [  # (B, Tq, Tv, H)
    (1, 1, 16, 64),
    (32, 10, 30, 128),
    (128, 12, 40, 128),
    (64, 64, 64, 256),
    (32, 128, 128, 512),
    (64, 128, 512, 512),
]


def ways(layer) -> dict:
    """The timed functions of (query, value, mask): name to function."""
    graph = tf.function(layer)

    @tf.function
    def gradient(query, value, mask):
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            context, weights = layer(query, value, mask)
            loss = tf.reduce_sum(context * context) + tf.reduce_sum(weights * weights)
        return tape.gradient(loss, [query, value])

    return {"eager": layer, "graph": graph, "gradient": gradient}


def seconds(function, arguments, repeat: int) -> float:
    """Seconds of one call, from `repeat` calls in a row."""
    start = time.perf_counter()
    for _ in range(repeat):
        result = function(*arguments)
    float(tf.reshape(result[0], [-1])[0])  # wait for the last one
    return (time.perf_counter() - start) / repeat


def draw(shape):
    """Query, value and a ragged mask of the shape (B, Tq, Tv, H)."""
    batch, query_length, length, width = shape
    random = np.random.default_rng(0)
    query = tf.constant(random.normal(size=(batch, query_length, width)), tf.float32)
    value = tf.constant(random.normal(size=(batch, length, width)), tf.float32)
    return query, value, tf.constant(np.arange(length) < random.integers(1, length + 1, (batch, 1)))


def pair() -> dict:
    """Functions of (query, value, mask) that give context and weights: ours and theirs."""
    our_layer, their_layer = Attention(), keras.layers.Attention()
    return {
        "ours": lambda query, value, mask: our_layer(query, value, mask=mask),
        "theirs": lambda query, value, mask: their_layer(
            [query, value], mask=[None, mask], return_attention_scores=True
        ),
    }


def print_peak(which: str, way: str, shape) -> None:
    """Print how many bytes one call needs at its peak above what this process held before."""
    function = ways(pair()[which])[way]
    seconds(function, draw((1, 2, 3, shape[-1])), 1)  # what TensorFlow itself needs
    arguments = draw(shape)
    pathlib.Path("/proc/self/clear_refs").write_text(
        "5", encoding="utf-8"
    )  # the peak starts again from here
    before = status_bytes("VmRSS")
    seconds(function, arguments, 1)
    print(status_bytes("VmHWM") - before)


def status_bytes(field: str) -> int:
    lines = pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def peak_bytes(which: str, way: str, shape) -> int | None:
    """`print_peak` in a fresh process, or None where it cannot be measured."""
    if not sys.platform.startswith("linux"):
        return None
    command = [sys.executable, __file__, "--peak", which, way, *map(str, shape)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(result.stdout.split()[-1])


def measure(shape, rounds: int) -> list[dict]:
    arguments, functions = draw(shape), pair()
    outputs = [function(*arguments) for function in functions.values()]
    for one, other in zip(*outputs, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)
    our_ways, their_ways = (ways(function) for function in functions.values())
    rows = []
    for way in our_ways:
        both = our_ways[way], their_ways[way]
        for function in both:
            seconds(function, arguments, 2)  # trace and warm up
        repeat = max(1, round(0.02 / seconds(both[1], arguments, 3)))
        times = [[], []]
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 else (1, 0):
                times[which].append(seconds(both[which], arguments, repeat))
        ratios = [ours / theirs for ours, theirs in zip(*times, strict=True)]
        row = {
            "shape": shape,
            "way": way,
            "ours_ms": 1e3 * statistics.median(times[0]),
            "theirs_ms": 1e3 * statistics.median(times[1]),
            "ratio": statistics.median(ratios),
        }
        if way != "eager" and shape in SHAPES[-2:]:
            row |= {f"{which}_bytes": peak_bytes(which, way, shape) for which in functions}
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=21, help="alternating rounds (default 21)")
    add_out_option(parser, "attention_layer")
    parser.add_argument("--peak", nargs=6, help=argparse.SUPPRESS)  # for the fresh processes
    options = parser.parse_args()
    if options.peak:
        return print_peak(*options.peak[:2], tuple(map(int, options.peak[2:])))
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}, {os.cpu_count()} cores")
    print(f"{'B, Tq, Tv, H':>20} {'way':>9} {'ours ms':>9} {'theirs ms':>9} {'ratio':>6}  peak MB")
    rows = []
    for shape in SHAPES:
        for row in measure(shape, options.rounds):
            memory = [row.get(name) for name in ("ours_bytes", "theirs_bytes")]
            memory = " / ".join(f"{size / 1e6:.1f}" for size in memory if size is not None)
            name = ", ".join(map(str, shape))
            print(
                f"{name:>20} {row['way']:>9} {row['ours_ms']:9.3f} {row['theirs_ms']:9.3f} "
                f"{row['ratio']:6.3f}  {memory}",
                flush=True,
            )
            rows.append(row)
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
