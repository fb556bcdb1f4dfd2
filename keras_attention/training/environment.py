"""What the bits of a training depend on besides its config and its data."""

from __future__ import annotations

import os
import pathlib
import platform

import keras
import numpy as np
import tensorflow as tf

from keras_attention._runtime.threads import INTER_OP, INTRA_OP
from keras_attention.training.cluster import Task


def environment(task: Task) -> dict[str, str]:
    """Versions, processor, devices, threads and workers of this process, by name.

    Dropout and the order of the batches depend on none of them but a GPU, which draws dropout of
    its own. The others decide in which order numbers are added up, so that weights differ by
    rounding.
    """
    gpus = len(tf.config.list_logical_devices("GPU"))
    threading = tf.config.threading
    return {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
        "processor": _processor(),
        "gpus": str(gpus),
        INTER_OP: str(
            threading.get_inter_op_parallelism_threads() or os.environ.get(INTER_OP, "0")
        ),
        INTRA_OP: str(
            threading.get_intra_op_parallelism_threads() or os.environ.get(INTRA_OP, "0")
        ),
        "workers": str(task.count),
    }


def differences(before: dict[str, str], now: dict[str, str]) -> str:
    """What has changed from one environment to another, on one line; "" where nothing has."""
    changed = [
        f"{name} {before.get(name)} → {now.get(name)}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    return ", ".join(changed)


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # only Linux has it
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
