// The model as a .tflite file that runs in this browser. Texts become code points or, where a side
// has words or subwords, indices into the vocabulary; nothing leaves the page.
import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";
import { joinPieces, pieceCutter } from "./subwords.js";

const TENSOR_OF_KIND = { char: "code_points", word: "token_ids", subword: "token_ids" };
const NO_CHARACTER = -1; // stands for U+0000, since 0 is padding
const UNKNOWN = 3;
const WORDS = /[^ \t\n\r\f\v]+/g;

// Halves of surrogate pairs are no characters.
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

export async function open(settings, report) {
  report.loading();
  const { description } = settings;
  const { signature, longest_source } = description;
  const exceptions = new Map(Object.entries(settings.exceptions ?? {}));
  await loadLiteRt(new URL("../litert-js/wasm/", import.meta.url).href);
  const file = new URL(`../${settings.file}`, import.meta.url).href;
  const model = await loadAndCompile(file, { accelerator: "wasm" });
  const input = TENSOR_OF_KIND[description.source_tokens];
  const output = TENSOR_OF_KIND[description.target_tokens];
  const idOf = new Map((description.source_vocabulary ?? []).map((token, id) => [token, id]));
  idOf.delete(null); // reserved ids have no token
  const cut = description.source_tokens === "subword" ? pieceCutter(idOf.keys()) : undefined;

  function encode(given) {
    const form = description.normal_form ?? "none";
    const text = form === "none" ? given : given.normalize(form);
    if (description.source_tokens !== "char") {
      const tokens = cut ? cut(text) : (text.match(WORDS) ?? []);
      return { tokens, ids: tokens.map((token) => idOf.get(token) ?? UNKNOWN) };
    }
    const tokens = Array.from(text);
    return { tokens, ids: tokens.map((c) => c.codePointAt(0) || NO_CHARACTER) };
  }

  function decode(ids) {
    if (description.target_tokens !== "char") {
      return ids.map((id) => description.target_vocabulary[id]);
    }
    return ids.map((point) => String.fromCodePoint(point));
  }

  function join(tokens, kind) {
    return kind === "subword" ? joinPieces(tokens) : tokens.join(kind === "word" ? " " : "");
  }

  // The dictionary's answer: certain, and it looked at nothing.
  function fixed(sourceTokens, { text, tokens: targetTokens }) {
    const weights = settings.hasAttention
      ? targetTokens.map(() => sourceTokens.map(() => 0))
      : undefined;
    const sure = { logProbability: 0, confidence: 1, fromExceptions: true };
    return { text, sourceTokens, targetTokens, weights, ...sure };
  }

  async function run(ids) {
    const padded = new Int32Array(longest_source);
    padded.set(ids);
    const tensor = new Tensor(padded, [1, longest_source]);
    const results = await model.run(signature, { [input]: tensor });
    tensor.delete();
    const read = {};
    for (const [name, result] of Object.entries(results)) {
      read[name] = Array.from(await result.data());
      result.delete();
    }
    return read;
  }

  return {
    length: (text) => encode(wellFormed(text)).tokens.length,

    async answer(text) {
      const { tokens, ids } = encode(wellFormed(text));
      const exception = exceptions.get(join(tokens, description.source_tokens));
      if (exception !== undefined) return fixed(tokens, exception);
      const results = await run(ids);
      const length = results[output].filter((id) => id !== 0).length;
      const targetTokens = decode(results[output].slice(0, length));
      const row = (t) => results.attention_weights.slice(t * longest_source, (t + 1) * longest_source);
      return {
        text: join(targetTokens, description.target_tokens),
        logProbability: results.log_probability[0],
        confidence: results.confidence[0],
        sourceTokens: tokens,
        targetTokens,
        weights: settings.hasAttention
          ? targetTokens.map((_, t) => row(t).slice(0, tokens.length))
          : undefined,
      };
    },
    alternatives: null, // a .tflite file decodes greedily
  };
}
