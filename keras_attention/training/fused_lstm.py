"""An LSTM layer trained faster than by Keras' loop of small operations.

Letters in shape comments: B batch size, T length, E input size, U units.
"""

from __future__ import annotations

import keras
import tensorflow as tf
from keras import layers


def fuse_lstm(layer: layers.LSTM) -> None:
    """Lets a layer go through all steps in one operation when it is called with `training=True`.

    Its gradient goes back through them in a short loop. Outputs, states and gradients stay the
    same. All other calls are left as they are, so that nothing that is saved or exported holds the
    operation, and the layer stays Keras' own.

    Args:
        layer: Built or not, float32, with Keras' activations and without dropout of its own. A
            mask, where it is called with one, is True at the first tokens of a row and False behind
            them; its outputs at masked positions mean nothing.
    """
    loop = layer.inner_loop

    # Keras goes through its time steps here, or through cuDNN's operation where there is a GPU.
    def inner_loop(sequences, initial_state, mask, training=False):
        if not training:
            return loop(sequences, initial_state, mask=mask, training=training)
        return _all_steps(layer, sequences, mask, *initial_state)

    layer.inner_loop = inner_loop


def lstm_layers(model: keras.Model) -> list[layers.LSTM]:
    """A model's LSTM layers, the two directions of a bidirectional one among them."""
    found = []
    for layer in model.layers:
        both = isinstance(layer, layers.Bidirectional)
        found += [layer.forward_layer, layer.backward_layer] if both else [layer]
    return [layer for layer in found if isinstance(layer, layers.LSTM)]


def _all_steps(layer: layers.LSTM, sequences, mask, h, c):
    """What `LSTM.inner_loop` returns: the last output, all outputs, the states."""
    rows, steps = tf.shape(sequences)[0], tf.shape(sequences)[1]
    length = steps if mask is None else tf.math.count_nonzero(mask, axis=1, dtype=tf.int32)
    row, step = tf.range(rows), tf.range(steps)[:, None]
    # Which token a row reads in a step, (T, B), and where Keras has the output of that step: going
    # backwards in the order of reading, the padding first.
    reads = step + tf.zeros_like(row)
    puts = reads
    if layer.go_backwards:
        reads = tf.where(step < length, length - 1 - step, reads)
        puts = steps - 1 - reads
    reads, puts = (tf.reshape(row * steps + place, [-1]) for place in (reads, puts))

    x = _permuted(tf.reshape(sequences, [-1, sequences.shape[-1]]), reads, _inverse(reads))
    hs, cs = _lstm(
        tf.reshape(x, [steps, rows, sequences.shape[-1]]),
        h,
        c,
        tf.concat([layer.cell.kernel, layer.cell.recurrent_kernel], axis=0),
        tf.convert_to_tensor(layer.cell.bias),
    )  # (T, B, U) each
    outputs = _permuted(tf.reshape(hs, [-1, layer.units]), _inverse(puts), puts)
    outputs = tf.reshape(outputs, [rows, steps, layer.units])

    last = tf.stack([tf.broadcast_to(tf.maximum(length - 1, 0), [rows]), row], axis=1)
    empty = tf.broadcast_to(length == 0, [rows])[:, None]
    h = tf.where(empty, h, tf.gather_nd(hs, last))
    c = tf.where(empty, c, tf.gather_nd(cs, last))
    return h, outputs, [h, c]


_inverse = tf.math.invert_permutation


@tf.custom_gradient
def _permuted(rows, order, inverse):
    """Rows `(N, D)` in another order: faster than to transpose and reverse them."""
    return tf.gather(rows, order), lambda of_rows: (tf.gather(of_rows, inverse), None, None)


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
    seen = tf.raw_ops.BlockLSTMV2(
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
    return (seen.h, seen.cs), lambda of_hs, of_cs: _gradient(x, h, c, kernel, seen, of_hs, of_cs)


def _gradient(x, h, c, kernel, seen, of_hs, of_cs):
    """Backpropagation through time, for `_lstm`.

    The one that TensorFlow (2.21) has registered for `BlockLSTMV2` is that of `BlockLSTM`, whose
    gates stand in another order. Its own kernel, `BlockLSTMGradV2`, adds to the gradient of
    the weights in every step; here one product does it for all steps.

    Args:
        seen: What `BlockLSTMV2` returned: the states, and i, f, ci and o, the gates behind their
            activations, `(T, B, U)` each.
        of_hs, of_cs: Gradients of the states.
    """
    activation = tf.raw_ops
    steps, inputs, units = tf.shape(x)[0], x.shape[-1], h.shape[-1]
    h_before = tf.concat([h[None], seen.h[:-1]], axis=0)
    c_before = tf.concat([c[None], seen.cs[:-1]], axis=0)
    # All that does not wait for the steps behind: what a state's gradient is multiplied by.
    h_to_c = activation.TanhGrad(y=seen.co, dy=seen.o)
    to_gates = tf.concat(
        [
            activation.SigmoidGrad(y=seen.i, dy=seen.ci),
            activation.SigmoidGrad(y=seen.f, dy=c_before),
            activation.TanhGrad(y=seen.ci, dy=seen.i),
            activation.SigmoidGrad(y=seen.o, dy=seen.co),
        ],
        axis=2,
    )  # (T, B, 4 U)
    recurrent = tf.transpose(kernel[inputs:])

    def step_back(t, of_h, of_c, of_gates):
        of_h += of_hs[t]
        of_c += of_cs[t] + of_h * h_to_c[t]
        of_gate = to_gates[t] * tf.concat([of_c, of_c, of_c, of_h], axis=1)
        return t - 1, of_gate @ recurrent, of_c * seen.f[t], of_gates.write(t, of_gate)

    _, of_h, of_c, of_gates = tf.while_loop(
        lambda t, *_: t >= 0,
        step_back,
        (
            steps - 1,
            tf.zeros_like(h),
            tf.zeros_like(c),
            tf.TensorArray(x.dtype, steps, element_shape=[None, 4 * units]),
        ),
    )
    of_gates = tf.reshape(of_gates.stack(), [-1, 4 * units])
    read = tf.reshape(tf.concat([x, h_before], axis=2), [-1, inputs + units])
    of_x = tf.matmul(of_gates, kernel[:inputs], transpose_b=True)
    of_kernel = tf.matmul(read, of_gates, transpose_a=True)
    of_bias = tf.raw_ops.BiasAddGrad(out_backprop=of_gates)  # faster than a sum
    return tf.reshape(of_x, tf.shape(x)), of_h, of_c, of_kernel, of_bias
