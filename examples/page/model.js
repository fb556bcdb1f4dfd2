// A .tflite file of an export, by what its JSON says: lengths, tokens, normal form.
import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";
import { sideOf } from "./tokens.js";

// Reads `model/model.json` and `model/model.tflite` below `place`, and LiteRT.js' `wasm/`.
export async function openModel(place) {
  const description = await (await fetch(new URL("model/model.json", place))).json();
  const source = sideOf(description.source_tokens, description.source_vocabulary);
  const target = sideOf(description.target_tokens, description.target_vocabulary);
  const length = description.longest_source;
  await loadLiteRt(new URL("wasm/", place).href);
  const file = new URL("model/model.tflite", place).href;
  const model = await loadAndCompile(file, { accelerator: "wasm" });

  async function run(ids) {
    const padded = new Int32Array(length); // zeros are padding
    padded.set(ids.slice(0, length));
    const input = new Tensor(padded, [1, length]);
    const outputs = await model.run(description.signature, { [source.tensor]: input });
    input.delete();
    const read = {};
    for (const [name, output] of Object.entries(outputs)) {
      read[name] = Array.from(await output.data());
      output.delete();
    }
    return read;
  }

  return {
    longestSource: length,

    // `weights[t][s]`: how much target token t looked at source token s.
    async translate(text) {
      const form = description.normal_form;
      const sourceTokens = source.split(form === "none" ? text : text.normalize(form));
      const read = await run(sourceTokens.map(source.idOf));
      const ids = read[target.tensor].filter((id) => id !== 0);
      const targetTokens = ids.map(target.tokenOf);
      const weights = targetTokens.map((_, t) =>
        read.attention_weights?.slice(t * length, t * length + Math.min(length, sourceTokens.length)),
      );
      return {
        text: target.join(targetTokens),
        confidence: read.confidence[0],
        cut: sourceTokens.length > length,
        sourceTokens: sourceTokens.slice(0, length),
        targetTokens,
        weights,
      };
    },
  };
}
