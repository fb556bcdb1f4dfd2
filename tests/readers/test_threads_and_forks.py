"""Readers shared by threads, and readers in a process that was forked after they were loaded."""

import os
import random
import threading
import warnings

import numpy as np
import pytest

from keras_attention.engine import blas
from keras_attention.errors import UserError
from keras_attention.readers.translator import Translator
from tests.support import ROOT
from tests.support.exports import random_export, random_texts, run_python

THREADS, WORDS, TIMES = 8, 100, 20


@pytest.fixture(scope="module")
def paths():
    run, export = random_export()
    return {
        "run": run.config.out,
        "export": export,
        "tflite": export / "litert" / f"{os.path.basename(run.config.out)}.tflite",
    }


@pytest.fixture(scope="module")
def words():
    run, _ = random_export()
    return random_texts(run.source, WORDS, longest=12)


def facts(translation):
    weights = translation.attention_weights.tobytes()
    return translation.text, translation.log_probability, translation.confidence, weights


def in_threads(work) -> list:
    """What `work(number)` returns, of 8 threads that begin together."""
    results, start = [None] * THREADS, threading.Barrier(THREADS)

    def run(number):
        start.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["run", "export", "tflite"])
def test_threads_that_share_a_reader_get_the_sequential_answers(kind, paths, words):
    translator = Translator.load(paths[kind])
    expected = {word: facts(translator.translate([word])[0]) for word in words}

    def work(number):
        mine = random.Random(number).sample(words, WORDS)
        return [(word, translator.translate([word])[0]) for word in mine]

    for _ in range(TIMES):
        for answers in in_threads(work):
            # Compared after all have ended: an array that was handed out must not have changed.
            assert all(facts(answer) == expected[word] for word, answer in answers)


@pytest.mark.parametrize("kind", ["run", "export", "tflite"])
def test_readers_loaded_in_threads_leave_the_process_as_it_was(kind, paths):
    def state():
        mask = os.umask(0)
        os.umask(mask)
        return os.fstat(2).st_ino, os.fstat(1).st_ino, mask, warnings.filters[:]

    Translator.load(paths[kind])  # imports what it needs
    before = state()
    in_threads(lambda _: [Translator.load(paths[kind]) for _ in range(3)])
    assert state() == before


FORKED = """
import os, sys, threading
from keras_attention import Translator
from keras_attention.errors import UserError
path, engine, expected = sys.argv[1], sys.argv[2] or None, sys.argv[3]
translator = Translator.load(path, engine=engine)
before = translator.translate(["ab"] * 200)[0]
stop = threading.Event()
def busy():
    while not stop.is_set():
        translator.translate(["abc", "b"])
threads = [threading.Thread(target=busy) for _ in range(3)] if expected == "answer" else []
for thread in threads:
    thread.start()
for _ in range(10):  # at any moment of the others' calls
    child = os.fork()
    if not child:
        try:
            after = translator.translate(["ab"] * 200)[0]
            same = after.text == before.text and after.log_probability == before.log_probability
            os._exit(0 if same else 3)
        except UserError as error:
            os._exit(4 if "load it again" in str(error) else 5)
        except BaseException:
            os._exit(6)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (0 if expected == "answer" else 4), status
stop.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "engine", "expected"),
    [
        ("run", "", "answer"),
        ("export", "", "answer"),
        ("tflite", "", "answer"),
        ("run", "tensorflow", "refuse"),
        ("export", "tensorflow", "refuse"),
    ],
)
def test_a_forked_process_answers_or_is_told_at_once(kind, engine, expected, paths):
    run_python(FORKED, paths[kind], engine, expected, blocked=(), path=str(ROOT))


def blas_threads() -> list[int]:
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_number_of_blas_threads_is_lowered_for_our_calls_only():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), blas.one_thread():
            with blas.one_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}  # the outer call is still under way
            raise ZeroDivisionError
        assert set(blas_threads()) == {2}

        def work(_):
            for _ in range(50):
                with blas.one_thread():
                    np.ones((2, 2)) @ np.ones((2, 2))

        in_threads(work)
        assert set(blas_threads()) == {2}


def test_misuse_of_an_engine_is_told(paths):
    with pytest.raises(UserError, match="runs in LiteRT"):
        Translator.load(paths["tflite"], engine="numpy")
