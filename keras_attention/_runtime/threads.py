"""How TensorFlow divides the cores between operations and the inside of one."""

from __future__ import annotations

import os

INTER_OP, INTRA_OP = "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"

INTER_OP_THREADS = 2  # operations at a time
CONCURRENT_BATCHES = 2  # batches that are translated at a time


def divide_cores() -> None:
    """Lets two operations run at a time, each on half of the cores.

    The operations of a training step are many and small, and the two directions of the encoder, or
    the two products of a gradient, can run side by side. TensorFlow's own division, every
    operation on all cores, is slower, see docs/scaling.md. The results are the same but for
    rounding.

    It has an effect before TensorFlow is first used. What the environment says already, in
    TensorFlow's own variables, stays.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault(INTER_OP, str(INTER_OP_THREADS))
    os.environ.setdefault(INTRA_OP, str(max(1, (cores or 1) // INTER_OP_THREADS)))
