"""Which pairs these are: a digest that does not depend on their files."""

import hashlib
from collections.abc import Iterable

from keras_attention.pairs.pair import Pair, fields_of


def fingerprint(pairs: Iterable[Pair]) -> str:
    """SHA-256 (hexadecimal) of the pairs with their order, whatever file they came from."""
    digest = Fingerprint()
    digest.update(pairs)
    return digest.hexdigest()


class Fingerprint:
    """What `fingerprint` gives, of pairs that come piece by piece."""

    def __init__(self):
        self._digest = hashlib.sha256()

    def update(self, pairs: Iterable[Pair]) -> None:
        """Adds pairs behind those that were added before."""
        for pair in pairs:
            for field in fields_of(pair):
                content = field.encode("utf-8", "surrogatepass")
                self._digest.update(b"%d:%s," % (len(content), content))
            self._digest.update(b"\n")

    def hexdigest(self) -> str:
        """SHA-256 of all pairs so far, hexadecimal."""
        return self._digest.hexdigest()
