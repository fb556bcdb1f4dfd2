"""What differs between Keras backends in the tests of the layer: gradients and compilation.

Run the same tests on another backend with
`KERAS_BACKEND=jax python -m pytest tests/layers/test_attention*.py` (or `torch`).
"""

import keras
import numpy as np

BACKEND = keras.backend.backend()


def to_numpy(tensor) -> np.ndarray:
    """Any backend's tensor as an array; bfloat16, which NumPy lacks, as float32."""
    if keras.backend.standardize_dtype(tensor.dtype) == "bfloat16":
        tensor = keras.ops.cast(tensor, "float32")
    return np.asarray(keras.ops.convert_to_numpy(tensor))


def gradients(function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Gradients of the scalar `function(*tensors)` by each of `arrays`."""
    if BACKEND == "jax":
        import jax

        tensors = [jax.numpy.asarray(array) for array in arrays]
        return [np.asarray(g) for g in jax.grad(function, tuple(range(len(arrays))))(*tensors)]
    if BACKEND == "torch":
        import torch

        tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
        found = torch.autograd.grad(function(*tensors), tensors, materialize_grads=True)
        return [g.numpy() for g in found]
    import tensorflow as tf

    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = function(*tensors)
    return [g.numpy() for g in tape.gradient(result, tensors, unconnected_gradients="zero")]


def compilers() -> dict:
    """How this backend compiles a function of tensors: name of the way to the way."""
    if BACKEND == "jax":
        import jax

        return {"jax.jit": jax.jit}
    if BACKEND == "torch":
        return {"eager": lambda function: function}
    import tensorflow as tf

    return {
        "tf.function": tf.function,
        "XLA": lambda function: tf.function(function, jit_compile=True),
    }
