"""Greedy and beam search against scripted steps, brute force, and a plain search in NumPy."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.models.decoding import (
    NEG_INF,
    beam_search,
    emittable_log_probabilities,
    greedy_decode,
)
from keras_attention.text.vocabulary import END, PADDING, START, UNKNOWN

A, B = 4, 5
SIZE = 6
LONGEST = 3
# A state is the number of a history: the ids of START and of what was chosen, in base SIZE.
HISTORIES = SIZE**LONGEST


def scripted(rows_of_ids, width=2):
    """A step that says the given ids, whatever it is told; it looks at column t % width."""
    script = tf.constant(rows_of_ids, tf.int32)  # [n, T]

    def step(token_ids, states):
        (t,) = states  # [n], the same number in every row
        now = tf.gather(script, t[0], axis=1)
        weights = tf.one_hot(t % max(width, 1), width) if width else tf.zeros([len(t), 0])
        return emittable_log_probabilities(3.0 * tf.one_hot(now, SIZE)), [t + 1], weights

    return step, [tf.zeros([len(rows_of_ids)], tf.int32)]


def random_tables(rows, seed, scale=2.0):
    """Logits and attention for every history, for each row others."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=scale, size=(rows, HISTORIES, SIZE)).astype(np.float32)
    attention = rng.dirichlet(np.ones(4), size=(rows, HISTORIES)).astype(np.float32)
    return logits, attention


def remembering(logits, attention):
    """A step whose every answer depends on the row and on its whole history."""

    def step(token_ids, states):
        history, row = states
        history = history * SIZE + token_ids
        here = tf.stack([row, history], axis=1)
        log_probabilities = emittable_log_probabilities(tf.gather_nd(logits, here))
        return log_probabilities, [history, row], tf.gather_nd(attention, here)

    rows = len(logits)
    return step, [tf.zeros([rows], tf.int32), tf.range(rows)]


def log_probabilities_of(logits):
    """What may be emitted, in float64, by the definition of the softmax."""
    kept = logits.astype(np.float64).copy()
    kept[..., [PADDING, START, UNKNOWN]] = -np.inf
    return kept - np.log(np.exp(kept).sum(-1, keepdims=True))


def spelled(decoded, row=0):
    return decoded.token_ids[row].numpy().tolist()


# --- greedy


def test_it_spells_what_the_step_says_and_stops_at_the_end():
    decoded = greedy_decode(*scripted([[A, B, A, END, B, B]]), 1, 6, tf.constant(2))
    assert spelled(decoded) == [A, B, A, 0, 0, 0]
    assert decoded.lengths.numpy() == [3]
    one = 3 - np.log(np.exp(3) + 2)  # of END, A, B one is said with logit 3
    np.testing.assert_allclose(decoded.log_probability, [4 * one], rtol=1e-5)
    np.testing.assert_array_equal(
        decoded.attention_weights[0], [[1, 0], [0, 1], [1, 0], [0, 0], [0, 0], [0, 0]]
    )


def test_it_stops_at_the_longest_output_without_an_end():
    decoded = greedy_decode(*scripted([[A] * 9]), 1, 5, tf.constant(2))
    assert spelled(decoded) == [A] * 5
    assert decoded.lengths.numpy() == [5]


def test_a_finished_row_emits_padding_while_others_go_on():
    step, states = scripted([[END, A, A, A], [A, END, B, B], [B, B, B, END]])
    decoded = greedy_decode(step, states, 3, 4, tf.constant(2))
    assert decoded.token_ids.numpy().tolist() == [[0] * 4, [A, 0, 0, 0], [B, B, B, 0]]
    assert decoded.lengths.numpy().tolist() == [0, 1, 3]
    one = 3 - np.log(np.exp(3) + 2)
    np.testing.assert_allclose(decoded.log_probability, [one, 2 * one, 4 * one], rtol=1e-5)
    assert not decoded.attention_weights[0].numpy().any()
    assert decoded.attention_weights[2].numpy().sum() == 3


def test_steps_end_when_all_rows_have_ended():
    calls = []
    step, states = scripted([[A, END] + [B] * 98])

    def counting(token_ids, states):
        calls.append(token_ids.numpy().tolist())
        return step(token_ids, states)

    greedy_decode(counting, states, 1, 100, tf.constant(2))
    assert calls == [[START], [A]]


