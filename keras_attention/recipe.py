"""A config file whose options depend on how many training pairs there are.

Few pairs need many passes and strong dropout, many pairs need neither: a recipe for a task gives
its options once and, under `by_pairs`, those that change with the size, smallest first.

    {"units": 256, "by_pairs": [{"up_to": 2000, "epochs": 150}, {"epochs": 45}]}
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import NamedTuple

from keras_attention.config import PLACE_FIELDS, check_fields, read_config_file
from keras_attention.errors import UserError

BY_PAIRS = "by_pairs"
_UP_TO = "up_to"


class Size(NamedTuple):
    """What suits one range of sizes.

    Attributes:
        up_to: Training pairs, at most; None for any number.
        fields: Of `Config`.
    """

    up_to: int | None
    fields: dict


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The options that a config file gives.

    Attributes:
        fields: Those that hold for every size, by the names of `Config`.
        sizes: Those that depend on it, from few pairs to many; the last holds for any number.
    """

    fields: dict
    sizes: tuple[Size, ...] = ()

    def options_for(self, pairs: int) -> dict:
        """The options, by size alone, that suit so many training pairs."""
        for size in self.sizes:
            if size.up_to is None or pairs <= size.up_to:
                return size.fields
        return {}


def read_recipe(path: str | pathlib.Path) -> Recipe:
    """Reads a config file, with or without options by size.

    Args:
        path: A JSON file of one object, whose keys are fields of `Config` and `by_pairs`; UTF-8.

    Raises:
        UserError: as `config.read_config_file`; also if `by_pairs` is not a list of objects whose
            `up_to` rises and is missing in the last alone.
    """
    fields = read_config_file(path, beside=(BY_PAIRS,))
    sizes = fields.pop(BY_PAIRS, [])
    form = f'expected a list such as [{{"{_UP_TO}": 2000, "epochs": 150}}, {{"epochs": 45}}]'
    if not isinstance(sizes, list) or not all(isinstance(size, dict) for size in sizes):
        raise UserError(f"{path}: {BY_PAIRS}: {form}. Received: {sizes!r}")
    read: list[Size] = []
    before = 0
    for number, size in enumerate(sizes, 1):
        where = f"{path}: {BY_PAIRS}, entry {number}"
        check_fields(size, where, beside=(_UP_TO,))
        up_to = size.get(_UP_TO)
        is_last = number == len(sizes)
        rises = type(up_to) is int and up_to > before
        if is_last != (up_to is None) or not (is_last or rises):
            raise UserError(
                f"{where}: {_UP_TO} must be a number of pairs that rises from entry to entry, and "
                f"the last entry has none. Received: {_UP_TO}={up_to!r}"
            )
        if places := sorted(PLACE_FIELDS & size.keys()):
            raise UserError(f"{where}: {places[0]} cannot depend on the size; give it outside")
        before = up_to or before
        read.append(Size(up_to, {name: size[name] for name in size if name != _UP_TO}))
    return Recipe(fields, tuple(read))
