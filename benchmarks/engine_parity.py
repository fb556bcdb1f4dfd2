"""How far NumPy is from Keras, over all kinds of models: `python -m benchmarks.engine_parity`.

Every kind of cell, direction, depth, attention, order of reading and initial state gets a model of
random weights; the same random sources, some of them empty, go through both, greedily and with a
beam. A row of the table holds the largest difference of a log-probability and of an attention
weight, how many answers are the same text, and how many of the others are near ties: answers whose
best two hypotheses are closer than the tolerance. About five minutes on two cores.
"""

import argparse
import itertools
import sys

import numpy as np

from benchmarks.result_files import add_out_option, write_results
from keras_attention._runtime.quiet import import_tensorflow_quietly

SIZES = 12, 11  # ids of source and target
SOURCES, LONGEST_SOURCE, LONGEST_OUTPUT = 200, 24, 10
BEAM_WIDTH = 5
TOLERANCE = 1e-5


def kinds():
    """Options of every kind of model that there is, with one and with two layers."""
    for encoder, bidirectional, layers, attention, reverse, initial in itertools.product(
        ("lstm", "gru"),
        (True, False),
        (1, 2),
        ("none", "peeky", "dot", "scaled_dot", "general", "additive"),
        (False, True),
        ("full", "hidden"),
    ):
        for attentional in (False, True)[: 1 if attention in ("none", "peeky") else 2]:
            yield {
                "encoder": encoder,
                "bidirectional": bidirectional,
                "layers": layers,
                "attention": attention,
                "reverse_source": reverse,
                "initial_state": initial,
                "attentional_layer": attentional,
            }


def sources(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random ids, right-padded, and their lengths, the longest first."""
    rng = np.random.default_rng(seed)
    lengths = np.sort(rng.integers(0, LONGEST_SOURCE + 1, SOURCES))[::-1]
    ids = rng.integers(3, SIZES[0], (SOURCES, LONGEST_SOURCE)).astype(np.int32)
    ids[np.arange(LONGEST_SOURCE) >= lengths[:, None]] = 0
    return ids[:, : lengths[0]], lengths


def row_of(options: dict, seed: int) -> dict:
    """One kind of model, compared."""
    import keras

    from keras_attention.config import Config
    from keras_attention.engine import search, weights
    from keras_attention.engine.architecture import Architecture
    from keras_attention.engine.decoder import Model
    from keras_attention.models.inference import InferenceModel
    from keras_attention.models.training_model import build_training_model

    keras.utils.clear_session()
    config = Config(units=32, embedding_size=16, **options)
    model = build_training_model(config, *SIZES)
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(scale=0.4, size=w.shape) for w in model.get_weights()])
    theirs = InferenceModel.from_training_model(model, config, LONGEST_OUTPUT)
    ours = Model(Architecture.of(config, LONGEST_OUTPUT), weights.of_keras_model(model), *SIZES)
    ids, lengths = sources(seed)
    greedy = [part.numpy()[:, None] for part in theirs.greedy(ids)]
    beam = [part.numpy() for part in theirs.beam(ids, BEAM_WIDTH)]
    pairs = [
        (search.greedy(ours, ids, lengths), greedy),
        (search.beam(ours, ids, lengths, BEAM_WIDTH), beam),
    ]
    row = {**options, "n": 0, "same_text": 0, "near_ties": 0}
    row |= {"log_probability_difference": 0.0, "attention_difference": 0.0}
    for mine, (tokens, _, scores, attention) in pairs:
        steps = mine.token_ids.shape[-1]
        same = (mine.token_ids == tokens[..., :steps]).all(axis=-1) & ~tokens[..., steps:].any(-1)
        row["n"] += same.size
        row["same_text"] += int(same.sum())
        # Beside another hypothesis that is as good, or nearly: which comes first is rounding.
        gaps = np.abs(mine.log_probability[..., None] - mine.log_probability[:, None])
        tied = ((gaps < TOLERANCE).sum(axis=-1) > 1) & ~same
        row["near_ties"] += int(tied.sum())
        difference = np.abs(mine.log_probability - scores)[same].max()
        key = "log_probability_difference"
        row[key] = max(row[key], float(difference))
        if mine.attention_weights is not None:
            difference = np.abs(mine.attention_weights - attention[..., :steps, :])[same].max()
            row["attention_difference"] = max(row["attention_difference"], float(difference))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_out_option(parser, "engine_parity")
    parser.add_argument("--seed", type=int, default=0, help="of weights and sources")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth kind")
    options = parser.parse_args()
    import_tensorflow_quietly()
    rows = []
    for i, kind in enumerate(list(kinds())[:: options.every]):
        rows.append(row_of(kind, options.seed + i))
        write_results(options.out, rows)  # what is there if the rest takes too long
    print("| attention | kinds | same text | near ties | log-probability | attention |")
    print("|---|---|---|---|---|---|")
    for attention in dict.fromkeys(row["attention"] for row in rows):
        part = [row for row in rows if row["attention"] == attention]
        n, same, ties = (sum(row[key] for row in part) for key in ("n", "same_text", "near_ties"))
        score = max(row["log_probability_difference"] for row in part)
        looked = max(row["attention_difference"] for row in part)
        print(f"| {attention} | {len(part)} | {same}/{n} | {ties} | {score:.1e} | {looked:.1e} |")


if __name__ == "__main__":
    sys.exit(main())
