"""Training: what it computes, what it writes, and when it stops by itself."""

import csv
import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attention import config as config_module
from keras_attention.batching.batches import encode_pairs, training_batches
from keras_attention.config import Config
from keras_attention.errors import UserError
from keras_attention.folders.run_folder import HISTORY_COLUMNS
from keras_attention.models.training_model import build_training_model
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import write_pairs
from keras_attention.pairs.splits import Splits
from keras_attention.text.vocabulary import UNKNOWN, Vocabulary
from keras_attention.training import epochs as epoch_loop
from keras_attention.training import trainer as training
from keras_attention.training.step import make_loss_step, make_optimizer, make_training_step
from tests.support.commands import call_train, call_verb
from tests.support.tasks import EAGER_LEARNER, SMALL, reversal_splits, write_splits

# One direction and the smaller cell: what takes time here is compiling.
CHEAP = {"units": 8, "embedding_size": 4, "encoder": "gru", "bidirectional": False}
TINY = Splits(*(part[:40] for part in reversal_splits()))


def train_tiny(out, splits=TINY, **options) -> training.Trained:
    options = CHEAP | {"epochs": 2, "batch_size": 16} | options
    config = Config(data="tiny", out=str(out), **options)
    return training.train(config, splits, log=lambda line: None)


def weights_of(run) -> list[np.ndarray]:
    return keras.saving.load_model(run / "model.keras").get_weights()


def equal(first, second) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# --- the step


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_changes_neither_loss_nor_gradient(smoothing):
    results = []
    for padding in (0, 5):
        keras.utils.set_random_seed(0)
        config = Config(**CHEAP, dropout=0, decoder_input_dropout=0, label_smoothing=smoothing)
        model = build_training_model(config, 9, 8)
        step = make_training_step(model, make_optimizer(config, 10), config)
        ids = [[[5, 6, 7], [4, 0, 0]], [[1, 5, 6], [1, 7, 0]], [[5, 6, 2], [7, 2, 0]]]
        ids = [tf.constant(np.pad(part, [(0, 0), (0, padding)]), tf.int32) for part in ids]
        loss = [float(value) for value in make_loss_step(model)(*ids)]
        results.append([*loss, *(float(value) for value in step(*ids))])
    assert results[0][1] == results[0][3] == 5  # real tokens, end symbols counted
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Two variables with gradients of norm 3 and 4: 5 together.
        ({"clipnorm": 1.0}, [1.0, 1.0]),
        ({"clipnorm": 3.5}, [3.0, 3.5]),
        ({"global_clipnorm": 1.0}, [0.6, 0.8]),
        ({"global_clipnorm": 6.0}, [3.0, 4.0]),
        ({"clipnorm": 0.0}, [3.0, 4.0]),
        ({}, [1.0, 1.0]),
    ],
)
def test_each_variable_is_clipped_or_all_together(options, expected):
    optimizer = make_optimizer(Config(**options), 10)
    variables = [keras.Variable([0.0, 0.0]), keras.Variable([0.0])]
    optimizer.build(variables)
    optimizer.apply([tf.constant([3.0, 0.0]), tf.constant([4.0])], variables)
    # Adam's first moment after one step is (1 - beta_1) times the clipped gradient.
    moments = [m for m in optimizer.variables if "momentum" in m.path]
    norms = [np.linalg.norm(m) / (1 - optimizer.beta_1) for m in moments]
    np.testing.assert_allclose(norms, expected, rtol=1e-5)


def test_the_learning_rate_falls_along_a_cosine_to_zero():
    schedule = make_optimizer(Config(learning_rate=0.01), 8)._learning_rate
    for step in range(9):
        expected = 0.01 * (1 + math.cos(math.pi * step / 8)) / 2
        np.testing.assert_allclose(float(schedule(step)), expected, atol=1e-9)


def test_the_gradient_norm_is_that_before_clipping():
    norms = []
    for clipnorm in (1e-3, 0.0):
        keras.utils.set_random_seed(0)
        config = Config(**CHEAP, clipnorm=clipnorm)
        model = build_training_model(config, 9, 8)
        step = make_training_step(model, make_optimizer(config, 10), config)
        ids = (tf.constant(part, tf.int32) for part in ([[5, 6]], [[1, 5]], [[5, 2]]))
        norms.append(float(step(*ids)[2]))
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)
    assert norms[0] > 0.01


