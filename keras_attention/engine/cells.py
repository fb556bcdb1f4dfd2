"""One step of an LSTM or a GRU over many rows, in one direction or in two at once.

A cell's gates lie one behind the other, `(G, d, n, u)`, so that each is one contiguous block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

HALF = np.float32(0.5)
ONE = np.float32(1)


class Cell(Protocol):
    """What the classes below have in common.

    Attributes:
        gates: G.
        parts: States that a step carries on.
        bias: `(G, d, 1, u)`, to add to `x` where `TokenTable` has not done so.
    """

    gates: int
    parts: int
    bias: np.ndarray

    def inputs(self, kernels: Sequence[np.ndarray]) -> np.ndarray:
        """See `LSTMCell.inputs`."""

    def step(self, x: np.ndarray, states: list[np.ndarray], scratch: np.ndarray) -> None:
        """See `LSTMCell.step`."""


class LSTMCell:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000).

        i, f, o = sigmoid(x W + h R + b)    g = tanh(x W + h R + b)
        c' = f c + i g                      h' = o tanh(c')

    Args:
        recurrent_kernels: R of each direction, d arrays `(u, 4 u)` as Keras lays them out.
    """

    gates = 4
    parts = 2  # states that a step carries on: the doubled h, and c
    _order = (0, 1, 3, 2)  # Keras' i f g o → i f o g: the three sigmoids together
    _scale = np.array([HALF, HALF, HALF, ONE])  # of a sigmoid's argument, see `engine`

    def __init__(self, recurrent_kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray]):
        self.recurrent = self._arranged(recurrent_kernels) * HALF  # (4, d, u, u)
        self.bias = self._arranged([bias[None] for bias in biases])  # (4, d, 1, u)

    def inputs(self, kernels: Sequence[np.ndarray]) -> np.ndarray:
        """Input kernels, d arrays `(D, 4 u)`, as `(4, d, D, u)`; x times this is `step`'s x."""
        return self._arranged(kernels)

    @classmethod
    def _arranged(cls, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return _gates_first(arrays, cls.gates)[list(cls._order)] * cls._scale[:, None, None, None]

    def step(self, x: np.ndarray, states: list[np.ndarray], scratch: np.ndarray) -> None:
        """One step, in place.

        Args:
            x: `(4, d, n, u)`, the inputs' part of the gates, bias included.
            states: doubled h and c, `(d, n, u)` each; they become those behind the step.
            scratch: `(4, d, n, u)`, overwritten.
        """
        h, c = states
        gates = np.matmul(h, self.recurrent, out=scratch)
        gates += x
        np.tanh(gates, out=gates)
        gates[:3] += ONE  # now 2 i, 2 f, 2 o
        i, f, o, g = gates
        c *= f
        i *= g
        c += i
        c *= HALF
        np.tanh(c, out=g)
        np.multiply(o, g, out=h)


class GRUCell:
    """Gated recurrent unit (Cho et al., 2014), its reset gate behind the product, as cuDNN has it.

        z, r = sigmoid(x W + b + h R + b')
        g = tanh(x W + b + r (h R + b'))    h' = z h + (1 - z) g

    Args:
        recurrent_kernels: R of each direction, d arrays `(u, 3 u)` as Keras lays them out.
        biases: `(2, 3 u)` each: b, and b' above.
    """

    gates = 3
    parts = 1
    _scale = np.array([HALF, HALF, ONE])

    def __init__(self, recurrent_kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray]):
        recurrent = _gates_first(recurrent_kernels, 3)
        # The candidate's part is halved once more: it meets the doubled reset gate.
        self.recurrent = recurrent * HALF * HALF  # (3, d, u, u)
        at_input = self._arranged([bias[:1] for bias in biases])
        at_state = _gates_first([bias[1:] for bias in biases], 3)
        at_input[:2] += at_state[:2] * HALF  # what is only added can be added beforehand
        self.bias = at_input  # (3, d, 1, u)
        self._candidate_bias = at_state[2] * HALF  # (d, 1, u)

    def inputs(self, kernels: Sequence[np.ndarray]) -> np.ndarray:
        """Input kernels, d arrays `(D, 3 u)`, as `(3, d, D, u)`; x times this is `step`'s x."""
        return self._arranged(kernels)

    @classmethod
    def _arranged(cls, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return _gates_first(arrays, cls.gates) * cls._scale[:, None, None, None]

    def step(self, x: np.ndarray, states: list[np.ndarray], scratch: np.ndarray) -> None:
        """One step, in place; as `LSTMCell.step`, with one state and 3 gates."""
        (h,) = states
        gates = np.matmul(h, self.recurrent, out=scratch)
        z, r, g = gates
        gates[:2] += x[:2]
        np.tanh(gates[:2], out=gates[:2])
        r += ONE  # now 2 r
        g += self._candidate_bias
        g *= r
        g += x[2]
        np.tanh(g, out=g)
        # With t = 2 z - 1, of which z holds the value: 2 h' = g + h/2 + t (h/2 - g), h doubled.
        h *= HALF
        np.subtract(h, g, out=r)
        h += g
        r *= z
        h += r


# From recurrent kernels and biases of the directions, as Keras lays them out.
CELLS: dict[str, Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], Cell]] = {
    "lstm": LSTMCell,
    "gru": GRUCell,
}


class TokenTable:
    """The inputs' part of the gates for every token: a step looks it up, with no product.

    Args:
        cell: The cell that will read the tokens.
        embedding: `(V, E)`.
        kernels: The input kernels of the directions, as Keras lays them out.
    """

    def __init__(self, cell: Cell, embedding: np.ndarray, kernels: Sequence[np.ndarray]):
        table = np.matmul(embedding, cell.inputs(kernels)) + cell.bias  # (G, d, V, u)
        gates, directions, size, units = table.shape
        self._rows = np.ascontiguousarray(table.reshape(-1, units), np.float32)
        blocks = np.arange(gates * directions) * size
        self._first = blocks.reshape(gates, directions, 1)  # row of each block's token 0

    def places(self, tokens: np.ndarray) -> np.ndarray:
        """Where tokens, int `(..., d, n)`, stand in the table: int `(..., G, d, n)`."""
        return self._first + tokens[..., None, :, :]

    def look_up(self, places: np.ndarray, out: np.ndarray) -> np.ndarray:
        """A step's x, `(G, d, n, u)`, written to `out`."""
        return self._rows.take(places, axis=0, out=out, mode="clip")


class Buffer:
    """Memory for `(G, d, n, u)`, taken once and used for any n up to the largest."""

    def __init__(self, cell: Cell, directions: int, rows: int, units: int):
        self._array = np.empty((cell.gates, directions, rows, units), np.float32)
        self._memory = self._array.ravel()

    def of(self, rows: int) -> np.ndarray:
        gates, directions, before, units = self._array.shape
        if rows != before:
            memory = self._memory[: gates * directions * rows * units]
            self._array = memory.reshape(gates, directions, rows, units)
        return self._array


def _gates_first(arrays: Sequence[np.ndarray], gates: int) -> np.ndarray:
    """d arrays `(D, G · u)` as `(G, d, D, u)`."""
    split = [np.split(np.asarray(array, np.float32), gates, axis=-1) for array in arrays]
    return np.ascontiguousarray(np.stack([np.stack(parts) for parts in split], axis=1))
