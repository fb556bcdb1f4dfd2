"""A config into the training model, and the inference models from the same layers, by name.

Letters in shape comments: B batch size, S source length, T target length, E embedding size,
U units, V target vocabulary size.
"""

from __future__ import annotations

import keras
from keras import layers, ops

from keras_attention.config import Config
from keras_attention.layers.attention import Attention
from keras_attention.layers.sequence import Peek, RecurrentStep, ReverseSequence

# Embeddings this wide apart are told apart from the first step on: with Keras' default of 0.05 the
# same task takes several times as many epochs.
EMBEDDING_STDDEV = 1.0

# Where a score's matrices begin, by its name. From random ones the general score compares a state
# with nothing like it, and can settle on one position for good before it learns to look; from the
# identity it begins as the dot product, which moves from the first epoch on.
SCORE_INITIALIZERS = {"general": "identity"}


def build_training_model(config: Config, source_size: int, target_size: int) -> keras.Model:
    """The encoder–decoder for teacher forcing, all target positions at once.

    Args:
        config: The model's and the dropout options.
        source_size: Ids of the source vocabulary, reserved ones included.
        target_size: Ids of the target vocabulary, V.

    Returns:
        A functional model from `{"source_ids": int32 (B, S), "decoder_ids": int32 (B, T)}`, both
        right-padded with 0, to `logits` float32 `(B, T, V)`. `decoder_ids` are the target shifted
        right behind the start symbol. Its layers are looked up by name everywhere else.
    """
    named = _make_layers(config, source_size, target_size)
    inputs = _teacher_forcing_inputs()
    logits = _teacher_force(named, config, **inputs)["logits"]
    return keras.Model(inputs, logits, name="training_model")


def build_encoder(training_model: keras.Model, config: Config) -> keras.Model:
    """The encoder of a training model, as a model of its own that shares its layers.

    Args:
        training_model: Of `build_training_model`, with the same options.
        config: The options that it was built with.

    Returns:
        From `source_ids` int32 `(B, S)` to a dict of what decoding needs: `state_0`, `state_1`, …
        float `(B, U)`, and with attention `encoder_outputs` `(B, S, U)` and `source_mask` bool
        `(B, S)`, for a peeky model `fixed_vector` `(B, U)`.
    """
    named = _named_layers(training_model)
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    memory, states = _encode(named, config, source_ids)
    flat = [part for state in states for part in state]
    outputs = memory | {f"state_{i}": part for i, part in enumerate(flat)}
    return keras.Model(source_ids, outputs, name="encoder")


def build_decoder_step(training_model: keras.Model, config: Config) -> keras.Model:
    """One step of the decoder of a training model, sharing its layers.

    Args:
        training_model: Of `build_training_model`, with the same options.
        config: The options that it was built with.

    Returns:
        From a dict of `token_ids` int32 `(B,)` and all that `build_encoder` returns, to a dict of
        `logits` float32 `(B, V)`, the new `state_0`, … and, with attention, `attention_weights`
        float32 `(B, S)`.
    """
    named = _named_layers(training_model)
    token_ids = keras.Input((), dtype="int32", name="token_ids")
    memory = {}
    if config.has_attention:
        memory["encoder_outputs"] = keras.Input((None, config.units), name="encoder_outputs")
        memory["source_mask"] = keras.Input((None,), dtype="bool", name="source_mask")
    elif config.attention == "peeky":
        memory["fixed_vector"] = keras.Input((config.units,), name="fixed_vector")
    parts_per_layer = 2 if config.encoder == "lstm" else 1
    states = [
        keras.Input((config.units,), name=f"state_{i}")
        for i in range(parts_per_layer * config.layers)
    ]

    outputs = named["target_embedding"](token_ids)  # (B, E)
    if config.attention == "peeky":
        outputs = named["peek"](outputs, memory["fixed_vector"])  # (B, E + U)
    new_states = []
    for index in range(config.layers):
        state = states[parts_per_layer * index : parts_per_layer * (index + 1)]
        # The cell itself: a recurrent layer over one step would add a loop within the loop.
        layer = named[f"decoder_{index + 1}"]
        outputs, state = RecurrentStep(layer.cell, name=f"{layer.name}_cell")(outputs, state)
        new_states += state if isinstance(state, (list, tuple)) else [state]
    logits, weights = _read_out(named, config, outputs, memory)

    results = {"logits": logits} | {f"state_{i}": part for i, part in enumerate(new_states)}
    if weights is not None:
        results["attention_weights"] = weights
    inputs = {"token_ids": token_ids} | memory | {s.name: s for s in states}
    return keras.Model(inputs, results, name="decoder_step")


def build_teacher_forced_attention(training_model: keras.Model, config: Config) -> keras.Model:
    """The training model with its attention opened: the parts that an audit looks at or replaces.

    Args:
        training_model: Of `build_training_model`, with the same options.
        config: The options that it was built with.

    Returns:
        From the training model's inputs to a dict of `logits` `(B, T, V)`, `attention_weights`
        `(B, T, S)`, `decoder_outputs` `(B, T, U)` and `encoder_outputs` `(B, S, U)`.
    """
    inputs = _teacher_forcing_inputs()
    outputs = _teacher_force(_named_layers(training_model), config, **inputs)
    return keras.Model(inputs, outputs, name="teacher_forced_attention")


