// A trained model, computed in this page from its weights file: the equations of
// `keras_attention/engine`, one source at a time, in double precision.
//
//   const model = new Model(readWeights(bytes));
//   const source = model.read("september 27, 1994");         // tokens and hidden states
//   const { logits, weights, state } = model.step(source, source.start, START, (own) => own());
import { joinPieces, pieceCutter } from "./subwords.js";

export const [PADDING, START, END, UNKNOWN] = [0, 1, 2, 3];
const RESERVED = 4;
const NEVER_SAID = -1e9;
const MASKED = -1e30;

// ---------------------------------------------------------------- the file

// A safetensors file: the length of a JSON header, the header, the numbers.
export function readWeights(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  const description = JSON.parse(header.__metadata__.description);
  const tensors = {};
  for (const [name, { dtype, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (dtype !== "F32") throw new Error(`${name} is ${dtype}, not F32`);
    const [first, last] = data_offsets.map((offset) => 8 + size + offset);
    tensors[name] = new Float32Array(bytes.slice(first, last).buffer);
  }
  return { description, tensors };
}

// ---------------------------------------------------------------- arithmetic

// out += x W, W being (x.length, out.length) row after row; of W only the rows from `first` on.
function addProduct(out, x, W, first = 0) {
  const columns = out.length;
  for (let i = 0; i < x.length; i++) {
    const factor = x[i];
    const row = (first + i) * columns;
    for (let j = 0; j < columns; j++) out[j] += factor * W[row + j];
  }
  return out;
}

const product = (x, W, columns, first = 0) => addProduct(new Float64Array(columns), x, W, first);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export function logSoftmax(logits) {
  const most = Math.max(...logits);
  const log = Math.log(sumOf(logits.map((z) => Math.exp(z - most))));
  return logits.map((z) => z - most - log);
}

// ---------------------------------------------------------------- weights from scores

function softmax(scores) {
  const most = Math.max(...scores);
  const raised = scores.map((z) => Math.exp(z - most));
  const sum = sumOf(raised);
  return raised.map((e) => e / sum);
}

// Of the thresholds of the k largest alone, the largest that lies below the k-th score.
function threshold(ordered, thresholdOf) {
  let [sum, squares, found] = [0, 0, -Infinity];
  ordered.forEach((z, i) => {
    [sum, squares] = [sum + z, squares + z * z];
    const t = thresholdOf(sum, squares, i + 1);
    if (t < z) found = Math.max(found, t);
  });
  return found;
}

const belowLargest = (scores) => {
  const most = Math.max(...scores);
  return scores.map((z) => Math.max(z - most, -2));
};

// Martins and Astudillo 2016
function sparsemax(scores) {
  const z = belowLargest(scores);
  const t = threshold([...z].sort((a, b) => b - a), (sum, _, k) => (sum - 1) / k);
  return z.map((value) => Math.max(value - t, 0));
}

// Peters et al. 2019
function entmax15(scores) {
  const z = belowLargest(scores.map((value) => value / 2));
  const t = threshold([...z].sort((a, b) => b - a), (sum, squares, k) => {
    const mean = sum / k;
    return mean - Math.sqrt(Math.max(1 / k - (squares / k - mean * mean), 0));
  });
  return z.map((value) => Math.max(value - t, 0) ** 2);
}

const NORMALIZERS = { softmax, sparsemax, entmax15 };

// ---------------------------------------------------------------- cells

// One step of a cell: what the inputs give to the gates, and the states [h] or [h, c].
const CELLS = {
  lstm: {
    gates: 4,
    gateInputs: (cell, x, first) => addProduct(Float64Array.from(cell.bias), x, cell.kernel, first),
    step(cell, gates, [h, c]) {
      const u = h.length;
      addProduct(gates, h, cell.recurrent);
      const next = [new Float64Array(u), new Float64Array(u)];
      for (let j = 0; j < u; j++) {
        const [i, f, g, o] = [gates[j], gates[u + j], gates[2 * u + j], gates[3 * u + j]];
        next[1][j] = sigmoid(f) * c[j] + sigmoid(i) * Math.tanh(g);
        next[0][j] = sigmoid(o) * Math.tanh(next[1][j]);
      }
      return next;
    },
  },
  gru: {
    gates: 3,
    gateInputs(cell, x, first) {
      const bias = Float64Array.from(cell.bias.subarray(0, cell.bias.length / 2));
      return addProduct(bias, x, cell.kernel, first);
    },
    step(cell, gates, [h]) {
      const u = h.length;
      const fromState = Float64Array.from(cell.bias.subarray(cell.bias.length / 2));
      addProduct(fromState, h, cell.recurrent);
      const next = new Float64Array(u);
      for (let j = 0; j < u; j++) {
        const z = sigmoid(gates[j] + fromState[j]);
        const r = sigmoid(gates[u + j] + fromState[u + j]);
        const g = Math.tanh(gates[2 * u + j] + r * fromState[2 * u + j]);
        next[j] = z * h[j] + (1 - z) * g;
      }
      return [next];
    },
  },
};

// ---------------------------------------------------------------- texts

class Side {
  constructor({ kind, tokens, normal_form }) {
    Object.assign(this, { kind, tokens, form: normal_form, size: tokens.length + RESERVED });
    this.idOf = new Map(tokens.map((token, i) => [token, i + RESERVED]));
    if (kind === "subword") this.cut = pieceCutter(tokens);
  }

  split(given) {
    const whole = given.replace(/\p{Surrogate}/gu, "\ufffd");
    const text = this.form === "none" ? whole : whole.normalize(this.form);
    if (this.cut) return this.cut(text);
    return this.kind === "word" ? (text.match(/[^ \t\n\r\f\v]+/g) ?? []) : Array.from(text);
  }

  ids(tokens) {
    return tokens.map((token) => this.idOf.get(token) ?? UNKNOWN);
  }

  token(id) {
    return this.tokens[id - RESERVED];
  }

  join(tokens) {
    if (this.kind === "subword") return joinPieces(tokens);
    return tokens.join(this.kind === "word" ? " " : "");
  }
}

// ---------------------------------------------------------------- the model

export class Model {
  constructor({ description, tensors }) {
    const [about] = description.models;
    Object.assign(this, { about, units: about.units, longestOutput: about.longest_output });
    this.calibration = description.calibration;
    this.lengthPenalty = description.length_penalty;
    this.source = new Side(description.source);
    this.target = new Side(description.target);
    this.tensors = Object.fromEntries(
      Object.entries(tensors).map(([name, values]) => [name.replace(/^0\//, ""), values]),
    );
    this.kind = CELLS[about.encoder];
    this.normalise = NORMALIZERS[about.attention_normalizer ?? "softmax"];
  }

  cell(name) {
    const { tensors } = this;
    const [kernel, recurrent, bias] = ["kernel", "recurrent_kernel", "bias"].map(
      (part) => tensors[`${name}/${part}`],
    );
    return { kernel, recurrent, bias };
  }

  embedding(side, id) {
    const width = this.about.embedding_size;
    return this.tensors[`${side}_embedding`].subarray(id * width, (id + 1) * width);
  }

  // The source's tokens, what its hidden states give to scores and read-out (S vectors each), and
  // the decoder's first state.
  // At `erased` positions the encoder reads the unknown token.
  read(text, erased = []) {
    const tokens = this.source.split(text);
    const ids = this.source.ids(tokens);
    for (const position of erased) ids[position] = UNKNOWN;
    let below = ids.map((id) => this.embedding("source", id));
    const start = [];
    for (let layer = 1; layer <= this.about.layers; layer++) {
      const { outputs, state } = this.readLayer(`encoder_${layer}`, below);
      if (this.about.initial_state === "hidden" && state.length === 2) state[1].fill(0);
      start.push(state);
      below = outputs;
    }
    return { tokens, ids, keys: this.keysOf(below), values: this.valuesOf(below), start };
  }

  readLayer(name, below) {
    const directions = this.about.bidirectional ? ["forward", "backward"] : ["forward"];
    const u = this.units / directions.length;
    const outputs = below.map(() => new Float64Array(this.units));
    const parts = directions.map((direction, d) => {
      const cell = this.cell(`${name}/${direction}`);
      // Of a reversed source the first direction begins at the end.
      const backwards = this.about.reverse_source !== (d === 1);
      let state = Array.from({ length: this.kind.gates === 4 ? 2 : 1 }, () => new Float64Array(u));
      for (let step = 0; step < below.length; step++) {
        const place = backwards ? below.length - 1 - step : step;
        state = this.kind.step(cell, this.kind.gateInputs(cell, below[place]), state);
        outputs[place].set(state[0], d * u);
      }
      return state;
    });
    const state = parts[0].map((_, part) =>
      Float64Array.from(parts.flatMap((states) => Array.from(states[part]))),
    );
    return { outputs, state };
  }

  keysOf(outputs) {
    if (this.about.attention !== "additive") return outputs;
    const kernel = this.tensors["attention/key_kernel"];
    return outputs.map((output) => product(output, kernel, this.units));
  }

  // The first layer behind the context is linear: the sum of its products is that of the sum.
  valuesOf(outputs) {
    const layer = this.tensors["attentional_layer/kernel"];
    const kernel = layer ?? this.tensors["affine/kernel"];
    return outputs.map((output) => product(output, kernel, layer ? this.units : this.target.size));
  }

  // Equation 1: a score for every source position.
  scores(query, keys) {
    const { tensors, units } = this;
    switch (this.about.attention) {
      case "dot":
        return keys.map((key) => dot(query, key));
      case "scaled_dot":
        return keys.map((key) => dot(query, key) / Math.sqrt(units));
      case "general": {
        const turned = product(query, tensors["attention/kernel"], units);
        return keys.map((key) => dot(turned, key));
      }
      case "additive": {
        const turned = product(query, tensors["attention/query_kernel"], units);
        const vector = tensors["attention/score_vector"];
        return keys.map((key) => dot(turned.map((q, j) => Math.tanh(q + key[j])), vector));
      }
    }
    throw new Error(`this page has no attention ${this.about.attention}`);
  }

  // One step: a token in, logits of the next one out. `choose` makes the weights, and is given the
  // model's own as a function of the positions that may be seen (all by default).
  step(source, state, token, choose) {
    let x = this.embedding("target", token);
    const next = state.map((states, i) => {
      const cell = this.cell(`decoder_${i + 1}`);
      const after = this.kind.step(cell, this.kind.gateInputs(cell, x), states);
      x = after[0];
      return after;
    });
    const scores = this.scores(x, source.keys);
    const own = (visible = scores.map(() => true)) =>
      this.normalise(scores.map((score, s) => (visible[s] ? score : MASKED)));
    const weights = scores.length ? choose(own) : [];
    return { hidden: x, state: next, weights, logits: this.readOut(source, x, weights) };
  }

  // Equations 3 to 5: context, attentional layer where there is one, affine layer.
  readOut(source, hidden, weights) {
    const { tensors, units } = this;
    const bias = Float64Array.from(tensors["affine/bias"]);
    for (const id of [PADDING, START, UNKNOWN]) bias[id] += NEVER_SAID;
    const affine = tensors["affine/kernel"];
    const layer = tensors["attentional_layer/kernel"];
    const features = layer ? new Float64Array(units) : bias;
    weights.forEach((weight, s) => {
      const value = source.values[s];
      for (let j = 0; j < features.length; j++) features[j] += weight * value[j];
    });
    addProduct(features, hidden, layer ?? affine, units);
    return layer ? addProduct(bias, features.map(Math.tanh), affine) : features;
  }

  // The probability that an answer is right, or its expected quality; `engine/calibration.py` has the formula.
  confidence(logProbability, length) {
    if (!this.calibration) return Math.exp(logProbability);
    const { log_slope, doubt_slope, offset, length_slope, mean_slope = 0 } = this.calibration;
    const doubt = 1.001 - Math.exp(Math.min(logProbability, 0));
    const logit = log_slope * logProbability - doubt_slope * Math.log(doubt) + offset;
    const more = length_slope * length + (mean_slope * logProbability) / (length + 1);
    return sigmoid(Math.max(-30, Math.min(30, logit + more)));
  }
}
