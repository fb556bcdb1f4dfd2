"""Expressions over `benchmarks/results/`: what stands between braces in docs/numbers.toml.

A name is a results file. A dot or an index goes down into it, a call picks the row of a list whose
values are those given:

    training_step(batch_size=256, units=128).share * 100

The functions of `math` and `statistics` are there as well, so a figure worked out by hand can be
written as what was worked out.
"""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.result_files import RESULTS, read_results

HELPERS = {
    **{name: getattr(math, name) for name in ("e", "exp", "log", "log2", "sqrt", "fsum")},
    **{name: getattr(statistics, name) for name in ("mean", "median")},
    **{f.__name__: f for f in (abs, len, all, max, min, round, sorted, str, sum, zip, range, list)},
}


class NotMeasured(LookupError):
    """A results file, or a value in one, that is not there."""


class Node:
    """A JSON object or list, with attributes, indices and `node(key=value)`."""

    def __init__(self, content, path: str):
        self._content, self._path = content, path

    def _child(self, key):
        try:
            value = self._content[key]
        except (KeyError, IndexError, TypeError):
            raise NotMeasured(f"{self._path} has no {key!r}") from None
        return Node(value, f"{self._path}.{key}") if isinstance(value, dict | list) else value

    def __getattr__(self, name: str):
        return self._child(name)

    def __getitem__(self, key):
        return self._child(key)

    def __iter__(self):
        keys = range(len(self._content)) if isinstance(self._content, list) else self._content
        return (self._child(key) for key in keys)

    def __len__(self) -> int:
        return len(self._content)

    def __call__(self, **wanted):
        for index, row in enumerate(self._content):
            if all(row.get(key) == value for key, value in wanted.items()):
                return self._child(index)
        raise NotMeasured(f"{self._path} has no row with {wanted}")


def evaluate(expression: str, aliases: Mapping[str, str] = MappingProxyType({})):
    """The value of an expression; `aliases` are names for parts that many expressions share.

    Raises:
        NotMeasured: it names a file or a value that is not there.
        SyntaxError: it is not a Python expression.
    """
    tree = ast.parse(expression.strip(), mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    space = {"__builtins__": {}, **HELPERS}
    for name in names - stored - set(HELPERS):
        if name in aliases:
            space[name] = evaluate(aliases[name], aliases)
            continue
        if not (RESULTS / f"{name}.json").is_file():
            raise NotMeasured(f"benchmarks/results/{name}.json is not there")
        space[name] = Node(read_results(name), name)
    return eval(compile(tree, expression, "eval"), space)
