"""The result of a reader: its own `__init__` sets every field."""

import dataclasses

from keras_attention.readers.translation import Translation


def test_every_field_is_given_and_kept():
    names = [field.name for field in dataclasses.fields(Translation)]
    values = {name: object() for name in names}
    assert vars(Translation(**values)) == values
    replaced = dataclasses.replace(Translation(**values), text="new")
    assert vars(replaced) == values | {"text": "new"}
    assert Translation("a", -1.0, 0.5, ("a",), ("a",), None).from_exceptions is False
