"""How the cores are divided."""

import os

import pytest

from keras_attention._runtime.threads import BETWEEN, WITHIN, divide_cores


@pytest.mark.parametrize(("cores", "within"), [(1, "1"), (2, "1"), (3, "1"), (8, "4")])
def test_two_operations_at_a_time_on_half_of_the_cores_each(monkeypatch, cores, within):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    for name in (BETWEEN, WITHIN):
        monkeypatch.delenv(name, raising=False)
    divide_cores()
    assert (os.environ[BETWEEN], os.environ[WITHIN]) == ("2", within)


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv(BETWEEN, "5")
    monkeypatch.setenv(WITHIN, "7")
    divide_cores()
    assert (os.environ[BETWEEN], os.environ[WITHIN]) == ("5", "7")
