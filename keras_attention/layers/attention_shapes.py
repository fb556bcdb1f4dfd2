"""Which shapes of query, value and key fit together, and what to say where they do not.

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
    if same_width and not same_size(query_shape[-1], key_shape[-1]):
        raise ValueError(
            "A dot product of query and key wants the same last dimension (score='general' and "
            "score='additive' take different ones). "
            f"Received: query.shape={shapes[0]}, key.shape={shapes[2]}"
        )
    return shapes


def check_widths(query_shape, key_shape, widths) -> None:
    """Raise ValueError unless query and key are as wide as what the layer was built for."""
    if not (same_size(query_shape[-1], widths[0]) and same_size(key_shape[-1], widths[1])):
        raise ValueError(
            f"The layer was built for a query of width {widths[0]} and a key of width "
            f"{widths[1]}. Received: query.shape={query_shape}, key.shape={key_shape}"
        )


def _check_axes(query_shape, value_shape, key_shape):
    if len(query_shape) not in (2, 3) or len(value_shape) != 3 or len(key_shape) != 3:
        raise ValueError(
            "Expected a query (B, Tq, H) or (B, H), a value (B, Tv, D) and a key (B, Tv, K). "
            f"Received: query.shape={query_shape}, value.shape={value_shape}, "
            f"key.shape={key_shape}"
        )
    if not same_size(key_shape[1], value_shape[1]):
        raise ValueError(
            "Each key belongs to one value: expected the same length Tv. "
            f"Received: key.shape={key_shape}, value.shape={value_shape}"
        )
    if not (same_size(query_shape[0], value_shape[0]) and same_size(key_shape[0], value_shape[0])):
        raise ValueError(
            "Expected the same batch size of query, value and key. "
            f"Received: query.shape={query_shape}, value.shape={value_shape}, "
            f"key.shape={key_shape}"
        )


def same_size(size, other):
    """Whether two static sizes may be equal; None is a size that is not known yet."""
    return size is None or other is None or size == other
