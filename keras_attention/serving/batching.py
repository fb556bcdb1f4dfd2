"""Requests into calls of signatures: a bounded number at a time, small ones joined.

One text costs nearly as much as thirty together, so requests that wait are answered in one call
where that cannot change what they get: where every output has a fixed size per row. Of the other
signatures (`attention`, whose width is that of the longest source) each request is its own call.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from keras_attention.serving.loaded_version import Signature
from keras_attention.serving.metrics import Metrics
from keras_attention.serving.statuses import StatusError

# While a version is loaded, calls stop for tenths of a second at a time: TensorFlow builds the
# graph without letting any other thread of Python run. What arrives meanwhile is not an overload;
# so many times the usual number may wait, until a second after, when the queue is short again.
PLACES_WHILE_LOADING = 8
_SECONDS_AFTER_LOADING = 1.0


@dataclasses.dataclass(eq=False)
class _Job:
    signature: Signature
    texts: list[bytes]
    answer: asyncio.Future
    since: float


class Batcher:
    """Runs signatures in threads.

    Args:
        threads: Calls that run at once.
        most_in_flight: Requests, running, waiting or arriving; one more is refused. While a
            version is loaded, `PLACES_WHILE_LOADING` times as many.
        largest_batch: Texts joined into one call. A single request may hold more.
        timeout: Seconds that a request waits for its answer.
        metrics: Counts calls, batches and waiting.
        loading: Whether a version is being loaded.
    """

    def __init__(
        self,
        threads: int,
        most_in_flight: int,
        largest_batch: int,
        timeout: float,
        metrics: Metrics,
        loading: Callable[[], bool] = lambda: False,
    ):
        self._executor = concurrent.futures.ThreadPoolExecutor(threads, "signature")
        self._idle = threads
        self._most_in_flight = most_in_flight
        self._largest_batch = largest_batch
        self._timeout = timeout
        self._waiting: collections.deque[_Job] = collections.deque()
        self._running: dict[asyncio.Task, Signature] = {}
        self._metrics = metrics
        self._loading = loading
        self._patient_until = 0.0
        self.in_flight = 0

    @contextlib.contextmanager
    def admission(self) -> Iterator[None]:
        """A place among the requests in flight.

        Raises:
            StatusError: all are taken.
        """
        most = self._places()
        if self.in_flight >= most:
            raise StatusError(f"Too many requests: at most {most} in flight", "RESOURCE_EXHAUSTED")
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def _places(self) -> int:
        now = time.monotonic()
        if self._loading():
            self._patient_until = now + _SECONDS_AFTER_LOADING
        patient = now < self._patient_until
        return self._most_in_flight * (PLACES_WHILE_LOADING if patient else 1)

    async def call(self, signature: Signature, texts: list[bytes]) -> dict[str, np.ndarray]:
        """The outputs of a signature for some texts.

        Raises:
            StatusError: it took longer than the time-out.
        """
        answer = asyncio.get_running_loop().create_future()
        job = _Job(signature, texts, answer, time.perf_counter())
        self._waiting.append(job)
        self._start()
        try:
            async with asyncio.timeout(self._timeout):
                return await job.answer
        except TimeoutError:
            raise StatusError("Timed out waiting for notification", "DEADLINE_EXCEEDED") from None

    @property
    def waiting(self) -> int:
        """Requests whose call has not begun."""
        return len(self._waiting)

    async def drain(self, signatures: Iterable[Signature]) -> None:
        """Returns when no call of some signatures runs or waits; they must get no new ones."""
        gone = frozenset(signatures)
        while gone.intersection(self._running.values()) or any(
            job.signature in gone and not job.answer.done() for job in self._waiting
        ):
            await asyncio.sleep(0.02)

    def close(self) -> None:
        """Waits for the calls that run."""
        self._executor.shutdown()

    def _start(self) -> None:
        while self._idle and (jobs := self._next_jobs()):
            self._idle -= 1
            task = asyncio.get_running_loop().create_task(self._run(jobs))
            self._running[task] = jobs[0].signature  # the loop keeps only weak references
            task.add_done_callback(self._running.pop)

    def _next_jobs(self) -> list[_Job]:
        """The request that waits longest, with those of the same signature that fit beside it."""
        jobs: list[_Job] = []
        texts = 0
        passed_over = []
        while self._waiting:
            job = self._waiting.popleft()
            if job.answer.done():  # timed out, or its client went away
                continue
            fits = not jobs or (
                job.signature is jobs[0].signature
                and job.signature.joins
                and texts + len(job.texts) <= self._largest_batch
            )
            if fits:
                jobs.append(job)
                texts += len(job.texts)
                if not job.signature.joins or texts >= self._largest_batch:
                    break
            else:
                passed_over.append(job)
        self._waiting.extendleft(reversed(passed_over))
        return jobs

    async def _run(self, jobs: list[_Job]) -> None:
        texts = [text for job in jobs for text in job.texts]
        signature = jobs[0].signature
        loop = asyncio.get_running_loop()
        start = time.perf_counter()
        for job in jobs:
            self._metrics.waited(signature, start - job.since)
        try:
            outputs = await loop.run_in_executor(self._executor, signature, texts)
        except Exception as error:
            for job in jobs:
                if not job.answer.done():
                    job.answer.set_exception(error)
        else:
            self._metrics.called(signature, len(texts), time.perf_counter() - start)
            first = 0
            for job in jobs:
                rows = slice(first, first + len(job.texts))
                first = rows.stop
                if not job.answer.done():
                    job.answer.set_result({name: value[rows] for name, value in outputs.items()})
        finally:
            self._idle += 1
            self._start()
