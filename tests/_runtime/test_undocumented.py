"""Methods of Keras that are replaced: there, replaced for a while, and put back."""

import pathlib
import re

import pytest

from keras_attention._runtime.undocumented import replaced_method, require_method
from tests.support import ROOT


class Thing:
    def say(self):
        return "Keras"


def test_a_method_is_replaced_while_the_block_runs():
    thing = Thing()
    with replaced_method(thing, "say", lambda own: lambda: own() + " and ours"):
        assert thing.say() == "Keras and ours"
        with replaced_method(thing, "say", lambda own: lambda: own() + "!"):
            assert thing.say() == "Keras and ours!"
        assert thing.say() == "Keras and ours"
    assert thing.say() == "Keras" and vars(thing) == {}


def test_it_is_put_back_after_an_error():
    thing = Thing()
    with pytest.raises(ZeroDivisionError), replaced_method(thing, "say", lambda own: own):
        raise ZeroDivisionError
    assert vars(thing) == {}


def test_a_method_that_is_gone_is_told():
    with pytest.raises(RuntimeError, match="no method Thing.speak.*Received: keras 3"):
        require_method(Thing, "speak")


def test_private_paths_of_tensorflow_and_keras_are_in_one_module():
    private = re.compile(r"tensorflow\.python|keras\.src")
    files = pathlib.Path(ROOT / "keras_attention").rglob("*.py")
    named = {path.name for path in files if private.search(path.read_text(encoding="utf-8"))}
    assert named == {"undocumented.py"}
