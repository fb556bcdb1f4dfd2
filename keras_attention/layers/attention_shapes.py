"""Which shapes of query, value, key and masks fit together, and what to say where they do not.

A size of None is one that is not known yet; it fits any.
"""


def complete_shapes(query_shape, value_shape, key_shape, learned_query: bool, same_width: bool):
    """The shapes of query, value and key as tuples, with what was left out filled in.

    Args:
        query_shape, value_shape, key_shape: shapes as given to the layer, None where left out.
        learned_query: whether the layer has its own query, so that the value may come first.
        same_width: whether query and key have to be equally wide.

    Raises:
        ValueError: where something is missing or the shapes do not fit together.
    """
    if learned_query:
        if value_shape is not None and query_shape is not None:
            raise ValueError(
                "With learned_query=True the layer has its own query: expected layer(value). "
                f"Received: query.shape={query_shape}, value.shape={value_shape}"
            )
        value_shape = query_shape if value_shape is None else value_shape
    elif query_shape is None or value_shape is None:
        raise ValueError(
            "Attention needs a query and a value: expected layer(query, value), or "
            "layer(value) with learned_query=True. "
            f"Received: query.shape={query_shape}, value.shape={value_shape}"
        )
    key_shape = value_shape if key_shape is None else key_shape
    if learned_query:
        query_shape = (value_shape[0], key_shape[-1])
    shapes = tuple(query_shape), tuple(value_shape), tuple(key_shape)
    _check_axes(*shapes)
    if same_width and not _same(query_shape[-1], key_shape[-1]):
        raise ValueError(
            "A dot product of query and key wants the same last dimension (score='general' and "
            "score='additive' take different ones). "
            f"Received: query.shape={shapes[0]}, key.shape={shapes[2]}"
        )
    return shapes


def check_widths(query_shape, key_shape, widths) -> None:
    """Raise ValueError unless query and key are as wide as what the layer was built for."""
    if not (_same(query_shape[-1], widths[0]) and _same(key_shape[-1], widths[1])):
        raise ValueError(
            f"The layer was built for a query of width {widths[0]} and a key of width "
            f"{widths[1]}. Received: query.shape={query_shape}, key.shape={key_shape}"
        )


MASK_SHAPES = (
    "mask is (B, Tv) or (B, Tq, Tv), where B and Tq may be 1, and not (B, Tv, 1): of such a mask "
    "give mask[..., 0]"
)
QUERY_MASK_SHAPES = "query_mask has one value for each query step: (B, Tq), or (B,) for one step"


def check_mask(shape, scores_shape) -> None:
    """Raise ValueError unless a mask of this shape is (B, Tv) or (B, Tq, Tv) for the scores."""
    shape, scores_shape = tuple(shape), tuple(scores_shape)  # a TensorShape slices otherwise
    two_axes = (scores_shape[0], scores_shape[-1])
    three_axes = (scores_shape[0], *(scores_shape[1:-1] or (1,)), scores_shape[-1])
    # (B, Tv, 1) where Tv is open would broadcast as a mask of queries.
    one_for_open = len(shape) == 3 and shape[-1] == 1 and scores_shape[-1] is None
    if one_for_open or not _fits(shape, two_axes if len(shape) == 2 else three_axes):
        raise ValueError(
            f"{MASK_SHAPES}: expected shape {two_axes} or {three_axes}. "
            f"Received: mask.shape={shape}"
        )


def check_query_mask(shape, expected) -> None:
    """Raise ValueError unless a query mask of this shape has one value for each query step."""
    if not _fits(shape, expected):
        raise ValueError(
            f"{QUERY_MASK_SHAPES}: expected shape {tuple(expected)}. "
            f"Received: query_mask.shape={tuple(shape)}"
        )


def _check_axes(query_shape, value_shape, key_shape):
    if len(query_shape) not in (2, 3) or len(value_shape) != 3 or len(key_shape) != 3:
        raise ValueError(
            "Expected a query (B, Tq, H) or (B, H), a value (B, Tv, D) and a key (B, Tv, K). "
            f"Received: query.shape={query_shape}, value.shape={value_shape}, "
            f"key.shape={key_shape}"
        )
    if not _same(key_shape[1], value_shape[1]):
        raise ValueError(
            "Each key belongs to one value: expected the same length Tv. "
            f"Received: key.shape={key_shape}, value.shape={value_shape}"
        )
    if not (_same(query_shape[0], value_shape[0]) and _same(key_shape[0], value_shape[0])):
        raise ValueError(
            "Expected the same batch size of query, value and key. "
            f"Received: query.shape={query_shape}, value.shape={value_shape}, "
            f"key.shape={key_shape}"
        )


def _same(size, other):
    """Whether two static sizes may be equal; None is a size that is not known yet."""
    return size is None or other is None or size == other


def _fits(shape, expected):
    """Whether `shape` is `expected`, where each axis but the last may also be 1."""
    return len(shape) == len(expected) and all(
        _same(size, wanted) or (size == 1 and axis < len(shape) - 1)
        for axis, (size, wanted) in enumerate(zip(shape, expected, strict=True))
    )
