"""Several runs that decode together."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.engine.calibration import Calibration, mean_of
from keras_attention.errors import UserError
from keras_attention.models.decoding import emittable_log_probabilities
from keras_attention.models.training_model import build_teacher_forced_attention
from keras_attention.readers.translator import Translator
from keras_attention.text.vocabulary import END, START
from tests.support.commands import call_verb
from tests.support.exports import random_run, random_texts

SEEDS = (0, 1, 2)


def folder(seed: int, **options):
    return random_run(seed, **options).config.out


@pytest.fixture(scope="module")
def runs():
    return [random_run(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def ensemble(runs):
    return Translator.load([run.config.out for run in runs])


@pytest.fixture(scope="module")
def texts(runs):
    return ["", *random_texts(runs[0].source, 20)]


def test_a_run_with_itself_is_the_run(runs, texts):
    path = runs[0].config.out
    alone = Translator.load(path).translate(texts)
    for ours, theirs in zip(Translator.load([path, path]).translate(texts), alone, strict=True):
        assert ours.text == theirs.text
        assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-5)
        np.testing.assert_allclose(ours.attention_weights, theirs.attention_weights, atol=1e-6)


def test_the_score_is_the_mean_of_what_the_members_say_when_forced(runs, ensemble, texts):
    for result in ensemble.translate(texts):
        first = runs[0]
        source = first.source.encode(["".join(result.source_tokens)])
        answer = first.target.encode([result.text]).flat
        inputs = {
            "source_ids": tf.constant(source.padded(np.array([0]), max(source.lengths[0], 1))),
            "decoder_ids": tf.constant([[START, *answer]], tf.int32),
        }
        ended = len(answer) < first.config.longest_output
        steps = [*answer, END] if ended else answer
        said = [
            np.exp(emittable_log_probabilities(run.model(inputs, training=False))[0])
            for run in runs
        ]
        mean = np.mean(said, axis=0)
        expected = sum(np.log(mean[t, token]) for t, token in enumerate(steps))
        assert result.log_probability == pytest.approx(expected, abs=1e-4)
        # Greedy: no step had a likelier token.
        assert [int(row.argmax()) for row in mean[: len(steps)]] == list(steps)


def test_beam_search_finds_what_is_at_least_as_likely(ensemble, texts):
    greedy = ensemble.translate(texts)
    for wide, narrow in zip(ensemble.translate(texts, beam_width=4), greedy, strict=True):
        assert wide.log_probability >= narrow.log_probability - 1e-4
        assert len(wide.alternatives) == 3


def test_attention_is_the_mean_of_the_members(runs, ensemble):
    first = runs[0]
    [ours] = ensemble.translate(["abc"])
    inputs = {
        "source_ids": tf.constant(first.source.encode(["abc"]).padded(np.array([0]))),
        "decoder_ids": tf.constant([[START, *first.target.encode([ours.text]).flat]], tf.int32),
    }
    looked = [
        build_teacher_forced_attention(run.model, run.config)(inputs)["attention_weights"][0]
        for run in runs
    ]
    mean = np.mean(looked, axis=0)[: len(ours.target_tokens)]
    np.testing.assert_allclose(ours.attention_weights, mean, atol=1e-5)


def test_members_must_share_vocabularies_and_kind(runs):
    first = runs[0].config.out
    with pytest.raises(UserError, match="other vocabularies than .*same data"):
        Translator.load([first, folder(0, tokens=("char", "word"))])
    with pytest.raises(UserError, match="no attention"):
        Translator.load([first, folder(0, attention="none")])


def test_a_member_that_is_no_run_is_named(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}: holds no run"):
        Translator.load([folder(0), tmp_path])


def test_commands_take_runs_joined_by_commas(runs, ensemble):
    finished = call_verb("translate", ",".join(run.config.out for run in runs), "abc")
    expected = ensemble.translate(["abc"])[0].text
    assert (finished.status, finished.out) == (0, expected + "\n"), finished.err


def test_confidence_is_by_the_mean_of_the_maps():
    first = Calibration(1.0, 2.0, 0.0, 0.5, n=10, wrong=2)
    second = dataclasses.replace(first, log_slope=2.0, offset=-1.0)
    assert mean_of([first, second]) == Calibration(1.5, 2.0, -0.5, 0.5, n=10, wrong=2)
    assert mean_of([first, None]) is None
