"""Turns a query, values and a mask into a context and its attention weights: the layer.

Needs only Keras 3; runs alike on its TensorFlow, JAX and PyTorch backends.
"""

import math
from typing import Any

import keras
from keras import ops

from keras_attention.layers.attention_masks import (
    check_mask,
    check_query_mask,
    combine_masks,
    fit_mask,
)
from keras_attention.layers.attention_shapes import check_widths, complete_shapes
from keras_attention.layers.normalizers import NORMALIZERS

SCORES = ("dot", "scaled_dot", "general", "additive")

# Takes a masked score out of every normalizer: exp(MASKED_SCORE - a real score) is 0 in float32.
# Finite on purpose: with -inf a fully masked row is 0/0, and its gradient NaN.
MASKED_SCORE = -1e30


@keras.saving.register_keras_serializable(package="keras_attention")
class Attention(keras.layers.Layer):
    """Attention over a sequence of values, which also returns its weights.

    Shapes: B is the batch, Tq and Tv the lengths of query and value, H, K and D the widths of
    query, key and value. Three public methods are the three equations:

    1. `compute_scores`: how well does each query step match each key?       (B, Tq, Tv)

           "dot"         query · key                                    Luong et al. 2015, eq. 8
           "scaled_dot"  query · key / sqrt(H)                          Vaswani et al. 2017, eq. 1
           "general"     query · W · key                                Luong et al. 2015, eq. 8
           "additive"    v · tanh(W query + U key)                      Bahdanau et al. 2015, A.1.2

    2. `compute_weights`: weights = normalizer(scores) over Tv, 0 where masked (B, Tq, Tv)

           "softmax"     exp(s) / sum of exp(s)                       Bahdanau et al. 2015, eq. 6
           "sparsemax"   max(s - t, 0)                           Martins and Astudillo 2016, eq. 3
           "entmax15"    max(s / 2 - t, 0) ** 2                     Peters et al. 2019, algorithm 2

       where t is the threshold that makes the row sum to 1. The last two give weights of exactly
       0 to positions whose scores are low enough.
    3. `compute_context`: context = sum over Tv of weights * value            (B, Tq, D)

    Masking: True means "look here". A position under the mask weighs exactly 0. A row without any
    True position gives weights and context of exactly 0, never NaN, and its gradients are finite.
    A query step where `query_mask` is False is such a row. The context carries on the mask that
    Keras carries with `query`.

    Precision: scores and weights are computed in float32 even where the dtype policy says less
    (float64 only under that policy on TensorFlow); the context has the compute dtype.

    Args:
        score: one of "dot", "scaled_dot", "general", "additive". The first two need H == K.
        dropout: fraction of the weights dropped in training, at least 0 and below 1. It acts on
            the way to the context only: the returned weights are those before dropout, so that
            their rows always sum to 1.
        seed: integer seed of the dropout.
        units: width inside the additive score; the query's width where None.
        learned_query: many-to-one attention. The layer owns one query vector, learned like any
            other weight, and is called on the values alone: `layer(value)`.
        normalizer: one of "softmax", "sparsemax", "entmax15".
        kernel_initializer: of the matrices of the general and the additive score, as Keras knows
            initializers. "identity" lets the general score begin as the dot product.
        **kwargs: `name`, `dtype` and what else `keras.layers.Layer` takes.

    Call arguments:
        query: (B, Tq, H), or (B, H) for one step.
        value: (B, Tv, D).
        key: (B, Tv, K); `value` where None.
        mask: (B, Tv), or (B, Tq, Tv) where each query step sees other positions; B and Tq may
            be 1. Two axes are always (B, Tv): give a causal (Tq, Tv) mask as `mask[None]`. A mask
            (B, Tv, 1) is refused: give `mask[..., 0]`.
        query_mask: (B, Tq); Keras fills it with the mask carried by `query`.
        value_mask: (B, Tv); Keras fills it with the mask carried by `value`. `mask` beats it.
        training: whether dropout acts.

    Returns:
        The pair `(context, weights)`: (B, Tq, D) and (B, Tq, Tv); (B, D) and (B, Tv) for a query
        of one step or a learned one.

    Raises:
        ValueError: for unknown scores and normalizers, and for shapes that do not fit together.
        tf.errors.InvalidArgumentError: when a TensorFlow graph runs on masks that do not fit and
            whose sizes were not known before.

    Example:

        query = keras.random.normal((2, 5, 8))        # e.g. decoder states
        value = keras.random.normal((2, 7, 8))        # e.g. encoder states
        mask = np.array([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0]], bool)
        context, weights = Attention()(query, value, mask=mask)       # (2, 5, 8), (2, 5, 7)

    References:
        Bahdanau, Cho, Bengio 2015, arXiv:1409.0473; Luong, Pham, Manning 2015, arXiv:1508.04025;
        Vaswani et al. 2017, arXiv:1706.03762; Martins, Astudillo 2016, arXiv:1602.02068;
        Peters, Niculae, Martins 2019, arXiv:1905.05702.
    """

    def __init__(
        self,
        score: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        units: int | None = None,
        learned_query: bool = False,
        normalizer: str = "softmax",
        kernel_initializer: Any = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if score not in SCORES:
            raise ValueError(f"Unknown score. Expected one of {SCORES}. Received: score={score!r}")
        if not 0 <= dropout < 1:
            raise ValueError(
                f"dropout must be at least 0 and below 1. Received: dropout={dropout!r}"
            )
        if units is not None and (score != "additive" or units < 1):
            raise ValueError(
                "units is the width inside the additive score: expected a positive integer with "
                f"score='additive', else None. Received: units={units!r}, score={score!r}"
            )
        if normalizer not in NORMALIZERS:
            raise ValueError(
                f"Unknown normalizer. Expected one of {tuple(NORMALIZERS)}. "
                f"Received: normalizer={normalizer!r}"
            )
        self.score = score
        self.dropout = dropout
        self.seed = seed
        self.units = units
        self.learned_query = learned_query
        self.normalizer = normalizer
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        if dropout > 0:
            self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, query_shape=None, value_shape=None, key_shape=None):
        query_shape, value_shape, key_shape = self._shapes(query_shape, value_shape, key_shape)
        query_width, key_width = query_shape[-1], key_shape[-1]
        if self.score == "general":
            self.kernel = self._add_matrix("kernel", (query_width, key_width))  # W
        elif self.score == "additive":
            units = self.units or query_width
            self.query_kernel = self._add_matrix("query_kernel", (query_width, units))  # W
            self.key_kernel = self._add_matrix("key_kernel", (key_width, units))  # U
            self.score_vector = self._add_float_weight("score_vector", (units,))  # v
        if self.learned_query:
            self.query_vector = self._add_float_weight("query_vector", (query_width,))

    def _add_matrix(self, name, shape):
        return self._add_float_weight(name, shape, self.kernel_initializer)

    def _add_float_weight(self, name, shape, initializer="glorot_uniform"):
        if None in shape:
            raise ValueError(
                "The last dimensions of query and key must be known to build the layer. "
                f"Received: shape={shape} for the weight {name!r}"
            )
        # No autocast: scores stay in float32 under mixed precision.
        return self.add_weight(name=name, shape=shape, initializer=initializer, autocast=False)

    @property
    def score_dtype(self) -> str:
        """The dtype of scores and weights: float32, or float64 under that policy on TensorFlow."""
        return keras.backend.result_type(self.compute_dtype, "float32")

    def compute_scores(self, query: Any, key: Any) -> Any:
        """Equation 1: how well each query step matches each key.

        Args:
            query: (B, Tq, H), or (B, H) for one step.
            key: (B, Tv, K).

        Returns:
            (B, Tq, Tv), or (B, Tv) for one step, in `score_dtype`.
        """
        query = ops.cast(query, self.score_dtype)
        key = ops.cast(key, self.score_dtype)
        if len(query.shape) == 2:
            return ops.squeeze(self._scores_of_steps(ops.expand_dims(query, 1), key), 1)
        return self._scores_of_steps(query, key)

    def _scores_of_steps(self, query, key):
        if self.score == "additive":
            query = ops.matmul(query, ops.cast(self.query_kernel, self.score_dtype))
            key = ops.matmul(key, ops.cast(self.key_kernel, self.score_dtype))
            pairs = ops.expand_dims(query, 2) + ops.expand_dims(key, 1)  # (B, Tq, Tv, units)
            vector = ops.expand_dims(ops.cast(self.score_vector, self.score_dtype), 1)
            return ops.squeeze(ops.matmul(ops.tanh(pairs), vector), -1)  # (B, Tq, Tv)
        if self.score == "general":
            query = ops.matmul(query, ops.cast(self.kernel, self.score_dtype))  # (B, Tq, K)
        elif self.score == "scaled_dot":
            query = query * (1 / math.sqrt(query.shape[-1]))
        # matmul would copy the keys to transpose them.
        return ops.einsum("bqh,bvh->bqv", query, key)  # (B, Tq, Tv)

    def compute_weights(self, scores: Any, mask: Any = None) -> Any:
        """Equation 2: the normalizer over the positions that the mask leaves, exactly 0 elsewhere.

        Args:
            scores: (B, Tq, Tv), or (B, Tv) for one step, of any floating dtype.
            mask: (B, Tv) or (B, Tq, Tv), True where a position may be looked at, or None.

        Returns:
            Weights of the shape of `scores`, in `score_dtype`. Rows sum to 1, or to 0 where all is
            masked.
        """
        scores = ops.cast(scores, self.score_dtype)  # MASKED_SCORE is infinite in float16
        normalize = NORMALIZERS[self.normalizer]
        if mask is None:
            return normalize(scores)
        mask = fit_mask(mask, scores)
        weights = normalize(ops.where(mask, scores, MASKED_SCORE))
        # The weights of a fully masked row are uniform; this makes them 0.
        return weights * ops.cast(mask, weights.dtype)

    def compute_context(self, weights: Any, value: Any) -> Any:
        """Equation 3: the weighted sum of the values, for any weights.

        Args:
            weights: (B, Tq, Tv), or (B, Tv) for one step.
            value: (B, Tv, D).

        Returns:
            (B, Tq, D), or (B, D) for one step, in the compute dtype.
        """
        weights = ops.cast(weights, self.compute_dtype)
        value = ops.cast(value, self.compute_dtype)
        if len(weights.shape) == 2:
            return ops.squeeze(ops.matmul(ops.expand_dims(weights, 1), value), 1)
        return ops.matmul(weights, value)

    def call(
        self,
        query=None,
        value=None,
        key=None,
        mask=None,
        query_mask=None,
        value_mask=None,
        training=None,
    ):
        if self.learned_query and value is None:
            # Called as layer(value): what arrived under the first name is the value.
            query, value = None, query
            query_mask, value_mask = None, query_mask if value_mask is None else value_mask
        key = value if key is None else key
        self._shapes(*(None if x is None else tuple(x.shape) for x in (query, value, key)))
        if self.learned_query:
            shape = ops.shape(key)[0], key.shape[-1]
            query = ops.broadcast_to(self.query_vector, shape)  # (B, H)
        one_step = len(query.shape) == 2
        if one_step:
            query = ops.expand_dims(query, 1)  # (B, 1, H)

        scores = self.compute_scores(query, key)  # (B, Tq, Tv)
        mask = value_mask if mask is None else mask
        mask = combine_masks(scores, mask, query_mask, one_step)
        weights = self.compute_weights(scores, mask)  # (B, Tq, Tv)
        kept = weights
        if training and self.dropout > 0:
            kept = keras.random.dropout(weights, self.dropout, seed=self.seed_generator)
        context = self.compute_context(kept, value)  # (B, Tq, D)

        if one_step:
            return ops.squeeze(context, 1), ops.squeeze(weights, 1)  # (B, D), (B, Tv)
        return context, weights

    def compute_mask(self, query, previous_mask=None):
        # Keras hands over the mask of the call, which may be that of the values: only what the
        # query carries fits the context. Weights have no mask.
        if self.learned_query or query is None or len(query.shape) == 2:
            return None
        return getattr(query, "_keras_mask", None), None

    def _shapes(self, query_shape, value_shape, key_shape):
        """The three shapes with what was left out filled in; raises where they cannot work."""
        dot = self.score in ("dot", "scaled_dot")
        shapes = complete_shapes(query_shape, value_shape, key_shape, self.learned_query, dot)
        if self.built:
            check_widths(shapes[0], shapes[2], self._built_widths())
        return shapes

    def _built_widths(self):
        """The widths of query and key that the weights fit; None where any will do."""
        if self.score == "general":
            return self.kernel.shape
        if self.score == "additive":
            return self.query_kernel.shape[0], self.key_kernel.shape[0]
        return (None, self.query_vector.shape[0]) if self.learned_query else (None, None)

    def compute_output_shape(self, query_shape=None, value_shape=None, key_shape=None):
        query_shape, value_shape, _ = self._shapes(query_shape, value_shape, key_shape)
        steps = tuple(query_shape[:-1])  # (B, Tq) or (B,)
        return (*steps, value_shape[-1]), (*steps, value_shape[1])

    def compute_output_spec(
        self,
        query=None,
        value=None,
        key=None,
        mask=None,
        query_mask=None,
        value_mask=None,
        training=None,
    ):
        shapes = (None if x is None else tuple(x.shape) for x in (query, value, key))
        context_shape, weights_shape = self.compute_output_shape(*shapes)
        if mask is not None:
            check_mask(mask.shape, weights_shape)
        if query_mask is not None and not self.learned_query:
            check_query_mask(query_mask.shape, context_shape[:-1])
        return (
            keras.KerasTensor(context_shape, dtype=self.compute_dtype),
            keras.KerasTensor(weights_shape, dtype=self.score_dtype),
        )

    def get_config(self):
        return {
            **super().get_config(),
            "score": self.score,
            "dropout": self.dropout,
            "seed": self.seed,
            "units": self.units,
            "learned_query": self.learned_query,
            "normalizer": self.normalizer,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
