import { openModel } from "./model.js";

const [text, answer, notice] = ["text", "answer", "notice"].map((id) => document.getElementById(id));

notice.textContent = "loading the model";
const model = await openModel(new URL("./", import.meta.url));
globalThis.attention = model;
notice.textContent = "";

let newest = 0;
async function show() {
  const mine = ++newest;
  const result = text.value ? await model.translate(text.value) : null;
  if (mine !== newest) return; // a later text has been typed
  answer.textContent = result?.text ?? "";
  notice.textContent = !result ? "" : result.cut
    ? `only the first ${model.longestSource} tokens were read`
    : `${(100 * result.confidence).toFixed(1)} % sure`;
}
text.addEventListener("input", show);
show();
