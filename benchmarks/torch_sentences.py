"""The PyTorch side of `benchmarks.sentences_speed`: the recipe's model, as one writes it there.

Started by that benchmark as `python -m benchmarks.torch_sentences FOLDER`. It reads one JSON
request a line from standard input and answers each with one: {"do": "train"} goes once over the
batches in FOLDER/batches.npz, {"do": "decode", "beam_width": K} decodes FOLDER/sources.npz with the
weights in FOLDER/weights.npz. Wall and CPU seconds are of that alone.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from keras_attention.text.vocabulary import END, START, UNKNOWN

NEVER = -1e9
CLIPNORM = 1.0


class Translator(nn.Module):
    """A bidirectional encoder, general attention, an attentional layer; no input feeding."""

    def __init__(self, sizes: tuple[int, int], embedding_size: int, units: int, dropouts):
        super().__init__()
        source_size, target_size = sizes
        self.source_embedding = nn.Embedding(source_size, embedding_size)
        self.target_embedding = nn.Embedding(target_size, embedding_size)
        self.encoder = nn.LSTM(embedding_size, units // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(embedding_size, units, batch_first=True)
        self.score = nn.Linear(units, units, bias=False)
        self.attentional_layer = nn.Linear(2 * units, units, bias=False)
        self.affine = nn.Linear(units, target_size)
        self.dropout, self.decoder_input_dropout = (nn.Dropout(rate) for rate in dropouts)

    def encode(self, source_ids):
        embedded = self.dropout(self.source_embedding(source_ids))
        lengths = (source_ids != 0).sum(1)
        packed = pack_padded_sequence(embedded, lengths, True, enforce_sorted=False)
        outputs, state = self.encoder(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        return outputs, tuple(torch.cat(list(part), -1)[None] for part in state)

    def decode(self, ids, outputs, mask, state):
        embedded = self.decoder_input_dropout(self.target_embedding(ids))
        hidden, state = self.decoder(embedded, state)
        scores = self.score(hidden) @ outputs.transpose(1, 2)
        weights = scores.masked_fill(~mask[:, None], NEVER).softmax(-1)
        features = torch.cat([weights @ outputs, hidden], -1)
        features = torch.tanh(self.attentional_layer(features))
        return self.affine(self.dropout(features)), state

    def forward(self, source_ids, decoder_ids):
        outputs, state = self.encode(source_ids)
        return self.decode(decoder_ids, outputs, source_ids != 0, state)[0]

    @torch.inference_mode()
    def search(self, source_ids, width: int, longest: int, penalty: float):
        """Ids of the best hypothesis of each row: greedily, or by a beam of that width."""
        outputs, state = self.encode(source_ids)
        rows = len(source_ids)
        outputs = outputs.repeat_interleave(width, 0)
        mask = (source_ids != 0).repeat_interleave(width, 0)
        state = tuple(part.repeat_interleave(width, 1) for part in state)
        scores = torch.full((rows, width), NEVER)
        scores[:, 0] = 0.0
        tokens = torch.full((rows * width, 1), START)
        finished = torch.zeros(rows * width, dtype=torch.bool)
        lengths = torch.zeros(rows, width)
        first = torch.arange(rows)[:, None] * width
        for _ in range(longest + 1):
            logits, state = self.decode(tokens[:, -1:], outputs, mask, state)
            logits = logits[:, 0]
            logits[:, [0, START, UNKNOWN]] = NEVER
            log_p = logits.log_softmax(-1)
            log_p[finished] = NEVER
            log_p[finished, END] = 0.0  # a finished one stays as it is
            size = log_p.shape[-1]
            total = scores[..., None] + log_p.view(rows, width, size)
            longer = lengths + (~finished).view(rows, width)
            ranked = total / longer[..., None].clamp(min=1) ** penalty if penalty else total
            best = ranked.view(rows, -1).topk(width).indices
            parent = best // size
            scores = total.view(rows, -1).gather(1, best)
            lengths = longer.gather(1, parent)
            chosen = (first + parent).flatten()
            token = (best % size).flatten()
            finished = finished[chosen] | (token == END)
            tokens = torch.cat([tokens[chosen], token[:, None]], 1)
            state = tuple(part[:, chosen] for part in state)
            if finished.all():
                break
        final = scores / lengths.clamp(min=1) ** penalty
        best = tokens.view(rows, width, -1)[torch.arange(rows), final.argmax(1), 1:]
        return best.numpy()


class Contestant:
    """What answers the requests."""

    def __init__(self, folder: pathlib.Path):
        self.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.folder = folder
        torch.manual_seed(1)
        self.model = Translator(
            self.about["sizes"],
            self.about["embedding_size"],
            self.about["units"],
            self.about["dropouts"],
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), self.about["learning_rate"])
        arrays = np.load(folder / "batches.npz")
        count = len(arrays.files) // 3
        self.batches = [
            [torch.from_numpy(arrays[f"{index}/{part}"]).long() for part in range(3)]
            for index in range(count)
        ]

    def train(self, request) -> dict:
        self.model.train()
        smoothing = self.about["label_smoothing"]
        for source_ids, decoder_ids, target_ids in self.batches:
            self.optimizer.zero_grad()
            logits = self.model(source_ids, decoder_ids)
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1),
                target_ids.flatten(),
                ignore_index=0,
                label_smoothing=smoothing,
            )
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIPNORM)
            self.optimizer.step()
        return {"loss": float(loss)}

    def decode(self, request) -> dict:
        self.model.eval()
        arrays = np.load(self.folder / "sources.npz")
        found = []
        for name in arrays.files:
            ids = torch.from_numpy(arrays[name]).long()
            how = request["beam_width"], self.about["longest"], self.about["penalty"]
            for row in self.model.search(ids, *how).tolist():
                found.append(row[: row.index(END)] if END in row else row)
        return {"ids": found}

    def load(self, request) -> dict:
        """The weights of a run of ours."""
        arrays = np.load(self.folder / "weights.npz")
        model = self.model

        def lstm(module, suffix, name):
            for part, theirs in (("kernel", "weight_ih"), ("recurrent_kernel", "weight_hh")):
                value = torch.from_numpy(arrays[f"{name}/{part}"].T)
                getattr(module, f"{theirs}_l0{suffix}").copy_(value)
            getattr(module, f"bias_ih_l0{suffix}").copy_(torch.from_numpy(arrays[f"{name}/bias"]))
            getattr(module, f"bias_hh_l0{suffix}").zero_()

        with torch.no_grad():
            for side in ("source", "target"):
                embedding = getattr(model, f"{side}_embedding")
                embedding.weight.copy_(torch.from_numpy(arrays[f"{side}_embedding"]))
            lstm(model.encoder, "", "forward")
            lstm(model.encoder, "_reverse", "backward")
            lstm(model.decoder, "", "decoder")
            for name in ("score", "attentional_layer", "affine"):
                getattr(model, name).weight.copy_(torch.from_numpy(arrays[name].T))
            model.affine.bias.copy_(torch.from_numpy(arrays["affine/bias"]))
        return {}


def main() -> None:
    contestant = Contestant(pathlib.Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        answer = getattr(contestant, request["do"])(request)
        answer["seconds"] = time.perf_counter() - wall
        answer["cpu_seconds"] = time.process_time() - cpu
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
