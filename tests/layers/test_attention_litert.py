"""The layer converts to LiteRT with builtin operators only, and gives the same numbers there."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from keras_attention import Attention
from keras_attention.layers.attention import SCORES

TV, H = 6, 4


def convert(layer, query_shape, folder) -> bytes:
    """The layer frozen, with static shapes and batch 1, as a `.tflite` file; no Flex allowed."""

    @tf.function(
        input_signature=[
            tf.TensorSpec(query_shape, tf.float32, "query"),
            tf.TensorSpec((1, TV, H), tf.float32, "value"),
            tf.TensorSpec((1, TV), tf.int32, "ids"),
        ]
    )
    def attend(query, value, ids):
        return layer(query, value, mask=ids != 0)

    frozen = convert_variables_to_constants_v2(attend.get_concrete_function())

    @tf.function(input_signature=attend.input_signature)
    def named(query, value, ids):
        context, weights = frozen(query, value, ids)
        return {"context": context, "weights": weights}

    module = tf.Module()
    module.named = named
    tf.saved_model.save(module, str(folder), signatures={"attend": named})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=["attend"])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    return converter.convert()


@pytest.mark.filterwarnings("ignore")  # the converter's own
@pytest.mark.parametrize("query_shape", [(1, H), (1, 3, H)], ids=["one step", "many"])
@pytest.mark.parametrize(
    ("score", "normalizer"),
    [(score, "softmax") for score in SCORES] + [("dot", "sparsemax"), ("dot", "entmax15")],
)
def test_converts_to_builtin_operators(score, normalizer, query_shape, tmp_path):
    layer = Attention(score, normalizer=normalizer)
    layer.build(query_shape, (1, TV, H))
    model = convert(layer, query_shape, tmp_path)
    interpreter = Interpreter(model_content=model, experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    names = {detail["op_name"] for detail in interpreter._get_ops_details()}
    normalizes = {"SOFTMAX"} if normalizer == "softmax" else {"TOPK_V2", "CUMSUM"}
    assert normalizes | {"BATCH_MATMUL", "SELECT_V2"} <= names
    assert not any("FLEX" in name.upper() for name in names)
    random = np.random.default_rng(0)
    query = random.normal(size=query_shape).astype("float32")
    value = random.normal(size=(1, TV, H)).astype("float32")
    run = interpreter.get_signature_runner("attend")
    for ids in ([3, 4, 5, 0, 0, 0], [0] * TV):
        ids = np.array([ids], "int32")
        got = run(query=query, value=value, ids=ids)
        context, weights = layer(query, value, mask=ids != 0)
        np.testing.assert_allclose(got["context"], keras.ops.convert_to_numpy(context), atol=1e-6)
        np.testing.assert_allclose(got["weights"], keras.ops.convert_to_numpy(weights), atol=1e-6)
        assert (got["weights"][np.broadcast_to(ids == 0, got["weights"].shape)] == 0).all()
        # Every number on the way is finite: infinite ones make some accelerators stumble.
        for detail in interpreter.get_tensor_details():
            if detail["dtype"] == np.float32:
                assert np.isfinite(interpreter.get_tensor(detail["index"])).all()
