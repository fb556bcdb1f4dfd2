"""What kinds of model there are, and which weights each of them has."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_attention.config import Config

ENCODERS = ("lstm", "gru")
ATTENTIONS = ("none", "peeky", "dot", "scaled_dot", "general", "additive")
INITIAL_STATES = ("full", "hidden")
NORMALIZERS = ("softmax", "sparsemax", "entmax15")


@dataclasses.dataclass(frozen=True)
class Architecture:
    """All options that shape what a trained model computes; see `config.Config` for each.

    Raises:
        ValueError: an option has a value that this version does not compute.
    """

    encoder: str
    bidirectional: bool
    layers: int
    units: int
    embedding_size: int
    attention: str
    attentional_layer: bool
    reverse_source: bool
    initial_state: str
    longest_output: int
    attention_normalizer: str = "softmax"

    def __post_init__(self):
        known = {
            "encoder": ENCODERS,
            "attention": ATTENTIONS,
            "attention_normalizer": NORMALIZERS,
            "initial_state": INITIAL_STATES,
            "bidirectional": (True, False),
            "attentional_layer": (True, False),
            "reverse_source": (True, False),
        }
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name} must be one of {values}. Received: {name}={getattr(self, name)!r}"
                )
        for name in ("layers", "units", "embedding_size", "longest_output"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{name} must be a positive integer. Received: {name}={value!r}")

    @classmethod
    def of(cls, config: Config, longest_output: int | None = None) -> Architecture:
        """The architecture of a run; `longest_output` where the config leaves it open."""
        names = [field.name for field in dataclasses.fields(cls)]
        values = {name: getattr(config, name) for name in names if hasattr(config, name)}
        if longest_output is not None:
            values["longest_output"] = longest_output
        return cls(**values)

    @property
    def has_attention(self) -> bool:
        """Whether the model has attention weights at all."""
        return self.attention not in ("none", "peeky")

    @property
    def directions(self) -> tuple[str, ...]:
        """The parts of an encoder layer, d of them."""
        return ("forward", "backward") if self.bidirectional else ("forward",)

    def weight_shapes(self, source_size: int, target_size: int) -> dict[str, tuple[int, ...]]:
        """Every weight by its name, with its shape as Keras keeps it.

        Args:
            source_size, target_size: Ids of the two vocabularies, reserved ones included.
        """
        units, width = self.units, self.embedding_size
        shapes: dict[str, tuple[int, ...]] = {
            "source_embedding": (source_size, width),
            "target_embedding": (target_size, width),
        }
        part = units // len(self.directions)
        for layer in range(1, self.layers + 1):
            for direction in self.directions:
                inputs = width if layer == 1 else units
                shapes |= self._cell(f"encoder_{layer}/{direction}", inputs, part)
            inputs = units if layer > 1 else width + (units if self.attention == "peeky" else 0)
            shapes |= self._cell(f"decoder_{layer}", inputs, units)
        if self.attention == "general":
            shapes["attention/kernel"] = (units, units)
        elif self.attention == "additive":
            shapes["attention/query_kernel"] = (units, units)
            shapes["attention/key_kernel"] = (units, units)
            shapes["attention/score_vector"] = (units,)
        features = units if self.attention == "none" else 2 * units
        if self.attentional_layer:
            shapes["attentional_layer/kernel"] = (features, units)
            features = units
        return shapes | {"affine/kernel": (features, target_size), "affine/bias": (target_size,)}

    def _cell(self, name: str, inputs: int, units: int) -> dict[str, tuple[int, ...]]:
        gates = {"lstm": 4, "gru": 3}[self.encoder]
        # A GRU has a bias at its inputs and another at its hidden state ("reset after").
        bias: tuple[int, ...] = (gates * units,) if self.encoder == "lstm" else (2, gates * units)
        return {
            f"{name}/kernel": (inputs, gates * units),
            f"{name}/recurrent_kernel": (units, gates * units),
            f"{name}/bias": bias,
        }

    def check_weights(
        self, weights: dict[str, np.ndarray], source_size: int, target_size: int
    ) -> None:
        """Whether these are the weights of such a model.

        Raises:
            ValueError: one is missing, is one too many, or has another shape.
        """
        expected = self.weight_shapes(source_size, target_size)
        for name in sorted(set(expected) | set(weights)):
            received = weights[name].shape if name in weights else None
            if received != expected.get(name):
                raise ValueError(
                    f"the weight {name!r} must have the shape {expected.get(name)}. "
                    f"Received: {received}"
                )
