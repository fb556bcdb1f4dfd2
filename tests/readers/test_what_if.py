"""`Translator.what_if`: answers under other weights, a given beginning, tokens unseen."""

import numpy as np
import pytest

from keras_attention.errors import UserError
from keras_attention.folders.weights_folder import read_weights
from keras_attention.readers.translator import Translator
from tests.support.texts import random_texts
from tests.support.weights import random_weights

KINDS = [
    {},
    {"encoder": "gru", "attention": "additive", "layers": 2},
    {"attention": "general", "attentional_layer": True, "reverse_source": True},
    {"attention": "scaled_dot", "attention_normalizer": "entmax15", "bidirectional": False},
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.get("attention", "default"))
def export(request, tmp_path_factory):
    return random_weights(tmp_path_factory.mktemp("exports") / "export", **request.param)


@pytest.fixture(scope="module")
def run(export):
    """Its vocabularies and models."""
    return read_weights(export)


@pytest.fixture(scope="module")
def translator(export):
    return Translator.load(export)


def test_without_changes_it_is_the_greedy_answer(run, translator):
    for text in ["", *random_texts(run.source, 20, seed=1)]:
        plain, asked = translator.translate([text])[0], translator.what_if(text)
        assert asked.text == plain.text and asked.source_tokens == plain.source_tokens
        assert asked.confidence == pytest.approx(plain.confidence, abs=1e-5)
        np.testing.assert_allclose(asked.attention_weights, plain.attention_weights, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"attention": "general", "attentional_layer": True}])
def test_uniform_and_permuted_weights_answer_as_the_audit_in_tensorflow(options):
    import tensorflow as tf

    from keras_attention.explanation.measures import interventions
    from keras_attention.explanation.measures.attribution_model import SequenceAttributionModel
    from tests.support.exports import random_run

    run = random_run(**options)
    translator = Translator.load(run.config.out)
    model = SequenceAttributionModel(run)
    rng = np.random.default_rng(0)
    changed = 0
    for text in random_texts(run.source, 12, seed=2):
        ids = run.source.encode([text]).flat[None]
        keys = rng.random(ids.shape).astype(np.float32)
        order = np.argsort(keys[0], kind="stable").tolist()
        for change, asked in (
            (interventions.uniform, translator.what_if(text, weights="uniform")),
            (interventions.permuted, translator.what_if(text, weights=order)),
        ):
            found = model.answer(tf.constant(ids), change, tf.constant(keys[:, None])).numpy()[0]
            expected = run.target.join(run.target.tokens_of([i for i in found if i]))
            assert asked.text == expected
            changed += asked.text != translator.translate([text])[0].text
    assert changed > 5


def test_a_hidden_position_gets_nothing_and_the_others_all(run, translator):
    text = random_texts(run.source, 5, seed=3, longest=12)[0] + "abc"
    plain = translator.what_if(text)
    hidden = [0, len(plain.source_tokens) - 1]
    asked = translator.what_if(text, hidden=hidden)
    assert (asked.attention_weights[:, hidden] == 0).all()
    np.testing.assert_allclose(asked.attention_weights.sum(axis=1), 1, atol=1e-5)
    if (
        run.models[0].architecture.attention_normalizer == "softmax"
    ):  # what is left keeps its proportions
        kept = np.delete(plain.attention_weights[0], hidden)
        found = np.delete(asked.attention_weights[0], hidden)
        np.testing.assert_allclose(found, kept / kept.sum(), atol=1e-5)


def test_all_positions_hidden_leave_no_context(translator):
    asked = translator.what_if("abcde", hidden=range(5))
    assert (asked.attention_weights == 0).all()


def test_uniform_weights_are_alike_where_attention_may_look(translator):
    asked = translator.what_if("abcde", hidden=[1], weights="uniform", prefix="a")
    expected = np.array([1, 0, 1, 1, 1]) / 4
    np.testing.assert_allclose(asked.attention_weights, [expected] * len(asked.target_tokens))


def test_a_permutation_moves_the_visible_weights(translator):
    own = translator.what_if("abcde", hidden=[1], prefix="a").attention_weights[0]
    moved = translator.what_if("abcde", hidden=[1], prefix="a", weights=[4, 3, 2, 1, 0])
    np.testing.assert_allclose(
        moved.attention_weights[0], [own[4], 0, own[3], own[2], own[0]], atol=1e-6
    )


def test_rows_are_taken_as_they_are_even_of_hidden_positions(translator):
    row = [0.1, 0.2, 0.3, 0.4, 0.0]
    asked = translator.what_if("abcde", rows={1: row}, hidden=[1], weights="uniform", prefix="ab")
    np.testing.assert_allclose(asked.attention_weights[1], row, atol=1e-6)
    np.testing.assert_allclose(asked.attention_weights[0], [0.25, 0, 0.25, 0.25, 0.25])


def test_an_answer_begins_as_it_must_and_its_own_beginning_changes_nothing(run, translator):
    for text in random_texts(run.source, 10, seed=4):
        plain = translator.what_if(text)
        if plain.target_tokens:
            own = run.target.join(plain.target_tokens[:3])
            again = translator.what_if(text, prefix=own)
            assert again.text == plain.text
            assert again.log_probability == pytest.approx(plain.log_probability, abs=1e-5)
        forced = translator.what_if(text, prefix="ea")
        assert forced.text.startswith("ea")
        if not plain.text.startswith("ea"):
            assert forced.log_probability < 0


def test_an_erased_token_is_read_as_one_that_the_model_never_saw(translator):
    asked = translator.what_if("abcde", erased=[2])
    unknown = translator.translate(["abжde"])[0]
    assert asked.text == unknown.text and asked.source_tokens == tuple("abcde")
    np.testing.assert_allclose(asked.attention_weights, unknown.attention_weights, atol=1e-6)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"hidden": [5]}, "hidden must hold source positions from 0 to 4. Received: 5"),
        ({"erased": [-1]}, "erased must hold source positions"),
        ({"weights": "even"}, "weights must be 'own', 'uniform' or a permutation"),
        ({"weights": [0, 0, 1, 2, 3]}, "permutation of 0 to 4"),
        ({"rows": {0: [1.0, 0.0]}}, "rows must be 5 weights each"),
        ({"rows": {0: [0.5, 0, 0, 0, 0]}}, "that sum to 1"),
        ({"rows": {0: [2, -1, 0, 0, 0]}}, "none negative"),
        ({"rows": {9: [1, 0, 0, 0, 0]}}, "rows must be of steps from 0 to 8"),
        ({"prefix": "aж"}, "tokens that the model can say. Received: 'ж'"),
        ({"prefix": "a" * 9}, "fewer tokens than the longest answer, 9. Received: 9"),
    ],
)
def test_what_does_not_fit_is_named(changes, said, tmp_path):
    translator = Translator.load(random_weights(tmp_path / "export"))
    with pytest.raises(ValueError) as error:
        translator.what_if("abcde", **changes)
    assert said in str(error.value)


@pytest.mark.parametrize("options", [{"members": 2}, {"attention": "peeky"}])
def test_only_a_single_model_with_attention_can_be_asked(options, tmp_path):
    translator = Translator.load(random_weights(tmp_path / "export", **options))
    with pytest.raises(UserError, match="what_if: needs a single model with attention"):
        translator.what_if("abc")


def test_only_numpy_can_be_asked():
    class Other:
        has_attention = True

    with pytest.raises(UserError, match="what_if: needs a run or an export"):
        Translator(Other()).what_if("abc")
