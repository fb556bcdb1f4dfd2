"""Keras as its examples use it: built-in layers, `fit`, padded batches; started by others.

The book's recipe: embeddings of 16, LSTM of 256, dot attention, Adam at 1e-3, batches of 128.
`python -m benchmarks.plain_keras --data FOLDER --out FILE.keras` prints one line of JSON.
"""

import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

from keras_attention.batching.batches import encode_pairs, make_batch  # noqa: E402
from keras_attention.pairs.pair_files import read_pairs  # noqa: E402
from keras_attention.text.vocabulary import END, START, Vocabulary  # noqa: E402

MOST_EPOCHS = 12


def build(source_size: int, target_size: int) -> keras.Model:
    source_ids = keras.Input((None,), dtype="int32")
    decoder_ids = keras.Input((None,), dtype="int32")
    embedded = layers.Embedding(source_size, 16, mask_zero=True)(source_ids)
    outputs, *state = layers.LSTM(256, return_sequences=True, return_state=True)(embedded)
    embedded = layers.Embedding(target_size, 16, mask_zero=True)(decoder_ids)
    hidden = layers.LSTM(256, return_sequences=True)(embedded, initial_state=state)
    context = layers.Attention()([hidden, outputs])
    logits = layers.Dense(target_size)(layers.Concatenate()([context, hidden]))
    return keras.Model([source_ids, decoder_ids], logits)


def greedy(model, source_ids: np.ndarray, longest: int) -> np.ndarray:
    """The whole decoder again for each further token, as a model without a step of its own can."""
    decoder_ids = np.full((len(source_ids), 1), START, np.int32)
    for _ in range(longest):
        logits = model.predict([source_ids, decoder_ids], batch_size=1024, verbose=0)[:, -1]
        logits[:, [0, START]] = -np.inf
        decoder_ids = np.concatenate([decoder_ids, logits.argmax(-1)[:, None]], 1)
    return decoder_ids[:, 1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    keras.utils.set_random_seed(options.seed)
    start = time.perf_counter()
    training, test = (read_pairs(options.data / f"{name}.tsv") for name in ("train", "test"))
    source, target = (
        Vocabulary.from_texts((pair[side] for pair in training), "char") for side in range(2)
    )
    batch, expected = (
        make_batch(encode_pairs(part, source, target), np.arange(len(part)))
        for part in (training, test)
    )
    model = build(len(source), len(target))
    model.compile(
        keras.optimizers.Adam(1e-3, global_clipnorm=5.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0),
    )
    matches = []
    for _ in range(MOST_EPOCHS):
        model.fit([batch[0], batch[1]], batch[2], batch_size=128, verbose=0)
        outputs = greedy(model, expected[0], expected[2].shape[1])
        right = (outputs == expected[2]) | (np.cumsum(expected[2] == END, 1) > 0) & (
            expected[2] != END
        )
        matches.append(float(right.all(1).mean()))
        if matches[-1] >= 0.999:
            break
    model.save(options.out)
    print(
        json.dumps(
            {
                "exact_match": matches[-1],
                "epochs": len(matches),
                "training_seconds": time.perf_counter() - start,
                "history": matches,
            }
        )
    )


if __name__ == "__main__":
    main()
