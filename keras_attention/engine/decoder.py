"""One step of the decoder: a token in, logits of the next one and attention out."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.attention import Attention, Change, largest, mask_of
from keras_attention.engine.cells import CELLS, Buffer, Cell, TokenTable
from keras_attention.engine.encoder import Encoded, Encoder

# The reserved ids, as `text.vocabulary` numbers them.
PADDING, START, END, UNKNOWN = range(4)
# Far below any log-probability, and finite.
NEG_INF = np.float32(-1e9)
_HALF = np.float32(0.5)


class Model:
    """A trained model; it is read only, so that threads may share it.

    Args:
        architecture: What it is.
        weights: float32 arrays as Keras lays them out, see `Architecture.weight_shapes`.
        source_size, target_size: Ids of the two vocabularies, reserved ones included.

    Raises:
        ValueError: the weights are not those of such a model.
    """

    def __init__(
        self,
        architecture: Architecture,
        weights: dict[str, np.ndarray],
        source_size: int,
        target_size: int,
    ):
        architecture.check_weights(weights, source_size, target_size)
        self.architecture = architecture
        self.longest_output = architecture.longest_output
        self.has_attention = architecture.has_attention
        self.target_size = target_size
        self._encoder = Encoder(architecture, weights)
        self.attention = Attention(architecture, weights) if self.has_attention else None
        self.layers: list[tuple[Cell, TokenTable | np.ndarray]] = []
        self.peek: np.ndarray | None = None
        for number in range(1, architecture.layers + 1):
            kernel = weights[f"decoder_{number}/kernel"]
            cell = CELLS[architecture.encoder](
                [weights[f"decoder_{number}/recurrent_kernel"]], [weights[f"decoder_{number}/bias"]]
            )
            if number == 1:
                width = architecture.embedding_size
                table = TokenTable(cell, weights["target_embedding"], [kernel[:width]])
                self.layers.append((cell, table))
                if len(kernel) > width:  # a peeky decoder reads the fixed vector behind every one
                    self.peek = cell.inputs([kernel[width:]]) * _HALF
            else:
                self.layers.append((cell, cell.inputs([kernel]) * _HALF))
        self._read_out(weights)

    def _read_out(self, weights: dict[str, np.ndarray]) -> None:
        """Splits the layers behind the decoder by what they read: context or hidden state."""
        units = self.architecture.units
        kernel, bias = weights["affine/kernel"], weights["affine/bias"].copy()
        bias[[PADDING, START, UNKNOWN]] += NEG_INF  # is never said
        self.affine, self.bias = kernel, bias
        if self.architecture.attentional_layer:
            kernel = weights["attentional_layer/kernel"]
        kernel = kernel * _HALF  # it reads doubled hidden states
        if self.has_attention:
            self.from_context, self.from_state = kernel[:units].copy(), kernel[units:].copy()
        else:
            self.from_state, self.from_context = kernel[:units].copy(), kernel[units:].copy()

    def start(self, ids: np.ndarray, lengths: np.ndarray, hypotheses: int) -> Progress:
        """Encodes a batch.

        Args:
            ids: int `(n, S)`, right-padded with 0; rows of falling length.
            lengths: int `(n,)`.
            hypotheses: k, how many of each source `Progress.advance` will be called with.
        """
        return Progress(self, self._encoder.encode(ids, lengths), lengths, ids.shape[1], hypotheses)


@dataclasses.dataclass(frozen=True)
class Attended:
    """What attention looks at in all steps; first axis n everywhere.

    Attributes:
        attention: What looks at it.
        keys: `(n, S, U)`, what queries are compared with.
        values: `(n, S, U)`, what the context is the weighted sum of. Where the vocabulary is
            smaller than the context, `(n, S, V)`: the affine layer is linear, and the sum of its
            products is the product with the sum.
        projected: Whether the values are such products.
        mask: see `attention.mask_of`.
        empty: bool `(n,)`, sources without a token; None where there are none.
    """

    attention: Attention
    keys: np.ndarray
    values: np.ndarray
    projected: bool
    mask: np.ndarray | None
    empty: np.ndarray | None

    def take(self, sources: np.ndarray) -> Attended:
        """The same of some sources only."""
        keys = self.keys[sources]
        return dataclasses.replace(
            self,
            keys=keys,
            values=keys if self.values is self.keys else self.values[sources],
            mask=None if self.mask is None else self.mask[sources],
            empty=None if self.empty is None else self.empty[sources],
        )


@dataclasses.dataclass(frozen=True)
class Peeked:
    """What a fixed vector, which every step sees, adds in all of them.

    Attributes:
        logits: `(n, V)`, to the logits.
        gates: `(G, 1, n, U)`, to the gates of the first layer.
    """

    logits: np.ndarray
    gates: np.ndarray

    def take(self, sources: np.ndarray) -> Peeked:
        """The same of some sources only."""
        return Peeked(self.logits[sources], self.gates[:, :, sources])


class Progress:
    """One batch on its way through a model: states that every step changes.

    Args:
        model: The model.
        encoded: What its encoder made of the batch.
        lengths: int `(n,)`.
        width: S.
        hypotheses: k.

    Attributes:
        width: S; 0 for a model without attention.
    """

    def __init__(
        self, model: Model, encoded: Encoded, lengths: np.ndarray, width: int, hypotheses: int
    ):
        self._model = model
        self.width = width if model.has_attention else 0
        self._attended = _attended(model, encoded, lengths, width)
        self._peeked = _peeked(model, encoded)
        self._states = [
            [np.repeat(part, hypotheses, axis=0)[None] for part in state]
            for state in encoded.states
        ]  # (1, r, U) each
        cell, rows = model.layers[0][0], len(lengths) * hypotheses
        units = model.architecture.units
        self._x, self._scratch = (Buffer(cell, 1, rows, units) for _ in range(2))

    def advance(
        self, tokens: np.ndarray, change: Change | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """One step.

        Args:
            tokens: int `(r,)`, what was said last.
            change: Other attention weights than the model's own, see `Attention.weights`.

        Returns:
            Logits `(r, V)` of the next token, whose softmax are its probabilities, and attention
            weights `(r, S)` or None.
        """
        hidden = self._recur(tokens)  # (r, U)
        features, weights = self._look(hidden, change)  # (r, V or U)
        model = self._model
        if model.architecture.attentional_layer:
            features = np.matmul(np.tanh(features, out=features), model.affine)
        features += model.bias
        return features, weights

    def select(self, rows: np.ndarray, sources: np.ndarray | None = None) -> None:
        """Goes on with these hypotheses, rows of the last step; and with these sources only."""
        self._states = [[part[:, rows] for part in state] for state in self._states]
        if sources is not None:
            self._attended = self._attended and self._attended.take(sources)
            self._peeked = self._peeked and self._peeked.take(sources)

    def _recur(self, tokens: np.ndarray) -> np.ndarray:
        x, scratch = self._x.of(len(tokens)), self._scratch.of(len(tokens))
        below = tokens[None]  # (1, r), and from the first layer on (1, r, U)
        for (cell, inputs), states in zip(self._model.layers, self._states, strict=True):
            if isinstance(inputs, TokenTable):
                gates = inputs.look_up(inputs.places(below), x)
                if self._peeked is not None:
                    added = self._peeked.gates
                    each = gates.reshape(cell.gates, added.shape[2], -1, x.shape[-1])
                    each += added.transpose(0, 2, 1, 3)  # (G, n, k, U)
            else:
                gates = np.matmul(below, inputs, out=x)
                gates += cell.bias
            cell.step(gates, states, scratch)
            below = states[0]
        return below[0]

    def _look(
        self, hidden: np.ndarray, change: Change | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Hidden states `(r, U)` into what the read-out begins with, and attention weights."""
        model, attended = self._model, self._attended
        features = np.matmul(hidden, model.from_state)
        if attended is not None:
            attend = attended.attention.weights
            weights = attend(hidden, attended.keys, attended.mask, change)  # (n, k, S)
            if attended.empty is not None:
                weights[attended.empty] = 0.0
            context = np.matmul(weights, attended.values).reshape(len(hidden), -1)
            features += context if attended.projected else np.matmul(context, model.from_context)
            return features, weights.reshape(len(hidden), -1)
        if self._peeked is not None:
            each = features.reshape(len(self._peeked.logits), -1, features.shape[-1])
            each += self._peeked.logits[:, None]
        return features, None


def _attended(model: Model, encoded: Encoded, lengths: np.ndarray, width: int) -> Attended | None:
    outputs = encoded.outputs
    if model.attention is None or outputs is None:
        return None
    size, units = model.from_context.shape[1], outputs.shape[-1]
    values, projected = outputs, size < units
    if projected:
        values = np.matmul(outputs.reshape(-1, units), model.from_context)
        values = values.reshape(*outputs.shape[:2], size)
    empty = lengths == 0
    return Attended(
        model.attention,
        keys=model.attention.keys(outputs),
        values=values,
        projected=projected,
        mask=mask_of(lengths, width),
        empty=empty if empty.any() else None,
    )


def _peeked(model: Model, encoded: Encoded) -> Peeked | None:
    if model.peek is None:
        return None
    fixed = encoded.states[-1][0]  # (n, U)
    return Peeked(np.matmul(fixed, model.from_context), np.matmul(fixed[None], model.peek))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities `(r, V)`, in place."""
    logits -= largest(logits)
    logits -= np.log(np.add.reduce(np.exp(logits), axis=-1, keepdims=True))
    return logits