@pytest.mark.parametrize("width", [0, 1, 5])
def test_no_rows_and_no_columns(width):
    step, states = scripted([[A, END]], width)
    decoded = greedy_decode(step, states, 1, 3, tf.constant(width))
    assert decoded.attention_weights.shape == (1, 3, width)
    assert spelled(decoded) == [A, 0, 0]

    def never(token_ids, states):
        return tf.zeros([0, SIZE]), states, tf.zeros([0, width])

    for decoded in (
        greedy_decode(never, [tf.zeros([0])], 0, 3, tf.constant(width)),
        beam_search(never, [tf.zeros([0])], 0, 3, tf.constant(width), beam_width=2),
    ):
        assert decoded.token_ids.shape[0] == 0
        assert decoded.attention_weights.shape[0] == 0
        assert decoded.attention_weights.shape[-1] == width


@pytest.mark.parametrize("k", [1, 3])
def test_a_batch_gives_what_its_rows_give_alone(k):
    logits, attention = random_tables(3, seed=1)
    step, states = remembering(logits, attention)
    together = beam_search(step, states, 3, LONGEST, tf.constant(4), k)
    for row in range(3):
        step, states = remembering(logits[row : row + 1], attention[row : row + 1])
        alone = beam_search(step, states, 1, LONGEST, tf.constant(4), k)
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], many[row], rtol=1e-6)


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_eagerly_and_compiled_alike(search):
    logits, attention = random_tables(2, seed=2)

    def run(width):
        step, states = remembering(logits, attention)
        if search == "greedy":
            return greedy_decode(step, states, 2, LONGEST, width)
        return beam_search(step, states, 2, LONGEST, width, 3)

    compiled = tf.function(run, input_signature=[tf.TensorSpec([], tf.int32)])
    for eager, graph in zip(run(tf.constant(4)), compiled(tf.constant(4)), strict=True):
        np.testing.assert_allclose(eager, graph, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 20])
def test_reserved_tokens_are_never_emitted(k):
    logits, attention = random_tables(4, seed=3)
    logits[..., [PADDING, START, UNKNOWN]] = 1e6
    step, states = remembering(logits, attention)
    decoded = beam_search(step, states, 4, LONGEST, tf.constant(4), k)
    for ids, length, score in zip(
        decoded.token_ids.numpy().reshape(-1, LONGEST),
        decoded.lengths.numpy().ravel(),
        decoded.log_probability.numpy().ravel(),
        strict=True,
    ):
        assert set(ids[:length]) <= {A, B}
        assert not ids[length:].any()
        if score == NEG_INF:
            assert length == 0
        else:
            assert -1000 < score <= 0


def test_probabilities_are_those_of_the_remaining_tokens():
    logits = tf.constant([[9.0, 9.0, 1.0, 9.0, 2.0, 3.0]])
    expected = np.exp([1.0, 2.0, 3.0]) / np.exp([1.0, 2.0, 3.0]).sum()
    got = np.exp(emittable_log_probabilities(logits)[0])
    np.testing.assert_allclose(got[[END, A, B]], expected, rtol=1e-6)
    assert not got[[PADDING, START, UNKNOWN]].any()


def test_half_precision_logits_are_scored_in_float32():
    half = emittable_log_probabilities(tf.constant([[0, 0, 8, 0, 9, 9.5]], tf.float16))
    assert half.dtype == tf.float32
    full = emittable_log_probabilities(tf.constant([[0, 0, 8, 0, 9, 9.5]], tf.float32))
    np.testing.assert_array_equal(half, full)


# --- beam search


