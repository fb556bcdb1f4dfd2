"""One step of the decoder: a token in, log-probabilities of the next one and attention out."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.engine.architecture import Architecture
from keras_attention.engine.attention import Attention, mask_of
from keras_attention.engine.cells import CELLS, Buffer, TokenTable
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
        self.layers = []
        for number in range(1, architecture.layers + 1):
            kernel = weights[f"decoder_{number}/kernel"]
            cell = CELLS[architecture.encoder](
                [weights[f"decoder_{number}/recurrent_kernel"]], [weights[f"decoder_{number}/bias"]]
            )
            if number == 1:
                width = architecture.embedding_size
                inputs = TokenTable(cell, weights["target_embedding"], [kernel[:width]])
                # A peeky decoder reads the fixed vector behind every embedding.
                self.peek = cell.inputs([kernel[width:]]) * _HALF if len(kernel) > width else None
            else:
                inputs = cell.inputs([kernel]) * _HALF
            self.layers.append((cell, inputs))
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


@dataclasses.dataclass
class Memory:
    """What a decoder remembers of its sources in all steps; first axis n everywhere.

    Attributes:
        keys: `(n, S, U)`, what queries are compared with; None without attention.
        values: `(n, S, U)`, what the context is the weighted sum of. Where the vocabulary is
            smaller than the context, `(n, S, V)`: the affine layer is linear, and the sum of its
            products is the product with the sum.
        mask: see `attention.mask_of`.
        empty: bool `(n,)`, sources without a token; None where there are none.
        peeked: `(n, V)`, what a fixed vector adds to the logits.
        gates: `(G, 1, n, U)`, what it adds to the gates of the first layer.
    """

    keys: np.ndarray | None = None
    values: np.ndarray | None = None
    mask: np.ndarray | None = None
    empty: np.ndarray | None = None
    peeked: np.ndarray | None = None
    gates: np.ndarray | None = None

    def take(self, sources: np.ndarray) -> Memory:
        """The same of some sources only."""
        same = self.values is self.keys
        parts = {
            field.name: None if (part := getattr(self, field.name)) is None else part[sources]
            for field in dataclasses.fields(self)
            if field.name not in ("gates", "values")
        }
        gates = None if self.gates is None else self.gates[:, :, sources]
        if same or self.values is None:
            return Memory(**parts, values=parts["keys"], gates=gates)
        return Memory(**parts, values=self.values[sources], gates=gates)


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
        self._projected = False
        self._memory = self._remember(encoded, lengths, width)
        self._states = [
            [np.repeat(part, hypotheses, axis=0)[None] for part in state]
            for state in encoded.states
        ]  # (1, r, U) each
        cell, rows = model.layers[0][0], len(lengths) * hypotheses
        units = model.architecture.units
        self._x, self._scratch = (Buffer(cell, 1, rows, units) for _ in range(2))

    def _remember(self, encoded: Encoded, lengths: np.ndarray, width: int) -> Memory:
        model = self._model
        if model.has_attention:
            outputs = encoded.outputs
            values, size = outputs, model.from_context.shape[1]
            if size < outputs.shape[-1]:
                self._projected = True
                values = np.matmul(outputs.reshape(-1, outputs.shape[-1]), model.from_context)
                values = values.reshape(*outputs.shape[:2], size)
            empty = lengths == 0
            return Memory(
                keys=model.attention.keys(outputs),
                values=values,
                mask=mask_of(lengths, width),
                empty=empty if empty.any() else None,
            )
        if model.architecture.attention == "peeky":
            fixed = encoded.states[-1][0]  # (n, U)
            return Memory(
                peeked=np.matmul(fixed, model.from_context),
                gates=np.matmul(fixed[None], model.peek),
            )
        return Memory()

    def advance(self, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """One step.

        Args:
            tokens: int `(r,)`, what was said last.

        Returns:
            Log-probabilities `(r, V)` of the next token, and attention weights `(r, S)` or None.
        """
        hidden = self._recur(tokens)  # (r, U)
        features, weights = self._look(hidden)  # (r, V or U)
        model = self._model
        if model.architecture.attentional_layer:
            features = np.matmul(np.tanh(features, out=features), model.affine)
        features += model.bias
        return log_softmax(features), weights

    def select(self, rows: np.ndarray, sources: np.ndarray | None = None) -> None:
        """Goes on with these hypotheses, rows of the last step; and with these sources only."""
        self._states = [[part[:, rows] for part in state] for state in self._states]
        if sources is not None:
            self._memory = self._memory.take(sources)

    def _recur(self, tokens: np.ndarray) -> np.ndarray:
        x, scratch = self._x.of(len(tokens)), self._scratch.of(len(tokens))
        hidden = None
        for (cell, inputs), states in zip(self._model.layers, self._states, strict=True):
            if hidden is None:
                gates = inputs.look_up(inputs.places(tokens[None]), x)
                if self._memory.gates is not None:
                    each = gates.reshape(cell.gates, self._memory.gates.shape[2], -1, x.shape[-1])
                    each += self._memory.gates.transpose(0, 2, 1, 3)  # (G, n, k, U)
            else:
                gates = np.matmul(hidden, inputs, out=x)
                gates += cell.bias
            cell.step(gates, states, scratch)
            hidden = states[0]
        return hidden[0]

    def _look(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Hidden states `(r, U)` into what the read-out begins with, and attention weights."""
        model, memory = self._model, self._memory
        features = np.matmul(hidden, model.from_state)
        if model.has_attention:
            weights = model.attention.weights(hidden, memory.keys, memory.mask)  # (n, k, S)
            if memory.empty is not None:
                weights[memory.empty] = 0.0
            context = np.matmul(weights, memory.values).reshape(len(hidden), -1)
            features += context if self._projected else np.matmul(context, model.from_context)
            return features, weights.reshape(len(hidden), -1)
        if memory.peeked is not None:
            each = features.reshape(len(memory.peeked), -1, features.shape[-1])
            each += memory.peeked[:, None]
        return features, None


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities `(r, V)`, in place."""
    logits -= np.maximum.reduce(logits, axis=-1, keepdims=True)
    logits -= np.log(np.add.reduce(np.exp(logits), axis=-1, keepdims=True))
    return logits
