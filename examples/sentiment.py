"""A sentiment classifier with the same attention layer, and the question whether it explains.

    python -m examples.sentiment [--data FILE] [--score additive|scaled_dot] [--out DIR]

FILE holds `label<TAB>text` lines, words separated by spaces; the default is the small file of this
repository (about a minute on two CPU cores, all of it audited). A `.csv` with the columns text,
label, exp_split is read as well: the layout of the Stanford Sentiment Treebank file that "Attention
is not Explanation" (Jain and Wallace 2019) used. The model is that paper's: an encoder, attention
with a learned query, an affine layer. The report shows its figure, too: two very different
attention distributions over one review, and the same prediction.
"""

import csv
import pathlib
import sys

from keras_attention.commands import Parser, exit_with_user_errors, import_tensorflow_quietly
from keras_attention.errors import UserError
from keras_attention.pairs.pair import Pair
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.pairs.splits import Splits, split_pairs

HERE = pathlib.Path(__file__).parent
BATCH_SIZE = 32
CLASSES = {"0": "negative", "1": "positive"}  # of the paper's file
LEAST_WORDS = 6  # as in the paper, which drops texts of up to five


def main(arguments: list[str]) -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--data", default=str(HERE.parent / "data/sentiment/reviews.tsv"))
    parser.add_argument("--score", default="additive", choices=("additive", "scaled_dot"))
    parser.add_argument("--encoder", default="lstm", choices=("lstm", "average"))
    parser.add_argument("--out", default="explanations/sentiment", metavar="DIR")
    parser.add_argument("--epochs", type=int, default=8, metavar="N")
    parser.add_argument("--units", type=int, default=128, metavar="N", help="both directions")
    parser.add_argument("--examples", type=int, default=0, metavar="N", help="0, the default: all")
    parser.add_argument("--train-baselines", action="store_true")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args(arguments)
    splits = read_reviews(options.data, options.seed)

    import_tensorflow_quietly()
    import tensorflow as tf

    from keras_attention.explanation.audit import audit_classifier, choose
    from keras_attention.explanation.measures.attribution_model import ClassifierAttributionModel
    from keras_attention.explanation.pages.write import write_report
    from keras_attention.text.vocabulary import Vocabulary

    tf.config.experimental.enable_op_determinism()
    vocabulary = Vocabulary.from_texts(_frequent(splits.train), "word")
    names = sorted({pair.target for pair in splits.train})
    train = Trainer(vocabulary, names, splits, options)
    model, history = train(options.seed)
    tested = choose(splits.test, options.examples or len(splits.test), options.seed)
    report = audit_classifier(
        ClassifierAttributionModel(model),
        [pair.source for pair in tested],
        [names.index(pair.target) for pair in tested],
        vocabulary,
        names,
        options.seed,
        f"{options.encoder} encoder, {options.score} attention",
        progress=lambda part, done, total: print(f"{part}: done") if done == total else None,
        train_others=train.others if options.train_baselines else None,
    )
    write_report(report, options.out)
    print(f"accuracy on validation, epoch by epoch: {' '.join(f'{a:.3f}' for a in history)}")
    print(f"accuracy on test: {report.interventions.exact_match.value:.4f} (n={len(tested)})")
    for name in ("gradient", "leave_one_out"):
        print(f"Kendall τ with {name}: {report.agreement.kendall_tau[name].value:.3f}")
    print(f"median change under permutation: {report.interventions.permutation_median.value:.3f}")
    print(f"mean of the largest JSD: {report.adversarial.max_jsd.value:.3f}")
    print(f"{report.verdict.overall}: {report.verdict.reason}")
    print(pathlib.Path(options.out) / "report.html")