# --- a run


def test_the_run_folder_is_as_promised(trained):
    names = {str(path.relative_to(trained.path)) for path in trained.path.rglob("*")}
    assert names == {
        *("config.json", "vocabulary.json", "model.keras", "history.csv", "metrics.json"),
        "README.md",
        *("attention.png", "calibration.json", "checkpoint", "checkpoint/state.npz"),
    }
    with open(trained.path / "history.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == HISTORY_COLUMNS
    assert [int(row["epoch"]) for row in rows] == list(range(1, 9))
    numbers = {name: [float(row[name]) for row in rows] for name in HISTORY_COLUMNS}
    assert all(0 < share <= 1 for share in numbers["mean_largest_weight"])
    assert all(0 <= share <= 1 for share in numbers["one_position"])
    assert numbers["loss"][-1] < 0.3 * numbers["loss"][0]
    assert numbers["valid_loss"][-1] < 0.3 * numbers["valid_loss"][0]
    assert max(numbers["valid_exact_match"]) > 0.8
    assert numbers["learning_rate"] == sorted(numbers["learning_rate"], reverse=True)
    assert numbers["learning_rate"][-1] == 0
    assert min(numbers["gradient_norm"]) > 0 and min(numbers["seconds"]) > 0


def test_metrics_are_those_of_the_best_epoch(trained):
    metrics = json.loads((trained.path / "metrics.json").read_text())
    assert set(metrics) >= {"test", "valid", "seconds", "epochs", "parameters"}
    assert set(metrics["seconds"]) == {"total", "training"}
    assert 0 < metrics["seconds"]["training"] <= metrics["seconds"]["total"]
    assert metrics["test"]["n"] == metrics["valid"]["n"] == 100
    with open(trained.path / "history.csv", encoding="utf-8", newline="") as file:
        rows = [
            (float(row["valid_exact_match"]), -float(row["valid_loss"]))
            for row in csv.DictReader(file)
        ]
    assert metrics["best_epoch"] == 1 + rows.index(max(rows))
    # The history is of the half that chooses; the metrics are of all.
    assert metrics["valid"]["exact_match"] == pytest.approx(max(rows)[0], abs=0.1)
    model = keras.saving.load_model(trained.path / "model.keras")
    assert metrics["parameters"] == model.count_params()
    assert metrics["test"]["exact_match"] > 0.8, "the tests need a run that has learnt something"


def test_what_is_printed(trained):
    lines = trained.output.splitlines()
    match = json.loads((trained.path / "metrics.json").read_text())["test"]["exact_match"]
    assert lines[-1] == f"exact match on test: {match:.4f} (n=100)"
    assert "500 training, 100 validation, 100 test pairs" in lines[0]
    samples = [line for line in lines if " → " in line]
    assert len(samples) == 5 * 8
    assert [line.split(" → ")[0] for line in samples[:5]] == [
        line.split(" → ")[0] for line in samples[-5:]
    ]
    for line in samples:
        source, rest = line.strip().split(" → ")
        answer = rest.split(" (")[0]
        verdict = "(right)" if answer == source[::-1] else f"(wrong, expected {source[::-1]})"
        assert rest.endswith(verdict)


def test_evaluate_reproduces_the_metrics_from_strings(trained, reversal_folder):
    metrics = json.loads((trained.path / "metrics.json").read_text())
    for part in ("test", "valid"):
        done = call_verb("evaluate", trained.path, reversal_folder / f"{part}.tsv", "--json")
        assert done.status == 0, done.err
        again = json.loads(done.out)
        assert {name: again[name] for name in metrics[part]} == metrics[part]


def test_same_seed_same_weights_and_another_seed_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_tiny(tmp_path / name, seed=seed)
    assert equal(weights_of(tmp_path / "a"), weights_of(tmp_path / "b"))
    assert not equal(weights_of(tmp_path / "a"), weights_of(tmp_path / "c"))


def test_the_best_weights_are_kept_not_the_last(tmp_path, monkeypatch):
    scores = iter([0.1, 0.9, 0.4, 0.4])
    evaluate = training.evaluate
    seen = []

    def scripted(translator, pairs, *others):
        result = evaluate(translator, pairs, *others)
        probed = translator.translate(["a", "abc", "edcba"])  # the same with the same weights
        seen.append([np.array([t.log_probability for t in probed])])
        # After the four epochs the metrics are real.
        return result if (score := next(scores, None)) is None else _with(result, score)

    for module in (epoch_loop, training):
        monkeypatch.setattr(module, "evaluate", scripted)
    trained = train_tiny(tmp_path / "run", epochs=4)
    assert trained.metrics["best_epoch"] == 2
    assert not equal(seen[1], seen[3])
    assert equal(seen[4], seen[1]), "the metrics are those of the best weights"


def test_it_stops_when_nothing_gets_better(tmp_path, monkeypatch):
    scores = iter([0.1, 0.9] + 10 * [0.4])
    evaluate = training.evaluate
    monkeypatch.setattr(
        epoch_loop, "evaluate", lambda *given: _with(evaluate(*given), next(scores, 0.4))
    )
    trained = train_tiny(tmp_path / "run", epochs=9, patience=2)
    assert trained.metrics["epochs"] == 4
    assert trained.metrics["best_epoch"] == 2


def _with(result, score):
    return training.Evaluation(**(vars(result) | {"exact_match": score}))


def test_the_unknown_token_is_trained(tmp_path):
    rows = {}
    for rate in (0.0, 0.3):
        keras.utils.clear_session()
        run = tmp_path / str(rate)
        train_tiny(run, unknown_rate=rate)
        rows[rate] = weights_of(run)[0][UNKNOWN]
    keras.utils.set_random_seed(1)
    fresh = build_training_model(Config(**CHEAP), 9, 9).get_weights()[0]
    np.testing.assert_array_equal(rows[0.0], fresh[UNKNOWN])
    assert np.abs(rows[0.3] - fresh[UNKNOWN]).max() > 1e-3


@pytest.mark.parametrize("attention", ["none", "peeky"])
def test_models_without_attention_train_and_draw_nothing(tmp_path, reversal_folder, attention):
    run = tmp_path / "run"
    options = ("--attention", attention, "--epochs", "1", "--units", "8", "--no-bidirectional")
    done = call_train("--data", reversal_folder, "--out", run, *options)
    assert done.status == 0, done.err
    assert not (run / "attention.png").exists()
    assert (run / "metrics.json").exists()


def test_words_train(tmp_path):
    folder = write_splits(
        tmp_path / "data",
        Splits(
            *(
                [Pair(f"{a} und {b}", f"{b} and {a}") for a in "pqrs" for b in part]
                for part in ("xyz", "x", "y")
            )
        ),
    )
    done = call_train(
        *("--data", folder, "--out", tmp_path / "run", *SMALL[:4], *EAGER_LEARNER),
        *("--source-tokens", "word", "--target-tokens", "word", "--epochs", "30"),
        *("--batch-size", "4", "--patience", "30"),
    )
    assert done.status == 0, done.err
    vocabulary = json.loads((tmp_path / "run" / "vocabulary.json").read_text())
    assert vocabulary["source"]["tokens"] == ["p", "q", "r", "s", "und", "x", "y", "z"]
    done = call_verb("translate", tmp_path / "run", "  q   und z ", "p und unheard")
    assert done.out.splitlines()[0] == "z and q"
    assert len(done.out.splitlines()) == 2


def test_one_file_is_split_by_the_seed(tmp_path):
    splits = reversal_splits()
    write_pairs(tmp_path / "all.tsv", splits.train[:100])
    last_lines = []
    for seed in (1, 2):
        options = ("--seed", seed, "--epochs", "1", "--units", "8", "--no-bidirectional")
        done = call_train("--data", tmp_path / "all.tsv", "--out", tmp_path / str(seed), *options)
        assert done.status == 0, done.err
        assert "80 training, 10 validation, 10 test pairs" in done.out
        last_lines.append(done.out.splitlines()[-1])
    assert all(line.endswith("(n=10)") for line in last_lines)


@pytest.mark.parametrize("n", [1, 2])
def test_as_little_data_as_there_can_be(tmp_path, n):
    pairs = [Pair("a", "b"), Pair("a", "b")][:n]
    trained = train_tiny(tmp_path / "run", Splits(pairs, pairs, pairs), batch_size=1)
    assert trained.metrics["test"]["n"] == n


def test_all_targets_alike_are_learnt(tmp_path):
    splits = Splits(*([Pair(pair.source, "same") for pair in part] for part in TINY))
    trained = train_tiny(tmp_path / "run", splits, epochs=10, learning_rate=0.05, units=16)
    assert trained.metrics["test"]["exact_match"] == 1.0


def test_longest_output_is_a_quarter_more_than_was_seen(tmp_path):
    train_tiny(tmp_path / "run", epochs=1)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["longest_output"] == math.ceil(1.25 * max(len(p.target) for p in TINY.train))


def test_epochs_left_open_are_in_the_run_and_may_stay_open(tmp_path, monkeypatch):
    monkeypatch.setattr(config_module, "DEFAULT_STEPS", 8)
    data = write_splits(tmp_path / "data", TINY)
    flags = ("--units", 8, "--no-bidirectional", "--batch-size", 16)  # three batches
    start = ("--data", data, "--out", tmp_path / "run", *flags)
    assert call_train(*start).status == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["epochs"] == 3
    assert "is finished already" in call_train(*start, "--resume").out
    refused = call_train(*start, "--resume", "--epochs", "2")
    assert refused.status == 2
    assert (
        refused.err.startswith("error: --epochs: the run in ") and "started with 3" in refused.err
    )


def test_validation_computes_a_bounded_number_of_logits(monkeypatch):
    """Once 1,024 pairs at a time, whatever the vocabulary: gigabytes for ten thousand words."""
    source, target = Vocabulary("char", tuple("abcde")), Vocabulary("char", tuple("abcde"))
    pairs = encode_pairs(TINY.train, source, target)
    sizes = []

    def loss_step(source_ids, decoder_ids, target_ids):
        sizes.append(max(source_ids.size, target_ids.size) * len(target))
        return float((target_ids != 0).sum()) * 2.0, float((target_ids != 0).sum())

    whole = epoch_loop.mean_loss(loss_step, pairs, len(target))
    assert len(sizes) == 1
    monkeypatch.setattr(epoch_loop, "LOGITS_PER_BATCH", 500)
    sizes.clear()
    assert epoch_loop.mean_loss(loss_step, pairs, len(target)) == whole == 2.0
    assert len(sizes) > 1 and max(sizes) <= 500


# --- when it goes wrong


def test_a_loss_that_is_no_number_stops_with_a_reason(tmp_path, monkeypatch):
    make = epoch_loop.make_training_step

    def broken(*given):
        step, calls = make(*given), []

        def spoiled(*batch):
            calls.append(batch)
            total, tokens, norm = step(*batch)
            return (total * np.nan if len(calls) == 4 else total), tokens, norm

        return spoiled

    monkeypatch.setattr(epoch_loop, "make_training_step", broken)
    with pytest.raises(UserError, match=r"--learning-rate: .* no longer a number in epoch 2, step"):
        train_tiny(tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.json").exists()
    assert not (tmp_path / "run" / "model.keras").exists()


def test_a_training_that_diverges_stops_with_a_reason(tmp_path):
    with pytest.raises(UserError, match=r"--learning-rate: training diverges: epoch 1 .* 1e\+06"):
        train_tiny(tmp_path / "run", learning_rate=1e6, clipnorm=0.0)
    assert not (tmp_path / "run" / "metrics.json").exists()


def test_memory_that_does_not_suffice_is_told_in_one_line(tmp_path, monkeypatch):
    def too_large(*_):  # in earnest TensorFlow waits ten seconds for memory to become free
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")

    monkeypatch.setattr(training, "build_training_model", too_large)
    with pytest.raises(UserError, match="--units: .* does not fit into memory"):
        train_tiny(tmp_path / "run")


def test_a_very_long_source_makes_more_steps_not_larger_ones():
    """10,000 characters among short sources padded a batch to 20 GB of recurrent states."""
    train = [*TINY.train, Pair("abcde" * 2000, "edcba")]
    sides = (
        Vocabulary.from_texts(side, "char") for side in zip(*(p[:2] for p in train), strict=True)
    )
    pairs = encode_pairs(train, *sides)
    shapes = [
        batch.source_ids.shape
        for batch in training_batches(pairs, 41, unknown_rate=0, seed=0, epoch=0)
    ]
    assert sum(rows for rows, _ in shapes) == 41
    assert max(rows * columns for rows, columns in shapes) < 100_000
