"""An LSTM layer trained faster than by Keras' loop of small operations.

Letters in shape comments: B batch size, T length, E input size, U units.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import keras
import tensorflow as tf
from keras import layers

from keras_attention._runtime.undocumented import replaced_method

# Where Keras goes through its time steps, or through cuDNN's operation where there is a GPU.
TIME_LOOP = "inner_loop"


@contextlib.contextmanager
def fused_lstms(model: keras.Model) -> Iterator[None]:
    """Lets a model's LSTM layers go through all steps in one operation when they are trained.

    It concerns calls with `training=True` inside the block; the gradient goes back through the
    steps in a short loop. Outputs, states and gradients are the same as those of Keras' loop. After
    the block the layers are as before, so that nothing that is saved or exported holds the
    operation.

    What `can_be_fused` refuses, and a call with a mask whose masked outputs have to repeat the ones
    before them (a layer without `zero_output_for_mask`), is computed by Keras' own loop.

    Args:
        model: Its own layers are meant, and the two directions of its bidirectional ones.
    """
    with contextlib.ExitStack() as stack:
        for layer in lstm_layers(model):
            if can_be_fused(layer):
                make = functools.partial(_time_loop, layer)
                stack.enter_context(replaced_method(layer, TIME_LOOP, make))
        yield


def can_be_fused(layer: layers.LSTM) -> bool:
    """Whether the operation computes what the layer does."""
    cell = layer.cell
    return (
        type(layer) is layers.LSTM
        and type(cell) is layers.LSTMCell
        and layer.compute_dtype == layer.variable_dtype == "float32"
        and cell.use_bias
        and cell.activation is keras.activations.tanh
        and cell.recurrent_activation is keras.activations.sigmoid
        and not (cell.dropout or cell.recurrent_dropout)
        and not (layer.stateful or layer.unroll)
    )


def lstm_layers(model: keras.Model) -> list[layers.LSTM]:
    """A model's LSTM layers, the two directions of a bidirectional one among them."""
    found = []
    for layer in model.layers:
        both = isinstance(layer, layers.Bidirectional)
        found += [layer.forward_layer, layer.backward_layer] if both else [layer]
    return [layer for layer in found if isinstance(layer, layers.LSTM)]


def _time_loop(layer: layers.LSTM, keras_loop: Callable) -> Callable:
    def time_loop(sequences, initial_state, mask, training=False):
        zeros = layer.return_sequences and layer.zero_output_for_mask
        if not training or not (mask is None or (zeros and len(mask.shape) == 2)):
            return keras_loop(sequences, initial_state, mask=mask, training=training)
        return _all_steps(layer, sequences, mask, *initial_state)

    return time_loop


def _all_steps(layer: layers.LSTM, sequences, mask, h, c):
    """What Keras' loop returns: the last output, all outputs, the states.

    The operation knows no mask. So every row's real tokens come first, in the order of reading, and
    what it computes behind them is not looked at.
    """
    rows, steps = tf.shape(sequences)[0], tf.shape(sequences)[1]
    row, step = tf.range(rows)[:, None], tf.range(steps)
    # The place, (B, T), of what the layer reads in each step among all that the operation reads.
    if mask is None:
        length = tf.fill([rows], steps)
        place = step + tf.zeros_like(row)
    else:
        mask = tf.reverse(mask, [1]) if layer.go_backwards else mask  # in the order of reading
        real = tf.cast(mask, tf.int32)
        length = tf.reduce_sum(real, axis=1)
        before = tf.cumsum(real, axis=1, exclusive=True)
        place = tf.where(mask, before, length[:, None] + step - before)
    puts = tf.reshape(place * rows + row, [-1])
    takes = tf.reshape(tf.reverse(place, [1]) * rows + row, [-1]) if layer.go_backwards else puts

    x = _permuted(tf.reshape(sequences, [-1, sequences.shape[-1]]), _inverse(takes), takes)
    hs, cs = _lstm(
        tf.reshape(x, [steps, rows, sequences.shape[-1]]),
        h,
        c,
        tf.concat([layer.cell.kernel, layer.cell.recurrent_kernel], axis=0),
        tf.convert_to_tensor(layer.cell.bias),
    )  # (T, B, U) each
    outputs = _permuted(tf.reshape(hs, [-1, layer.units]), puts, _inverse(puts))
    outputs = tf.reshape(outputs, [rows, steps, layer.units])
    if mask is not None:
        outputs = tf.where(mask[:, :, None], outputs, 0.0)

    last = tf.stack([tf.maximum(length - 1, 0), row[:, 0]], axis=1)
    empty = (length == 0)[:, None]
    h = tf.where(empty, h, tf.gather_nd(hs, last))
    c = tf.where(empty, c, tf.gather_nd(cs, last))
    return h, outputs, [h, c]


