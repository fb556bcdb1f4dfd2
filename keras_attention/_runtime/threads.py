"""How TensorFlow divides the cores between operations and the inside of one."""

from __future__ import annotations

import os

AT_A_TIME = 2  # operations, parts of a training batch, and batches that are translated
BETWEEN, WITHIN = "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"


def divide_cores() -> None:
    """Lets two operations run at a time, each on half of the cores.

    The operations of a training step are many and small, and the two directions of the encoder, or
    the two products of a gradient, can run side by side. TensorFlow's own division, every
    operation on all cores, is slower, see docs/scaling.md. The results are the same.

    It has an effect before TensorFlow is first used. What the environment says already, in
    TensorFlow's own variables, stays.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault(BETWEEN, str(AT_A_TIME))
    os.environ.setdefault(WITHIN, str(max(1, (cores or 1) // AT_A_TIME)))