def all_outputs(logits, attention, penalty=0.0):
    """Every output that can be, best first: (ids, log-probability, attention rows)."""
    log_probabilities = log_probabilities_of(logits)
    outputs = []
    for length in range(LONGEST + 1):
        for ids in itertools.product([A, B], repeat=length):
            said = [*ids, END] if length < LONGEST else list(ids)
            history, score, rows = 0, 0.0, []
            for before, token in zip([START, *said], said, strict=False):
                history = history * SIZE + before
                score += log_probabilities[history, token]
                rows.append(attention[history])
            outputs.append((list(ids), score, rows[:length], score / len(said) ** penalty))
    return sorted(outputs, key=lambda output: -output[3])


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wider_than_all_outputs_finds_them_all(seed, penalty):
    logits, attention = random_tables(2, seed)
    step, states = remembering(logits, attention)
    k = 20
    decoded = beam_search(step, states, 2, LONGEST, tf.constant(4), k, penalty)
    for row in range(2):
        expected = all_outputs(logits[row], attention[row], penalty)
        assert len(expected) == 15  # 1 + 2 + 4 that ended, 8 that did not
        for place, (ids, score, rows, _) in enumerate(expected):
            length = int(decoded.lengths[row, place])
            assert decoded.token_ids[row, place, :length].numpy().tolist() == ids
            np.testing.assert_allclose(decoded.log_probability[row, place], score, rtol=1e-5)
            weights = decoded.attention_weights[row, place].numpy()
            np.testing.assert_allclose(weights[:length], np.reshape(rows, (length, 4)), rtol=1e-6)
            assert not weights[length:].any()
        assert (decoded.log_probability[row, 15:].numpy() == NEG_INF).all()
        assert not decoded.token_ids[row, 15:].numpy().any()
        assert not decoded.attention_weights[row, 15:].numpy().any()
    total = np.exp(decoded.log_probability.numpy().astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


def plain_beam_search(logits, attention, k, penalty):
    """The textbook's search over Python lists."""
    log_probabilities = log_probabilities_of(logits)
    beam = [([], 0.0, 0, [], False)]  # ids, score, history, attention rows, finished
    for _ in range(LONGEST):
        candidates = []
        for ids, score, history, rows, finished in beam:
            if finished:
                candidates.append((ids, score, history, rows, True))
                continue
            now = history * SIZE + (ids[-1] if ids else START)
            for token in (END, A, B):
                gain = log_probabilities[now, token]
                if token == END:
                    candidates.append((ids, score + gain, now, rows, True))
                else:
                    more = [*rows, attention[now]]
                    candidates.append(([*ids, token], score + gain, now, more, False))
        beam = sorted(candidates, key=lambda c: -c[1] / max(len(c[0]) + c[4], 1) ** penalty)[:k]
    return beam


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_it_keeps_what_a_plain_search_keeps(k, penalty):
    for seed in range(4):
        logits, attention = random_tables(3, 100 + seed)
        step, states = remembering(logits, attention)
        decoded = beam_search(step, states, 3, LONGEST, tf.constant(4), k, penalty)
        for row in range(3):
            expected = plain_beam_search(logits[row], attention[row], k, penalty)
            for place, (ids, score, _, rows, _) in enumerate(expected):
                length = int(decoded.lengths[row, place])
                assert decoded.token_ids[row, place, :length].numpy().tolist() == ids
                np.testing.assert_allclose(decoded.log_probability[row, place], score, rtol=1e-5)
                np.testing.assert_allclose(
                    decoded.attention_weights[row, place, :length],
                    np.reshape(rows, (length, 4)),
                    rtol=1e-6,
                )


def test_width_one_is_greedy():
    logits, attention = random_tables(5, seed=4)
    step, states = remembering(logits, attention)
    greedy = greedy_decode(step, states, 5, LONGEST, tf.constant(4))
    step, states = remembering(logits, attention)
    beam = beam_search(step, states, 5, LONGEST, tf.constant(4), 1)
    for one, many in zip(greedy, beam, strict=True):
        np.testing.assert_allclose(one, many[:, 0], rtol=1e-6)


def test_a_length_penalty_prefers_the_longer_output():
    """Ending at once has probability 0.6, saying A, A, A 0.4: per token the latter is better."""
    logits = np.full((1, HISTORIES, SIZE), -50, np.float32)
    logits[0, :, A] = 0
    logits[0, START, END] = np.log(0.6)
    logits[0, START, A] = np.log(0.4)
    attention = np.zeros((1, HISTORIES, 4), np.float32)
    best = {}
    for penalty in (0.0, 1.0):
        step, states = remembering(logits, attention)
        decoded = beam_search(step, states, 1, LONGEST, tf.constant(4), 2, penalty)
        best[penalty] = int(decoded.lengths[0, 0])
        np.testing.assert_allclose(
            sorted(np.exp(decoded.log_probability[0])), [0.4, 0.6], rtol=1e-4
        )
    assert best == {0.0: 0, 1.0: 3}
