"""A translation is a frozen dataclass, though its initialiser is written by hand."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

from keras_attention.readers.translation import Translation

ONE = Translation("ab", -0.5, 0.6, ("x", "y"), ("a", "b"), np.eye(2, dtype=np.float32))


def test_the_initialiser_takes_and_keeps_every_field():
    fields = {field.name: field.default for field in dataclasses.fields(Translation)}
    parameters = inspect.signature(Translation).parameters
    assert list(parameters) == list(fields)
    for name, parameter in parameters.items():
        required = fields[name] is dataclasses.MISSING
        assert parameter.default == (inspect.Parameter.empty if required else fields[name])
    given = {name: object() for name in fields} | {"from_exceptions": True}
    assert vars(Translation(**given)) == given


def test_a_translation_is_changed_by_replacing_alone():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ONE.text = "c"
    changed = dataclasses.replace(ONE, alternatives=(ONE,))
    assert changed.alternatives == (ONE,) and not ONE.alternatives
    assert changed.attention_weights is ONE.attention_weights


@pytest.mark.parametrize("copied", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_translation_can_be_copied_and_sent(copied):
    other = copied(ONE)
    assert (other.text, other.source_tokens, other.target_tokens) == ("ab", ("x", "y"), ("a", "b"))
    np.testing.assert_array_equal(other.attention_weights, ONE.attention_weights)
