"""A source into hidden states: recurrent layers, each reading in one direction or in both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.cells import CELLS, Buffer, Cell, TokenTable


class Encoded(NamedTuple):
    """What the encoder made of a batch; hidden states are doubled, see `engine`.

    Attributes:
        outputs: `(n, S, U)`, the last layer's hidden states in reading order, 0 at padding; None
            where nobody looks at them.
        states: For each layer, `[h]` (GRU) or `[h, c]` (LSTM), `(n, U)` each, after the last token.
    """

    outputs: np.ndarray | None
    states: list[list[np.ndarray]]


class Encoder:
    """The encoder of a trained model.

    Args:
        architecture: What it is.
        weights: See `Architecture.weight_shapes`.
    """

    def __init__(self, architecture: Architecture, weights: dict[str, np.ndarray]):
        self._architecture = architecture
        reversed_ = architecture.reverse_source
        # Of a reversed source the first direction begins at the end, the other at the start.
        self._backwards = (reversed_, not reversed_)[: len(architecture.directions)]
        self._layers: list[tuple[Cell, TokenTable | np.ndarray]] = []
        for number in range(1, architecture.layers + 1):
            names = [f"encoder_{number}/{direction}" for direction in architecture.directions]
            recurrent, biases, kernels = (
                [weights[f"{name}/{part}"] for name in names]
                for part in ("recurrent_kernel", "bias", "kernel")
            )
            cell = CELLS[architecture.encoder](recurrent, biases)
            if number == 1:
                table = TokenTable(cell, weights["source_embedding"], kernels)
                self._layers.append((cell, table))
            else:  # it meets doubled states
                self._layers.append((cell, cell.inputs(kernels) * np.float32(0.5)))

    def encode(self, ids: np.ndarray, lengths: np.ndarray) -> Encoded:
        """Reads a batch.

        Args:
            ids: int `(n, S)`, right-padded with 0; rows of falling length.
            lengths: int `(n,)`, tokens of each row.
        """
        architecture = self._architecture
        below, outputs, states = ids, None, []
        for number, (cell, inputs) in enumerate(self._layers, 1):
            looked_at = architecture.has_attention or number < architecture.layers
            outputs, state = self._read(cell, inputs, below, lengths, looked_at)
            if outputs is not None:
                below = outputs
            if architecture.initial_state == "hidden" and cell.parts == 2:
                state[1][:] = 0.0  # c: only h is handed over
            states.append(state)
        return Encoded(outputs, states)

    def _read(
        self,
        cell: Cell,
        inputs: TokenTable | np.ndarray,
        below: np.ndarray,
        lengths: np.ndarray,
        looked_at: bool,
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """One layer over all positions; rows that have ended keep their states.

        Args:
            below: What the layer reads: ids `(n, S)`, or the outputs `(n, S, U)` of the one below.
        """
        directions = len(self._backwards)
        (n, width), units = below.shape[:2], self._architecture.units // directions
        states = [np.zeros((directions, n, units), np.float32) for _ in range(cell.parts)]
        outputs = np.zeros((n, width, directions, units), np.float32) if looked_at else None
        x, scratch = (Buffer(cell, directions, n, units) for _ in range(2))
        rows, positions = np.arange(n), self._positions(lengths, width)
        each_direction = np.arange(directions)[:, None]
        if isinstance(inputs, TokenTable):
            places = inputs.places(below[rows, positions])  # (S, G, d, n)
        ended = n - lengths[::-1].searchsorted(np.arange(width), side="right")
        moving = states
        for step, running in enumerate(ended.tolist()):
            if not running:
                break
            if running < moving[0].shape[1]:
                moving = [state[:, :running] for state in states]
            read = positions[step, :, :running]  # (d, running)
            if isinstance(inputs, TokenTable):
                gates = inputs.look_up(places[step, ..., :running], x.of(running))
            else:
                gates = np.matmul(below[rows[:running], read], inputs, out=x.of(running))
                gates += cell.bias
            cell.step(gates, moving, scratch.of(running))
            if outputs is not None:
                outputs[rows[:running], read, each_direction] = moving[0]
        ends = [state.transpose(1, 0, 2).reshape(n, -1) for state in states]
        return None if outputs is None else outputs.reshape(n, width, -1), ends

    def _positions(self, lengths: np.ndarray, width: int) -> np.ndarray:
        """Which token of each row every step reads, `(S, d, n)`; behind a row's end, any."""
        steps = np.arange(width)[:, None]
        positions = np.empty((width, len(self._backwards), len(lengths)), np.intp)
        for direction, backwards in enumerate(self._backwards):
            positions[:, direction] = np.maximum(lengths - 1 - steps, 0) if backwards else steps
        return positions
