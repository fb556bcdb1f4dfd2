// The model behind the REST API that serves this page: the same requests as any other client's.

const ROW = (name) => `v1/models/${encodeURIComponent(name)}:predict`;
const TRIES = 6;

export async function open(settings, report) {
  const url = ROW(settings.name);

  async function ask(signature, text, signal) {
    const body = JSON.stringify({ signature_name: signature, inputs: { text: [text] } });
    for (let tried = 1; ; tried++) {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body, signal });
      if (response.status === 429 && tried < TRIES) {
        report.busy();
        await new Promise((done) => setTimeout(done, 200 * tried));
        signal.throwIfAborted();
        continue;
      }
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error);
      return answer.outputs;
    }
  }

  // One hypothesis out of outputs whose first dimension is the hypothesis.
  function hypothesis(outputs, sourceTokens, k) {
    const targetTokens = outputs.target_tokens?.[k].slice(0, outputs.target_length[k]);
    const weights = outputs.attention_weights?.[k]
      .slice(0, outputs.target_length[k])
      .map((row) => row.slice(0, sourceTokens.length));
    return {
      text: outputs.text[k],
      logProbability: outputs.log_probability[k],
      confidence: outputs.confidence[k],
      sourceTokens,
      targetTokens,
      weights,
      fromExceptions: [outputs.from_exceptions].flat()[k] ?? false,
    };
  }

  const sourceOf = (outputs) => outputs.source_tokens[0].slice(0, outputs.source_length[0]);

  return {
    length: (text) => Array.from(text).length,

    async answer(text, signal) {
      const outputs = await ask(settings.hasAttention ? "attention" : "serving_default", text, signal);
      return hypothesis(outputs, settings.hasAttention ? sourceOf(outputs) : [], 0);
    },

    // All hypotheses of the beam, best first.
    async alternatives(text, signal) {
      const outputs = await ask("beam", text, signal);
      const first = Object.fromEntries(Object.entries(outputs).map(([k, value]) => [k, value[0]]));
      const source = sourceOf(outputs);
      // A beam wider than there are outputs is filled up with impossible ones.
      return first.text
        .map((_, k) => hypothesis(first, source, k))
        .filter(({ logProbability }) => logProbability > -5e8);
    },
  };
}
