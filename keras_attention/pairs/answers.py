"""Several right answers: sources that stand on more than one line, with other targets."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from keras_attention.pairs.pair import Pair


class Answers:
    """The targets that pairs name for each source.

    Args:
        pairs: All pairs of a file or part.
    """

    def __init__(self, pairs: Iterable[Pair]):
        self._pairs: dict[str, dict[str, Pair]] = {}
        lines: collections.Counter[tuple[str, str]] = collections.Counter()
        self.n = 0
        for pair in pairs:
            self._pairs.setdefault(pair.source, {}).setdefault(pair.target, pair)
            lines[pair.source, pair.target] += 1
            self.n += 1
        largest: dict[str, int] = {}
        for (source, _), count in lines.items():
            largest[source] = max(largest.get(source, 0), count)
        self._matched = sum(largest.values())

    def targets(self, source: str) -> list[str]:
        """The different targets of a source, in the order of their first lines."""
        return list(self._pairs.get(source, ()))

    def judged_by(self, pair: Pair, answer: str) -> Pair:
        """The pair that an answer is compared with: one of the same source that asks for it.

        Where none does, it is `pair` itself.
        """
        if answer == pair.target:
            return pair
        return self._pairs.get(pair.source, {}).get(answer, pair)

    @property
    def sources_with_several(self) -> int:
        """How many sources have more than one target."""
        return sum(len(targets) > 1 for targets in self._pairs.values())

    @property
    def ceiling(self) -> float:
        """The largest share of lines whose own target a model can give: one answer a source."""
        return self._matched / self.n if self.n else 1.0
