"""How many requests may wait, with a signature that takes as long as the test wants."""

import asyncio
import contextlib
import threading

import numpy as np
import pytest

from keras_attention.serving import batching
from keras_attention.serving.batching import PLACES_WHILE_LOADING, Batcher
from keras_attention.serving.metrics import Metrics
from keras_attention.serving.statuses import StatusError

PLACES = 4


class Held:
    """A signature that answers when it is let go."""

    name, joins = "serving_default", True

    def __init__(self):
        self.let_go = threading.Event()
        self.sizes: list[int] = []

    def __call__(self, texts):
        self.let_go.wait(30)
        self.sizes.append(len(texts))
        return {"text": np.array(texts, object)}


def admitted(batcher: Batcher, count: int) -> int:
    """How many of `count` requests that stay get a place."""
    with contextlib.ExitStack() as stack:
        for got in range(count):
            try:
                stack.enter_context(batcher.admission())
            except StatusError as error:
                assert error.http_status == 429
                return got
        return count


def batcher_of(loading=lambda: False) -> Batcher:
    return Batcher(1, PLACES, 3, 30.0, Metrics("NAME"), loading)


def test_beyond_its_places_a_request_is_refused_and_a_place_is_given_back():
    batcher = batcher_of()
    assert [admitted(batcher, 10) for _ in range(2)] == [PLACES, PLACES]
    assert batcher.in_flight == 0


def test_while_a_version_is_loaded_more_may_wait_and_soon_after_no_longer(monkeypatch):
    now, loading = [100.0], [False]
    monkeypatch.setattr(batching.time, "monotonic", lambda: now[0])
    batcher = batcher_of(lambda: loading[0])
    many = PLACES * PLACES_WHILE_LOADING
    assert admitted(batcher, 99) == PLACES
    loading[0] = True
    assert admitted(batcher, 99) == many
    now[0] += 30
    assert admitted(batcher, 99) == many, "however long it takes"
    loading[0] = False
    now[0] += 0.9
    assert admitted(batcher, 99) == many, "what has gathered is answered"
    now[0] += 0.2
    assert admitted(batcher, 99) == PLACES, "an overload after it is one again"


def test_what_waits_is_joined_up_to_the_largest_batch_and_each_gets_its_own():
    signature, batcher = Held(), batcher_of()

    async def ask():
        calls = [asyncio.ensure_future(batcher.call(signature, [b"%d" % i])) for i in range(8)]
        await asyncio.sleep(0.05)
        assert batcher.waiting == 7
        signature.let_go.set()
        return await asyncio.gather(*calls)

    answers = asyncio.run(ask())
    assert [answer["text"].tolist() for answer in answers] == [[b"%d" % i] for i in range(8)]
    assert signature.sizes == [1, 3, 3, 1]
    batcher.close()


def test_a_request_that_waited_too_long_is_told_and_its_call_is_not_made():
    signature = Held()
    batcher = Batcher(1, PLACES, 3, 0.1, Metrics("NAME"))

    async def ask():
        first, second = (
            asyncio.ensure_future(batcher.call(signature, [text])) for text in (b"a", b"b")
        )
        for call in (first, second):
            with pytest.raises(StatusError, match="Timed out") as raised:
                await call
            assert raised.value.http_status == 504
        signature.let_go.set()
        await batcher.drain([signature])

    asyncio.run(ask())
    assert signature.sizes == [1]
    batcher.close()
