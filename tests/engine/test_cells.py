"""The cells against their equations as the papers write them, with plain sigmoids."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from keras_attention.engine.cells import CELLS, Buffer, TokenTable


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def lstm(x, h, c, kernel, recurrent, bias):
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, kernel, recurrent, bias):
    z, r, g = np.split(x @ kernel + bias[0], 3, axis=-1)
    hz, hr, hg = np.split(h @ recurrent + bias[1], 3, axis=-1)
    z, r = sigmoid(z + hz), sigmoid(r + hr)
    return z * h + (1 - z) * np.tanh(g + r * hg)


@pytest.mark.parametrize("kind", CELLS)
@hypothesis.given(
    seed=strategies.integers(0, 2**32 - 1),
    rows=strategies.integers(1, 5),
    units=strategies.integers(1, 6),
    directions=strategies.sampled_from([1, 2]),
    scale=strategies.sampled_from([0.1, 1.0, 20.0]),
)
@hypothesis.settings(max_examples=30)
def test_a_step_is_that_of_the_papers(kind, seed, rows, units, directions, scale):
    rng = np.random.default_rng(seed)
    gates, vocabulary, width = CELLS[kind].gates, 4, 3

    def drawn(*shape):
        return rng.normal(scale=scale, size=shape).astype(np.float32)

    embedding = drawn(vocabulary, width)
    kernels = [drawn(width, gates * units) for _ in range(directions)]
    recurrent = [drawn(units, gates * units) for _ in range(directions)]
    bias_shape = (gates * units,) if kind == "lstm" else (2, gates * units)
    biases = [drawn(*bias_shape) for _ in range(directions)]
    tokens = rng.integers(0, vocabulary, (directions, rows))
    h = rng.uniform(-1, 1, (directions, rows, units)).astype(np.float32)
    c = drawn(directions, rows, units)

    cell = CELLS[kind](recurrent, biases)
    table = TokenTable(cell, embedding, kernels)
    x, scratch = (Buffer(cell, directions, rows + 2, units).of(rows) for _ in range(2))
    states = [2 * h, c.copy()][: cell.parts]  # hidden states are carried doubled
    cell.step(table.look_up(table.places(tokens), x), states, scratch)

    for direction in range(directions):
        weights = kernels[direction], recurrent[direction], biases[direction]
        weights = [weight.astype(np.float64) for weight in weights]
        read = embedding[tokens[direction]].astype(np.float64)
        if kind == "lstm":
            expected, memory = lstm(read, h[direction], c[direction], *weights)
            np.testing.assert_allclose(states[1][direction], memory, rtol=1e-3, atol=1e-4 * scale)
        else:
            expected = gru(read, h[direction], *weights)
        np.testing.assert_allclose(states[0][direction], 2 * expected, atol=2e-4 * max(1, scale))


def test_an_lstm_of_one_unit_by_hand():
    """Every gate's argument is 0, so that i = f = o = 1/2 and g = 0."""
    cell = CELLS["lstm"]([np.zeros((1, 4), np.float32)], [np.zeros(4, np.float32)])
    states = [np.zeros((1, 1, 1), np.float32), np.full((1, 1, 1), 0.8, np.float32)]
    cell.step(np.zeros((4, 1, 1, 1), np.float32), states, np.empty((4, 1, 1, 1), np.float32))
    assert states[1].item() == pytest.approx(0.4)
    assert states[0].item() == pytest.approx(2 * 0.5 * np.tanh(0.4))


def test_a_gru_of_one_unit_by_hand():
    """z = r = 1/2 and g = tanh(1/2 · 3): only b' of the candidate is not 0."""
    bias = np.array([[0, 0, 0], [0, 0, 3]], np.float32)
    cell = CELLS["gru"]([np.zeros((1, 3), np.float32)], [bias])
    states = [np.full((1, 1, 1), 2 * 0.6, np.float32)]
    x = np.zeros((3, 1, 1, 1), np.float32) + cell.bias
    cell.step(x, states, np.empty((3, 1, 1, 1), np.float32))
    assert states[0].item() == pytest.approx(2 * (0.5 * 0.6 + 0.5 * np.tanh(1.5)))