def read_reviews(path: str, seed: int) -> Splits:
    """Pairs of text and label in three parts."""
    if path.endswith(".csv"):
        parts: dict[str, list[Pair]] = {"train": [], "dev": [], "test": []}
        try:
            with open(path, encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    if len(row["text"].split()) >= LEAST_WORDS:
                        label = CLASSES.get(row["label"], row["label"])
                        parts[row["exp_split"]].append(Pair(row["text"], label))
        except (OSError, KeyError) as error:
            raise UserError(
                f"{path}: cannot be read as a table of text, label, exp_split: {error}"
            ) from None
        return Splits(parts["train"], parts["dev"], parts["test"])
    pairs = read_pairs(path, "word", "word")
    return split_pairs([Pair(text, label) for label, text, *_ in pairs], seed, where=path)


def _frequent(pairs: list[Pair]) -> list[str]:
    """The words that occur twice or more: the others are what the unknown token is trained on."""
    counts: dict[str, int] = {}
    for pair in pairs:
        for word in pair.source.split():
            counts[word] = counts.get(word, 0) + 1
    return [word for word, count in counts.items() if count > 1]


class Trainer:
    """Trains classifiers that differ in seed or attention only."""

    def __init__(self, vocabulary, names: list[str], splits: Splits, options):
        self.vocabulary, self.names, self.splits = vocabulary, names, splits
        self.options = options

    def __call__(self, seed: int, uniform: bool = False):
        """The classifier after the last epoch, and the validation accuracy of each.

        Not the best epoch's: without pre-trained vectors that is the first one on a treebank, when
        attention is still uniform and there is nothing to ask about.
        """
        import keras
        import numpy as np

        keras.utils.set_random_seed(seed)
        model = build_classifier(
            len(self.vocabulary),
            len(self.names),
            self.options.units,
            "general" if uniform else self.options.score,
            self.options.encoder,
        )
        if uniform:  # scores of 0, always
            attention = model.get_layer("attention")
            attention.kernel.assign(np.zeros(attention.kernel.shape))
            attention.trainable = False
        model.compile(
            keras.optimizers.Adam(1e-3, amsgrad=True),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        history = model.fit(
            self.batches(seed),
            steps_per_epoch=-(-len(self.splits.train) // BATCH_SIZE),
            validation_data=self.arrays(self.splits.valid),
            epochs=self.options.epochs,
            shuffle=False,  # they are
            verbose=2,
        )
        return model, np.array(history.history["val_accuracy"])

    def batches(self, seed: int):
        """Shuffled batches for ever, each of texts of similar length: little padding."""
        import numpy as np

        rng = np.random.default_rng(seed)
        lengths = np.array([len(pair.source.split()) for pair in self.splits.train])
        while True:
            order = rng.permutation(len(lengths))
            order = order[np.argsort(lengths[order], kind="stable")]
            starts = rng.permutation(np.arange(0, len(order), BATCH_SIZE))
            for start in starts:
                rows = order[start : start + BATCH_SIZE]
                yield self.arrays([self.splits.train[row] for row in rows])

    def arrays(self, pairs: list[Pair]):
        """Ids of the texts, padded, and classes."""
        import numpy as np

        ids = self.vocabulary.encode([pair.source for pair in pairs])
        labels = np.array([self.names.index(pair.target) for pair in pairs])
        return ids.padded(np.arange(len(pairs))), labels

    def others(self, examples, attention):
        """Baselines: uniform attention, and two other seeds."""
        import numpy as np

        from keras_attention.explanation.measures.attribution_model import (
            ClassifierAttributionModel,
        )
        from keras_attention.explanation.measures.baselines import Baselines, between_seeds
        from keras_attention.explanation.measures.examples import answers_of
        from keras_attention.explanation.measures.interventions import attention_of

        seed = self.options.seed
        right, others = {}, []
        for name, other, uniform in (
            ("uniform_trained", seed, True),
            (f"seed_{seed + 1}", seed + 1, False),
            (f"seed_{seed + 2}", seed + 2, False),
        ):
            subject = ClassifierAttributionModel(self(other, uniform)[0])
            answers = answers_of(subject, examples.source, lambda done, total: None)
            right[name] = examples.right(np.asarray(answers))
            if not uniform:
                others.append(attention_of(subject, examples))
        return Baselines(right, between_seeds(attention, others))


def build_classifier(words: int, classes: int, units: int, score: str, encoder: str):
    """From `source_ids` int32 `(B, S)` to logits `(B, classes)`.

    `encoder` is "lstm", both directions with half the units each, or "average": every word by
    itself through an affine layer and tanh.
    """
    import keras
    from keras import layers, ops

    from keras_attention import Attention

    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    mask = ops.not_equal(source_ids, 0)  # (B, S)
    # As wide apart as pre-trained vectors: from Keras' 0.05 attention over an LSTM stays uniform.
    wide = keras.initializers.RandomNormal(stddev=1.0)
    embedding = layers.Embedding(words, units, embeddings_initializer=wide, name="source_embedding")
    embedded = embedding(source_ids)  # (B, S, E)
    states = layers.Dropout(0.5, name="dropout")(embedded)  # (B, S, E)
    if encoder == "lstm":
        one_way = layers.LSTM(units // 2, return_sequences=True, name="direction")
        states = layers.Bidirectional(one_way, name="encoder")(states, mask=mask)
    else:
        states = layers.Dense(units, activation="tanh", name="encoder")(states)
    states = ops.where(ops.expand_dims(mask, -1), states, 0.0)  # (B, S, U)
    context, _ = Attention(score=score, learned_query=True, name="attention")(states, mask=mask)
    return keras.Model(source_ids, layers.Dense(classes, name="affine")(context))


if __name__ == "__main__":
    exit_with_user_errors(main, sys.argv[1:])
