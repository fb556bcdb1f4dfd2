"""The sentiment example: a classifier with a learned query, and the same audit."""

import argparse
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention.errors import UserError
from keras_attention.explanation.audit import audit_classifier
from keras_attention.explanation.measures.attribution_model import ClassifierAttributionModel
from keras_attention.explanation.pages.html import render
from keras_attention.text.vocabulary import Vocabulary
from tests.support import ROOT


@pytest.fixture(scope="module")
def sentiment():
    sys.path.insert(0, str(ROOT / "examples"))
    import sentiment

    yield sentiment
    sys.path.remove(str(ROOT / "examples"))


@pytest.mark.parametrize("score", ["additive", "scaled_dot", "general"])
@pytest.mark.parametrize("encoder", ["lstm", "average"])
def test_the_models_own_weights_give_its_own_logits(sentiment, score, encoder):
    keras.utils.set_random_seed(0)
    model = sentiment.build_classifier(9, 3, 8, score, encoder)
    ids = tf.constant([[4, 5, 6, 7, 8], [5, 8, 0, 0, 0]])
    subject = ClassifierAttributionModel(model)
    readout = subject.linearize(subject.embed(ids), ids, None)
    logits = readout.logits(readout.attention_weights)[:, 0]
    np.testing.assert_allclose(logits, model(ids, training=False), atol=1e-5)
    assert readout.attention_weights.shape == (2, 1, 5)
    np.testing.assert_array_equal(readout.attention_weights[1, 0, 2:], 0)


@pytest.mark.parametrize("encoder", ["lstm", "average"])
def test_shuffled_weights_give_another_map(sentiment, encoder):
    own = ClassifierAttributionModel(sentiment.build_classifier(9, 3, 8, "additive", encoder))
    other = own.shuffled(np.random.default_rng(1))
    ids = tf.constant([[4, 5, 6]])
    weights = [
        each.linearize(each.embed(ids), ids, None).attention_weights.numpy()
        for each in (own, other)
    ]
    assert weights[0].shape == weights[1].shape == (1, 1, 3)
    assert np.abs(weights[0] - weights[1]).max() > 1e-3


def test_the_audit_of_a_classifier(sentiment):
    keras.utils.set_random_seed(1)
    vocabulary = Vocabulary("word", ("and", "dull", "fresh", "the", "was"))
    model = sentiment.build_classifier(len(vocabulary), 2, 8, "additive", "average")
    # Trained by hand: the class is the sum of what its words say.
    kernel = np.zeros(model.get_layer("source_embedding").embeddings.shape, np.float32)
    kernel[vocabulary.encode(["dull"]).flat[0], 0] = -3
    kernel[vocabulary.encode(["fresh"]).flat[0], 0] = 3
    model.get_layer("source_embedding").set_weights([kernel])
    model.get_layer("encoder").set_weights([np.eye(8, dtype=np.float32), np.zeros(8, np.float32)])
    affine = np.zeros((8, 2), np.float32)
    affine[0] = [-20, 20]
    model.get_layer("affine").set_weights([affine, np.zeros(2, np.float32)])
    texts = [
        "the dull and <b>",
        "fresh and the the <b> was",
        "and the dull <b>",
        "the fresh <b> was",
    ]
    report = audit_classifier(
        ClassifierAttributionModel(model),
        texts,
        [0, 1, 0, 1],
        vocabulary,
        ("bad", "good"),
        2,
        "by hand",
    )
    assert report.task == "classification"
    assert report.interventions.exact_match.value == 1
    # Any attention sees the one word that counts, unless it is moved off it.
    assert report.interventions.uniform.exact_match.value == 1
    assert report.agreement.top_1["gradient"].n == 4
    assert report.erasure.comprehensiveness["50"].value > 0.1
    assert report.alignment is None
    # One step each: nothing to tell steps apart by, but maps of different texts can be compared.
    assert report.dependence.on_step.value is None and report.dependence.on_input.n == 4
    page = render(report)
    assert "undefined nats" not in page and "In undefined" not in page
    assert "The adversary&#x27;s attention" in page or "The adversary's attention" in page
    assert "&lt;b&gt;" in page and "<b>" not in page


def test_the_committed_file_is_what_the_generator_writes():
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import sentiment_data
    finally:
        sys.path.remove(str(ROOT / "examples"))
    written = sentiment_data.PLACE.read_bytes().decode("utf-8")
    assert written == "\n".join(sentiment_data.lines()) + "\n"


def test_reviews_are_read_and_split_by_text(sentiment, tmp_path):
    path = tmp_path / "reviews.tsv"
    path.write_text("".join(f"{'up' if i % 2 else 'down'}\ttext {i}\n" for i in range(40)))
    splits = sentiment.read_reviews(str(path), seed=1)
    assert sum(map(len, splits)) == 40 and {pair.target for pair in splits.train} == {"up", "down"}
    assert splits.train[0].source.startswith("text ")


def test_the_papers_file_is_read_with_its_own_split(sentiment, tmp_path):
    path = tmp_path / "sst.csv"
    rows = ["a b c d e f,1,train", "a b c d e g,0,dev", "a b c d e h,1,test", "too short,0,test"]
    path.write_text("text,label,exp_split\n" + "\n".join(rows) + "\n")
    splits = sentiment.read_reviews(str(path), seed=1)
    assert [len(part) for part in splits] == [1, 1, 1]
    assert splits.valid[0].target == "negative"
    path.write_text("words,label\na,1\n")
    with pytest.raises(UserError, match="text, label, exp_split"):
        sentiment.read_reviews(str(path), seed=1)


def test_training_is_the_same_for_the_same_seed_and_uniform_attention_stays_uniform(sentiment):
    splits = sentiment.read_reviews(str(ROOT / "data/sentiment/reviews.tsv"), 1)
    splits = splits._replace(train=splits.train[:64], valid=splits.valid[:16])
    vocabulary = Vocabulary.from_texts([pair.source for pair in splits.train], "word")
    options = argparse.Namespace(units=8, score="additive", encoder="average", epochs=1)
    train = sentiment.Trainer(vocabulary, ["negative", "positive"], splits, options)
    model, history = train(seed=3, uniform=True)
    assert history.shape == (1,)
    ids, _ = train.arrays(splits.valid)
    subject = ClassifierAttributionModel(model)
    ids = tf.constant(ids)
    weights = subject.linearize(subject.embed(ids), ids, None).attention_weights[:, 0].numpy()
    mask = ids.numpy() != 0
    np.testing.assert_allclose(weights, mask / mask.sum(axis=1, keepdims=True), atol=1e-6)
