"""Which of several training processes this one is, as `TF_CONFIG` says it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping

from keras_attention.errors import UserError

_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
)


@dataclasses.dataclass(frozen=True)
class Task:
    """One process of a training.

    Attributes:
        number: Counted from 0; the chief is 0.
        count: How many processes train together.
    """

    number: int = 0
    count: int = 1

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the run; the others only train."""
        return self.number == 0


ALONE = Task()


def task_of_environment(environment: Mapping[str, str] = os.environ) -> Task:
    """The task in `TF_CONFIG`; one process alone where the variable is not set.

    The chief is the task of the type "chief", or worker 0 where there is none, as in TensorFlow.

    Raises:
        UserError: the variable does not name one task of a cluster of workers.
    """
    text = environment.get("TF_CONFIG")
    if not text:
        return ALONE
    try:
        content = json.loads(text)
        cluster, task = content["cluster"], content["task"]
        kind, index = task["type"], int(task["index"])
        chiefs, workers = cluster.get("chief", []), cluster.get("worker", [])
        number = index if kind == "chief" else len(chiefs) + index
        addresses = [*chiefs, *workers]
        if kind not in ("chief", "worker") or not 0 <= index < len(cluster[kind]):
            raise ValueError(f"no task {kind} {index}")
        if len(chiefs) > 1 or not all(isinstance(a, str) and ":" in a for a in addresses):
            raise ValueError("addresses must be HOST:PORT, and of one chief at most")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"TF_CONFIG: does not name a task of a cluster of workers ({error}), expected "
            f"e.g. {_EXAMPLE}. Received: {text[:200]!r}"
        ) from None
    return Task(number, len(addresses))
