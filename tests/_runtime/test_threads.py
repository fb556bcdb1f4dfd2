"""How the cores are divided."""

import os

import pytest

from keras_attention._runtime.threads import INTER_OP, INTRA_OP, divide_cores


@pytest.mark.parametrize(("cores", "within"), [(1, "1"), (2, "1"), (3, "1"), (8, "4")])
def test_two_operations_at_a_time_on_half_of_the_cores_each(monkeypatch, cores, within):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    for name in (INTER_OP, INTRA_OP):
        monkeypatch.delenv(name, raising=False)
    divide_cores()
    assert (os.environ[INTER_OP], os.environ[INTRA_OP]) == ("2", within)


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv(INTER_OP, "5")
    monkeypatch.setenv(INTRA_OP, "7")
    divide_cores()
    assert (os.environ[INTER_OP], os.environ[INTRA_OP]) == ("5", "7")