def _make_layers(config: Config, source_size: int, target_size: int) -> dict[str, layers.Layer]:
    recurrent = {"lstm": layers.LSTM, "gru": layers.GRU}[config.encoder]
    made = [
        _embedding(source_size, config.embedding_size, "source_embedding"),
        layers.Dropout(config.dropout, seed=config.seed, name="source_dropout"),
        _embedding(target_size, config.embedding_size, "target_embedding"),
        layers.Dropout(
            config.decoder_input_dropout, seed=config.seed + 1, name="decoder_input_dropout"
        ),
        layers.Dropout(config.dropout, seed=config.seed + 2, name="read_out_dropout"),
        layers.Dense(target_size, dtype="float32", name="affine"),
    ]
    if config.reverse_source:
        made += [ReverseSequence(name="reverse_source"), ReverseSequence(name="reverse_back")]
    for index in range(1, config.layers + 1):
        if index > 1:
            made += [
                layers.Dropout(config.dropout, seed=config.seed + 10 * index + side, name=name)
                for side, name in enumerate(
                    (f"encoder_dropout_{index}", f"decoder_dropout_{index}")
                )
            ]
        options = dict(return_sequences=True, return_state=True)
        if config.bidirectional:
            half = recurrent(config.units // 2, **options, name=f"encoder_{index}_direction")
            made.append(layers.Bidirectional(half, name=f"encoder_{index}"))
            made += [
                layers.Concatenate(name=f"encoder_{index}_state_{part}")
                for part in range(2 if config.encoder == "lstm" else 1)
            ]
        else:
            # As in a bidirectional one: what stands at padding is not the last real output.
            options["zero_output_for_mask"] = True
            made.append(recurrent(config.units, **options, name=f"encoder_{index}"))
        made.append(recurrent(config.units, return_sequences=True, name=f"decoder_{index}"))
    if config.has_attention:
        made += [
            Attention(
                config.attention,
                normalizer=config.attention_normalizer,
                kernel_initializer=SCORE_INITIALIZERS.get(config.attention, "glorot_uniform"),
                name="attention",
            ),
            layers.Concatenate(name="context_and_state"),
        ]
        if config.attentional_layer:
            made.append(
                layers.Dense(
                    config.units, activation="tanh", use_bias=False, name="attentional_layer"
                )
            )
    elif config.attention == "peeky":
        made.append(Peek(name="peek"))
    return {layer.name: layer for layer in made}


def _embedding(size: int, width: int, name: str) -> layers.Embedding:
    normal = keras.initializers.RandomNormal(stddev=EMBEDDING_STDDEV)
    return layers.Embedding(size, width, embeddings_initializer=normal, name=name)


def _named_layers(model: keras.Model) -> dict[str, layers.Layer]:
    return {layer.name: layer for layer in model.layers}


def _encode(named, config: Config, source_ids):
    """Source ids into what the decoder remembers and the states that its layers start from."""
    mask = ops.not_equal(source_ids, 0)  # (B, S)
    ids = named["reverse_source"](source_ids, mask) if config.reverse_source else source_ids
    outputs = named["source_dropout"](named["source_embedding"](ids))  # (B, S, E)
    states = []
    for index in range(1, config.layers + 1):
        if index > 1:
            outputs = named[f"encoder_dropout_{index}"](outputs)
        outputs, *state = named[f"encoder_{index}"](outputs, mask=mask)  # (B, S, U)
        if config.bidirectional:
            forward, backward = state[: len(state) // 2], state[len(state) // 2 :]
            state = [
                named[f"encoder_{index}_state_{part}"](list(both))
                for part, both in enumerate(zip(forward, backward, strict=True))
            ]
        if config.encoder == "lstm" and config.initial_state == "hidden":
            state = [state[0], ops.zeros_like(state[1])]
        states.append(state)
    if config.has_attention:
        if config.reverse_source:
            outputs = named["reverse_back"](outputs, mask)
        # Padding has no hidden state. (An operation also carries no implicit mask on.)
        outputs = ops.where(ops.expand_dims(mask, -1), outputs, 0.0)
        return {"encoder_outputs": outputs, "source_mask": mask}, states
    if config.attention == "peeky":
        return {"fixed_vector": states[-1][0]}, states
    return {}, states


def _teacher_forcing_inputs() -> dict:
    return {
        "source_ids": keras.Input((None,), dtype="int32", name="source_ids"),  # (B, S)
        "decoder_ids": keras.Input((None,), dtype="int32", name="decoder_ids"),  # (B, T)
    }


def _teacher_force(named, config: Config, source_ids, decoder_ids) -> dict:
    """All target positions at once; every part that someone may want to see, by name."""
    memory, states = _encode(named, config, source_ids)
    outputs = named["decoder_input_dropout"](named["target_embedding"](decoder_ids))  # (B, T, E)
    if config.attention == "peeky":
        outputs = named["peek"](outputs, memory["fixed_vector"])  # (B, T, E + U)
    for index, state in enumerate(states, 1):
        if index > 1:
            outputs = named[f"decoder_dropout_{index}"](outputs)
        outputs = named[f"decoder_{index}"](outputs, initial_state=state)  # (B, T, U)
    logits, weights = _read_out(named, config, outputs, memory)
    parts = {"logits": logits, "decoder_outputs": outputs}
    if weights is not None:
        parts["attention_weights"] = weights
        parts["encoder_outputs"] = memory["encoder_outputs"]
    return parts


def _read_out(named, config: Config, decoder_outputs, memory):
    """Decoder states, of one step or of all, into logits and attention weights (or None)."""
    features, weights = decoder_outputs, None
    if config.has_attention:
        context, weights = named["attention"](
            decoder_outputs, memory["encoder_outputs"], mask=memory["source_mask"]
        )
        features = named["context_and_state"]([context, decoder_outputs])  # (B, [T,] 2 U)
        if config.attentional_layer:
            features = named["attentional_layer"](features)  # (B, [T,] U)
    elif config.attention == "peeky":
        features = named["peek"](decoder_outputs, memory["fixed_vector"])
    return named["affine"](named["read_out_dropout"](features)), weights
