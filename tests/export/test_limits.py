"""What the SavedModel's graph refuses by itself, whatever serves it."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.export.saved_model import ServingLimits, write_saved_model
from keras_attention.readers.translator import Translator
from keras_attention.serving.loaded_version import LoadedVersion
from keras_attention.serving.statuses import StatusError
from tests.support.exports import random_export, random_run, random_texts, version_folder

MEGABYTE = 2**20
NONE = np.float32(-1e9)


@pytest.fixture(scope="module")
def served():
    return tf.saved_model.load(str(version_folder(random_export()[1])))


def call(served, signature, texts):
    outputs = served.signatures[signature](text=tf.constant(texts, tf.string))
    return {name: value.numpy() for name, value in outputs.items()}


LONG = {
    "one more than allowed": b"a" * 4097,
    "a megabyte": b"a" * MEGABYTE,
    "a megabyte of four-byte characters": "😀".encode() * (MEGABYTE // 4),
    "a megabyte of invalid bytes": b"\xff" * MEGABYTE,
    "a megabyte of continuations": b"\x80" * MEGABYTE,
    "a megabyte of zeros": b"\0" * MEGABYTE,
    "a megabyte of blanks": b" " * MEGABYTE,
}


@pytest.mark.parametrize("signature", ["serving_default", "attention", "beam"])
@pytest.mark.parametrize("long", LONG.values(), ids=LONG)
def test_too_long_a_text_gets_an_empty_answer_and_the_others_theirs(served, signature, long):
    texts = [text.encode() for text in random_texts(random_run().source, 5)]
    alone = call(served, signature, texts)
    mixed = call(served, signature, [*texts[:2], long, *texts[2:], long])
    for name, value in alone.items():
        others = np.delete(mixed[name], [2, 6], axis=0)
        if value.dtype == object:
            np.testing.assert_array_equal(others, value)
        else:
            np.testing.assert_allclose(others, value, atol=1e-5)
        refused = mixed[name][[2, 6]]
        if value.dtype == object:
            assert set(refused.ravel()) <= {b""}, name
        elif name == "log_probability":
            assert (refused == NONE).all()
        else:
            assert not refused.any(), name


@pytest.mark.parametrize("signature", ["serving_default", "attention", "beam"])
def test_only_too_long_texts(served, signature):
    outputs = call(served, signature, [b"a" * MEGABYTE] * 3)
    assert not outputs["confidence"].any() and set(outputs["text"].ravel()) == {b""}
    if signature == "attention":
        assert outputs["attention_weights"].shape[0] == 3 and outputs["source_tokens"].shape[0] == 3


def test_no_texts(served):
    for signature in ("serving_default", "attention", "beam"):
        assert all(len(value) == 0 for value in call(served, signature, []).values())


def test_the_longest_text_that_is_allowed_is_answered(served):
    outputs = call(served, "serving_default", [b"a" * 4096, "가".encode() * 4096])
    assert (outputs["log_probability"] > -1e8).all()


def test_the_batch_has_a_limit_with_one_clear_error(served):
    with pytest.raises(tf.errors.InvalidArgumentError, match="The batch is too large.*524288"):
        call(served, "serving_default", [b"a" * 4096] * 129)
    long = [b"a" * MEGABYTE] * 200  # which are not read, so they cost nothing
    assert len(call(served, "serving_default", long)["text"]) == 200


def test_both_limits_are_the_exports(tmp_path):
    run = random_run(attention="none")
    limits = ServingLimits(longest_text=5, largest_batch=20)
    write_saved_model(run, tmp_path / "1", "NAME", 2, 0.0, limits)
    served = tf.saved_model.load(str(tmp_path / "1"))
    outputs = call(
        served, "serving_default", ["가나abc".encode(), "가나abcd".encode(), b"\xff" * 5]
    )
    assert (outputs["log_probability"] > -1e8).tolist() == [True, False, True]
    with pytest.raises(tf.errors.InvalidArgumentError, match="may be 20"):
        call(served, "serving_default", [b"12345"] * 5)
    version = LoadedVersion(1, tmp_path / "1")
    assert len(version.signature("")([b"12345"] * 4)["text"]) == 4
    with pytest.raises(StatusError, match="too many or too long") as error:
        version.signature("")([b"12345"] * 5)
    assert error.value.http_status == 400
    version.close()


def test_the_reader_warns(tmp_path):
    translator = Translator.load(random_export()[1])
    with pytest.warns(UserWarning, match="5000 characters is longer than the 4096"):
        short, long = translator.translate(["ab", "ab" * 2500])
    assert short.confidence > 0
    assert (long.text, long.confidence, long.alternatives) == ("", 0.0, ())
    assert long.attention_weights.shape == (0, 5000)
    with pytest.warns(UserWarning):
        beam = translator.translate(["ab" * 2500], beam_width=3)[0]
    assert (beam.text, beam.confidence, beam.alternatives) == ("", 0.0, ())