_inverse = tf.math.invert_permutation


@tf.custom_gradient
def _permuted(rows, order, inverse):
    """Rows `(N, D)` in another order: faster than to transpose and reverse them."""
    return tf.gather(rows, order), lambda grad: (tf.gather(grad, inverse), None, None)


@tf.custom_gradient
def _lstm(x, h, c, kernel, bias):
    """All hidden and cell states, `(T, B, U)` each, and their gradient.

    Args:
        x: `(T, B, E)`.
        h, c: The states before, `(B, U)`.
        kernel: `(E + U, 4 U)`; gates in Keras' order: input, forget, candidate, output.
        bias: `(4 U,)`.
    """
    no_peephole = tf.zeros(tf.shape(bias)[0] // 4)
    forward = tf.raw_ops.BlockLSTMV2(
        seq_len_max=tf.shape(x, out_type=tf.int64)[0],
        x=x,
        cs_prev=c,
        h_prev=h,
        w=kernel,
        wci=no_peephole,
        wcf=no_peephole,
        wco=no_peephole,
        b=bias,
        cell_clip=0.0,
    )
    return (forward.h, forward.cs), lambda grad_hs, grad_cs: _gradient(
        x, h, c, kernel, forward, grad_hs, grad_cs
    )


def _gradient(x, h, c, kernel, forward, grad_hs, grad_cs):
    """Backpropagation through time, for `_lstm`.

    The one that TensorFlow (2.21) has registered for `BlockLSTMV2` is that of `BlockLSTM`, whose
    gates stand in another order. Its own kernel, `BlockLSTMGradV2`, adds to the gradient of
    the weights in every step; here one product does it for all steps.

    Args:
        forward: What `BlockLSTMV2` returned: the states, and i, f, ci and o, the gates behind their
            activations, `(T, B, U)` each.
        grad_hs, grad_cs: Gradients of the states.
    """
    activation = tf.raw_ops
    steps, inputs, units = tf.shape(x)[0], x.shape[-1], h.shape[-1]
    h_before = tf.concat([h[None], forward.h[:-1]], axis=0)
    c_before = tf.concat([c[None], forward.cs[:-1]], axis=0)
    # All that does not wait for the steps behind: what a state's gradient is multiplied by.
    h_to_c = activation.TanhGrad(y=forward.co, dy=forward.o)
    to_gates = tf.concat(
        [
            activation.SigmoidGrad(y=forward.i, dy=forward.ci),
            activation.SigmoidGrad(y=forward.f, dy=c_before),
            activation.TanhGrad(y=forward.ci, dy=forward.i),
            activation.SigmoidGrad(y=forward.o, dy=forward.co),
        ],
        axis=2,
    )  # (T, B, 4 U)
    recurrent = tf.transpose(kernel[inputs:])

    def step_back(t, grad_h, grad_c, grad_gates):
        grad_h += grad_hs[t]
        grad_c += grad_cs[t] + grad_h * h_to_c[t]
        grad_gate = to_gates[t] * tf.concat([grad_c, grad_c, grad_c, grad_h], axis=1)
        return t - 1, grad_gate @ recurrent, grad_c * forward.f[t], grad_gates.write(t, grad_gate)

    _, grad_h, grad_c, grad_gates = tf.while_loop(
        lambda t, *_: t >= 0,
        step_back,
        (
            steps - 1,
            tf.zeros_like(h),
            tf.zeros_like(c),
            tf.TensorArray(x.dtype, steps, element_shape=[None, 4 * units]),
        ),
    )
    grad_gates = tf.reshape(grad_gates.stack(), [-1, 4 * units])
    read = tf.reshape(tf.concat([x, h_before], axis=2), [-1, inputs + units])
    grad_x = tf.matmul(grad_gates, kernel[:inputs], transpose_b=True)
    grad_kernel = tf.matmul(read, grad_gates, transpose_a=True)
    grad_bias = tf.raw_ops.BiasAddGrad(out_backprop=grad_gates)  # faster than a sum
    return tf.reshape(grad_x, tf.shape(x)), grad_h, grad_c, grad_kernel, grad_bias
