"""The PyTorch side of the comparisons: an idiomatic sequence-to-sequence model with attention.

Not a benchmark of its own: the others start it, in a Python that has PyTorch
(`--torch-python`), as `python -m benchmarks.torch_seq2seq train|decode ...`. It prints one line of
JSON. "book" is the recipe of "Deep Learning from Scratch 2", chapter 8; "ours" is the default of
`train.py`. Reading files and cutting batches by length is done by this package, which needs no
TensorFlow for that, so that only the training itself is compared.
"""

import argparse
import dataclasses
import json
import pathlib
import time

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from keras_attention.batching.batches import encode_pairs, make_batch, training_batches
from keras_attention.config import Config
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.text.vocabulary import END, START, Vocabulary

LONGEST_OUTPUT = 13


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What differs between the two."""

    embedding_size: int
    units: int
    bidirectional: bool
    packed: bool
    full_state: bool
    embedding_std: float
    dropout: float
    decoder_input_dropout: float
    batch_size: int
    learning_rate: float
    cosine: bool
    most_epochs: int | None  # None: as many as train.py takes by default


_OURS = Config()
RECIPES = {
    "book": Recipe(16, 256, False, False, False, 1.0, 0.0, 0.0, 128, 1e-3, False, 12),
    "ours": Recipe(
        _OURS.embedding_size,
        _OURS.units,
        _OURS.bidirectional,
        True,
        True,
        1.0,
        _OURS.dropout,
        _OURS.decoder_input_dropout,
        _OURS.batch_size,
        _OURS.learning_rate,
        True,
        None,
    ),
}


class Seq2Seq(nn.Module):
    """Encoder, decoder and dot attention; the decoder has no input feeding."""

    def __init__(self, recipe: Recipe, source_size: int, target_size: int):
        super().__init__()
        self.recipe = recipe
        size, units = recipe.embedding_size, recipe.units
        self.source_embedding = nn.Embedding(source_size, size)
        self.target_embedding = nn.Embedding(target_size, size)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=recipe.embedding_std)
        directions = 2 if recipe.bidirectional else 1
        self.encoder = nn.LSTM(
            size, units // directions, batch_first=True, bidirectional=recipe.bidirectional
        )
        self.decoder = nn.LSTM(size, units, batch_first=True)
        self.affine = nn.Linear(2 * units, target_size)
        self.source_dropout = nn.Dropout(recipe.dropout)
        self.decoder_input_dropout = nn.Dropout(recipe.decoder_input_dropout)
        self.read_out_dropout = nn.Dropout(recipe.dropout)

    def encode(self, source_ids):
        embedded = self.source_dropout(self.source_embedding(source_ids))
        if self.recipe.packed:
            lengths = (source_ids != 0).sum(1)
            packed = pack_padded_sequence(embedded, lengths, True, enforce_sorted=False)
            outputs, (h, c) = self.encoder(packed)
            outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        else:
            outputs, (h, c) = self.encoder(embedded)
        h, c = (torch.cat(list(part), -1)[None] for part in (h, c))  # the two directions
        return outputs, (h, c if self.recipe.full_state else torch.zeros_like(c))

    def decode(self, ids, outputs, mask, state):
        embedded = self.decoder_input_dropout(self.target_embedding(ids))
        hidden, state = self.decoder(embedded, state)
        scores = hidden @ outputs.transpose(1, 2)
        weights = scores.masked_fill(~mask[:, None], -1e9).softmax(-1)
        features = torch.cat([weights @ outputs, hidden], -1)
        return self.affine(self.read_out_dropout(features)), state

    def mask(self, source_ids):
        # The book's spaces behind a short source are characters like others.
        return source_ids != 0 if self.recipe.packed else torch.ones_like(source_ids, dtype=bool)

    def forward(self, source_ids, decoder_ids):
        outputs, state = self.encode(source_ids)
        return self.decode(decoder_ids, outputs, self.mask(source_ids), state)[0]

    @torch.inference_mode()
    def greedy(self, source_ids):
        outputs, state = self.encode(source_ids)
        mask = self.mask(source_ids)
        token = torch.full((len(source_ids), 1), START)
        finished = torch.zeros(len(source_ids), dtype=bool)
        tokens = []
        for _ in range(LONGEST_OUTPUT):
            logits, state = self.decode(token, outputs, mask, state)
            logits[..., [0, START, 3]] = -1e9
            token = logits.argmax(-1)
            finished |= token[:, 0] == END
            if finished.all():
                break
            tokens.append(torch.where(finished, 0, token[:, 0]))
        return torch.stack(tokens, 1).numpy()


def tensors(batch):
    return [torch.from_numpy(part).long() for part in batch]


def epoch_batches(recipe, pairs, epoch):
    """Batches by length with little padding, or of random rows padded to the longest of all."""
    if recipe.packed:
        yield from map(tensors, training_batches(pairs, recipe.batch_size, 0.001, 1, epoch))
        return
    everything = tensors(make_batch(pairs, np.arange(len(pairs.source))))
    for rows in torch.randperm(len(everything[0])).split(recipe.batch_size):
        batch = [part[rows] for part in everything]
        yield [batch[0].flip(1), *batch[1:]]  # the book's encoder reads backwards


def translate(model, recipe, source_ids, target: Vocabulary, batch_size=256) -> list[str]:
    """Texts of the rows of `RaggedIds`, batched by length."""
    model.eval()
    texts = [""] * len(source_ids)
    order = np.argsort(source_ids.lengths, kind="stable")
    width = None if recipe.packed else int(source_ids.lengths.max())
    for first in range(0, len(order), batch_size):
        rows = order[first : first + batch_size]
        ids = torch.from_numpy(source_ids.padded(rows, width)).long()
        output = model.greedy(ids if recipe.packed else ids.flip(1))
        for row, line in zip(rows, output, strict=True):
            texts[row] = target.join(target.tokens_of(line[line > 0]))
    return texts


def train(options) -> dict:
    """Trains to the recipe's end, without a schedule only to 99.9 % on test; saves the weights.

    The test sentences decoded a second are part of what is reported.
    """
    torch.manual_seed(options.seed)
    recipe = RECIPES[options.recipe]
    if options.recipe == "ours":  # as train.py has these two options
        chosen = {"most_epochs": options.epochs, "batch_size": options.batch_size}
        recipe = dataclasses.replace(recipe, **{k: v for k, v in chosen.items() if v})
    start = time.perf_counter()
    training, test = (read_pairs(options.data / f"{name}.tsv") for name in ("train", "test"))
    source, target = (
        Vocabulary.from_texts((pair[side] for pair in training), "char") for side in range(2)
    )
    pairs, test_pairs = (encode_pairs(part, source, target) for part in (training, test))
    model = Seq2Seq(recipe, len(source), len(target))
    optimizer = torch.optim.Adam(model.parameters(), recipe.learning_rate)
    batches = -(-len(training) // recipe.batch_size)
    epochs = recipe.most_epochs or _OURS.epochs_for(batches)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    matches, rates = [], []
    for epoch in range(epochs):
        model.train()
        for source_ids, decoder_ids, target_ids in epoch_batches(recipe, pairs, epoch):
            optimizer.zero_grad()
            logits = model(source_ids, decoder_ids)
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1), target_ids.flatten(), ignore_index=0
            )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            if recipe.cosine:
                schedule.step()
        decoding = time.perf_counter()
        outputs = translate(model, recipe, test_pairs.source, target)
        rates.append(len(outputs) / (time.perf_counter() - decoding))
        matches.append(np.mean([a == b.target for a, b in zip(outputs, test, strict=True)]))
        if matches[-1] >= 0.999 and not recipe.cosine:  # a schedule goes to its end, as ours does
            break
    torch.save(model.state_dict(), options.out)
    return {
        "exact_match": matches[-1],
        "epochs": len(matches),
        "training_seconds": time.perf_counter() - start,
        "sentences_per_second": float(np.median(rates)),
        "history": matches,
    }


def load_keras_weights(model: Seq2Seq, arrays) -> None:
    """Sets the weights of a run of ours, so that both decode the same model."""

    def lstm(module, suffix, name):
        for part, torch_name in (("kernel", "weight_ih"), ("recurrent_kernel", "weight_hh")):
            getattr(module, f"{torch_name}_l0{suffix}").copy_(
                torch.from_numpy(arrays[f"{name}/{part}"].T)
            )
        getattr(module, f"bias_ih_l0{suffix}").copy_(torch.from_numpy(arrays[f"{name}/bias"]))
        getattr(module, f"bias_hh_l0{suffix}").zero_()

    with torch.no_grad():
        model.source_embedding.weight.copy_(torch.from_numpy(arrays["source_embedding"]))
        model.target_embedding.weight.copy_(torch.from_numpy(arrays["target_embedding"]))
        lstm(model.encoder, "", "forward")
        lstm(model.encoder, "_reverse", "backward")
        lstm(model.decoder, "", "decoder")
        model.affine.weight.copy_(torch.from_numpy(arrays["affine/kernel"].T))
        model.affine.bias.copy_(torch.from_numpy(arrays["affine/bias"]))


def decode(options) -> dict:
    """Sentences a second with the weights in a file; the outputs go to another."""
    arrays = np.load(options.weights)
    sizes = (len(arrays[f"{side}_embedding"]) for side in ("source", "target"))
    model = Seq2Seq(RECIPES["ours"], *sizes)
    load_keras_weights(model, arrays)
    source, target = (Vocabulary("char", tuple(str(arrays[n]))) for n in ("source", "target"))
    texts = options.data.read_text(encoding="utf-8").splitlines()
    seconds = []
    for _ in range(options.rounds + 1):
        start = time.perf_counter()
        outputs = translate(model, RECIPES["ours"], source.encode(texts), target, options.rows)
        seconds.append(time.perf_counter() - start)
    options.out.write_text("\n".join(outputs) + "\n", encoding="utf-8")
    return {"seconds": seconds[1:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("train", "decode"))
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--recipe", choices=RECIPES, default="ours")
    parser.add_argument("--epochs", type=int, help="of our recipe")
    parser.add_argument("--batch-size", type=int, help="of our recipe")
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps({"train": train, "decode": decode}[options.what](options)))


if __name__ == "__main__":
    main()
