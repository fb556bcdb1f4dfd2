// Steps into answers: greedily under edits, and by a beam that keeps all it has tried.
import { END, logSoftmax, PADDING, START } from "./engine.js";

export const NO_EDITS = { prefix: [], hidden: [], erased: [], weights: "own", rows: {} };

// Edits are what `Translator.what_if` takes: `prefix` (target tokens), `hidden` and `erased` (source
// positions), `weights` ("own", "uniform" or an order of the positions), `rows` (weights by step).
export function decode(model, text, edits) {
  const source = model.read(text, edits.erased);
  const visible = source.tokens.map((_, s) => !edits.hidden.includes(s));
  const prefix = model.target.ids(edits.prefix);
  const steps = [];
  const targetTokens = [];
  let [state, token, logProbability] = [source.start, START, 0];
  for (let t = 0; t < model.longestOutput; t++) {
    const made = model.step(source, state, token, (own) => weightsOf(own, t, visible, edits));
    const logProbabilities = logSoftmax(made.logits);
    token = t < prefix.length ? prefix[t] : best(logProbabilities);
    logProbability += logProbabilities[token];
    steps.push({ ...made, token, logProbabilities });
    state = made.state;
    if (token === END) break;
    targetTokens.push(model.target.token(token));
  }
  return {
    source,
    steps,
    text: model.target.join(targetTokens),
    sourceTokens: source.tokens,
    targetTokens,
    weights: steps.slice(0, targetTokens.length).map((step) => Array.from(step.weights)),
    logProbability,
    confidence: model.confidence(logProbability, targetTokens.length),
  };
}

function weightsOf(own, step, visible, { rows, weights, hidden }) {
  if (Object.hasOwn(rows, step)) return rows[step];
  const count = visible.filter(Boolean).length;
  if (!count) return visible.map(() => 0);
  if (weights === "uniform") return visible.map((seen) => (seen ? 1 / count : 0));
  const model = own(hidden.length ? visible : undefined);
  if (weights === "own") return model.map((weight, s) => (visible[s] ? weight : 0));
  const taken = weights.filter((place) => visible[place]);
  return visible.map((seen) => (seen ? model[taken.shift()] : 0));
}

const best = (values) => values.reduce((most, value, i) => (value > values[most] ? i : most), 0);

// Half the sum of absolute differences: from 0, alike, to 1, nothing in common.
export function totalVariation(logP, logQ) {
  return logP.reduce((sum, p, i) => sum + Math.abs(Math.exp(p) - Math.exp(logQ[i])), 0) / 2;
}

// How suspicious the attention behind an answer is, from 0 to 1: the mean over its tokens of
//     largest weight × (1 - median distance that the output moves when the weights are rotated).
// Large weights that could lie anywhere explain nothing (after Jain and Wallace 2019, figure 6).
export function suspicion(model, { source, steps, targetTokens }) {
  const width = source.tokens.length;
  if (width < 2 || !targetTokens.length) return null;
  const values = steps.slice(0, targetTokens.length).map(({ hidden, weights, logProbabilities }) => {
    const moved = [];
    for (let turn = 1; turn < width; turn++) {
      const rotated = weights.map((_, s) => weights[(s + turn) % width]);
      const logits = model.readOut(source, hidden, rotated);
      moved.push(totalVariation(logProbabilities, logSoftmax(logits)));
    }
    return Math.max(...weights) * (1 - median(moved));
  });
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values) {
  const ordered = Float64Array.from(values).sort();
  const middle = ordered.length >> 1;
  return ordered.length % 2 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

// The `width` best hypotheses, best first, as `keras_attention/engine/search.py` finds them, and the
// tree of all that stood in the beam: nodes { step, parent, token, logProbability, kept }.
export function beam(model, text, width, penalty = model.lengthPenalty) {
  const source = model.read(text);
  const root = { step: -1, parent: null, token: null, logProbability: 0, kept: false };
  const nodes = [root];
  let hypotheses = [{ node: root, state: source.start, length: 0, finished: false, token: START }];
  for (let step = 0; step < model.longestOutput; step++) {
    const candidates = hypotheses.flatMap((hypothesis) => continued(model, source, hypothesis));
    // The sort is stable: among equals the first wins.
    const rank = ({ score, length }) => score / Math.max(length, 1) ** penalty;
    hypotheses = candidates.sort((a, b) => rank(b) - rank(a)).slice(0, width);
    for (const hypothesis of hypotheses) {
      if (hypothesis.carried) continue;
      const { parent, token, score } = hypothesis;
      hypothesis.node = { step, parent, token, logProbability: score, kept: false };
      nodes.push(hypothesis.node);
    }
    if (hypotheses.every(({ finished }) => finished)) break;
  }
  const found = hypotheses.map(({ node }) => hypothesisOf(model, node));
  return { nodes, hypotheses: found };
}

// A finished hypothesis goes on at no cost; a running one has a child for every token.
function continued(model, source, hypothesis) {
  const { node, state, token, length, finished } = hypothesis;
  if (finished) {
    return [{ ...hypothesis, carried: true, score: node.logProbability, token: PADDING }];
  }
  const made = model.step(source, state, token, (own) => own());
  return Array.from(logSoftmax(made.logits), (logProbability, id) => ({
    parent: node,
    state: made.state,
    token: id,
    length: length + 1,
    finished: id === END,
    score: node.logProbability + logProbability,
    possible: logProbability > -1e8,
  })).filter(({ possible }) => possible);
}

function hypothesisOf(model, last) {
  const tokens = [];
  for (let node = last; node.parent; node = node.parent) {
    node.kept = true;
    if (node.token !== END) tokens.unshift(model.target.token(node.token));
  }
  const { logProbability } = last;
  const confidence = model.confidence(logProbability, tokens.length);
  return { text: model.target.join(tokens), logProbability, confidence, last };
}
