"""How long a long task still takes: a line now and then, where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY = 30.0  # seconds between lines


class ProgressLines:
    """Tells of a task's progress, at most once in `EVERY` seconds.

    What is left is estimated from the time since this was made, whatever passed between the steps;
    so a task that goes on where another process stopped begins with that process' steps as done.

    Args:
        total: Steps in all.
        log: Takes each line.
        done: Steps that were made before.
        clock: Seconds from any beginning.
        unit: What a step is called.
    """

    def __init__(
        self,
        total: int,
        log: Callable[[str], None],
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "step",
    ):
        self._total, self._log, self._before, self._clock = total, log, done, clock
        self._unit = unit
        self._started = self._last = clock()

    def tell(self, done: int, what: str = "") -> None:
        """Logs a line if it is time for one.

        Args:
            done: Steps made, those before included.
            what: Stands between the count and the time that is left.
        """
        now = self._clock()
        here = done - self._before
        if now - self._last < EVERY or here < 1:
            return
        self._last = now
        between = f", {what}" if what else ""
        left = duration(self.seconds_left(done, now))
        self._log(f"  {self._unit} {done:,} of {self._total:,}{between}, about {left} left")

    def seconds_left(self, done: int, now: float | None = None) -> float:
        """An estimate, once a step was made here.

        Args:
            done: Steps made, those before included.
            now: By the clock; read from it where None.
        """
        passed = (self._clock() if now is None else now) - self._started
        return passed / max(done - self._before, 1) * max(self._total - done, 0)


def duration(seconds: float) -> str:
    """As much of a duration as a person wants to know: "40 s", "7 min", "2 h 05 min"."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min"
