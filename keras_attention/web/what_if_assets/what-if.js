// The page: a source, edits to how it is answered, and one panel for each model. All that is shown
// stands in the fragment of the address, which browsers never send to a server.
import { Model, readWeights } from "./engine.js";
import { node, Panel } from "./panel.js";
import { decode, NO_EDITS, suspicion } from "./search.js";
import { percent, WORDS } from "./words.js";
import { WHAT_IF_WORDS } from "./what-if-words.js";

const settings = JSON.parse(document.getElementById("settings").textContent);
const element = (id) => document.getElementById(id);
const readable = AttentionView.readableText;
const WAYS = ["hidden", "erased"];

const models = settings.models.map(({ name, weights }) => ({
  name,
  model: new Model(readWeights(Uint8Array.from(atob(weights), (c) => c.charCodeAt(0)))),
}));
const panels = models.map(({ name, model }, number) => {
  const host = node("article", { class: "detail model" });
  element("models").append(host);
  return new Panel(host, { name, model, number }, changed);
});
const [first] = models;

let language, words;
let way = "hidden"; // what a click on a token does
let edits = fresh();

function fresh() {
  return { text: "", prefix: "", hidden: [], erased: [], kind: "own", seed: 1 };
}

// ---------------------------------------------------------------- edits into what a model takes

// A permutation of 0 … count - 1 that a number stands for (mulberry32, Fisher and Yates).
function shuffled(count, seed) {
  let a = seed;
  const random = () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

function editsFor(model) {
  const count = model.source.split(edits.text).length;
  const within = (positions) => positions.filter((position) => position < count);
  return {
    prefix: model.target.split(edits.prefix),
    hidden: within(edits.hidden),
    erased: within(edits.erased),
    weights: edits.kind === "order" ? shuffled(count, edits.seed) : edits.kind,
  };
}

function wrongPrefix() {
  for (const { model } of models) {
    const tokens = model.target.split(edits.prefix);
    const unknown = tokens.find((token) => !model.target.idOf.has(token));
    if (unknown !== undefined) return words.unknownPrefix(readable(unknown));
    if (tokens.length >= model.longestOutput) return words.longPrefix(model.longestOutput);
  }
  return "";
}

// ---------------------------------------------------------------- showing

function opened(text) {
  edits = { ...fresh(), text, kind: edits.kind, seed: edits.seed };
  element("text").value = text;
  element("prefix").value = "";
  for (const panel of panels) panel.open(text);
  changed();
  for (const panel of panels) panel.drawBeam();
  markExample();
}

function changed() {
  const wrong = wrongPrefix();
  element("notice").textContent = wrong;
  element("prefix").setAttribute("aria-invalid", String(wrong !== ""));
  panels.forEach((panel, i) => {
    const given = editsFor(models[i].model);
    panel.show(wrong ? { ...given, prefix: [] } : given);
  });
  drawTokens();
  drawKinds();
  address();
}

function drawTokens() {
  const tokens = first.model.source.split(edits.text);
  const focused = [...element("tokens").children].indexOf(document.activeElement);
  const buttons = tokens.map((token, position) => {
    const is = WAYS.filter((name) => edits[name].includes(position));
    const label = AttentionView.visibleLabel(token);
    const button = node("button", { type: "button", class: is.join(" "), "aria-pressed": String(is.length > 0) });
    button.append(node("bdi", {}, label));
    const said = [`${position + 1} ${label}`, ...is.map((name) => words.tokenIs[name])].join(", ");
    button.setAttribute("aria-label", said);
    button.title = said;
    button.addEventListener("click", () => toggle(position));
    return button;
  });
  element("tokens").replaceChildren(...buttons);
  buttons[focused]?.focus();
}

// A token is hidden or unknown or neither.
function toggle(position) {
  const has = edits[way].includes(position);
  for (const name of WAYS) edits[name] = edits[name].filter((other) => other !== position);
  if (!has) edits[way] = [...edits[way], position].sort((a, b) => a - b);
  changed();
}

function drawKinds() {
  for (const box of document.querySelectorAll("[name=kind]")) box.checked = box.value === edits.kind;
  element("again").disabled = edits.kind !== "order";
}

function choices(name, labels, chosen, choose) {
  return Object.entries(labels).map(([value, text]) => {
    const box = node("input", { type: "radio", name, value });
    box.checked = value === chosen;
    box.addEventListener("change", () => choose(value));
    return node("label", { class: "choice" }, box, text);
  });
}

// ---------------------------------------------------------------- examples

const examples = settings.examples.map((text) => ({ text, ...judged(text) }));

function judged(text) {
  const decoded = decode(first.model, text, NO_EDITS);
  const suspicious = suspicion(first.model, decoded);
  return { answer: decoded.text, confidence: decoded.confidence, suspicious };
}

let listed = [];

function listExamples() {
  const by = element("order").value;
  listed = [...examples];
  if (by === "suspicious") listed.sort((a, b) => (b.suspicious ?? -1) - (a.suspicious ?? -1));
  if (by === "unsure") listed.sort((a, b) => a.confidence - b.confidence);
  const options = listed.map(({ text, answer, confidence, suspicious }, i) => {
    const option = node("li", { role: "option", id: `example-${i}` });
    const suspected = suspicious !== null && by === "suspicious";
    const figure = suspected ? words.suspicion(suspicious) : words.sure(percent(confidence));
    option.append(node("bdi", { class: "source" }, readable(text)));
    option.append(node("span", { class: "answer" }, node("bdi", {}, readable(answer)), ` · ${figure}`));
    option.addEventListener("click", () => opened(text));
    return option;
  });
  element("list").replaceChildren(...options);
  markExample();
}

function markExample() {
  const chosen = listed.findIndex(({ text }) => text === edits.text);
  [...element("list").children].forEach((option, i) => {
    option.setAttribute("aria-selected", String(i === chosen));
  });
  if (chosen < 0) element("list").removeAttribute("aria-activedescendant");
  else element("list").setAttribute("aria-activedescendant", `example-${chosen}`);
}

function walk(event) {
  const at = listed.findIndex(({ text }) => text === edits.text);
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: listed.length - 1 };
  if (!(event.key in places) || !listed.length || event.altKey || event.metaKey) return;
  event.preventDefault();
  const next = Math.max(0, Math.min(listed.length - 1, places[event.key]));
  opened(listed[next].text);
  element("list").children[next].scrollIntoView({ block: "nearest" });
}

// ---------------------------------------------------------------- language and address

function speak(chosen) {
  language = chosen;
  words = { ...WHAT_IF_WORDS[chosen], view: WORDS[chosen].view };
  document.documentElement.lang = chosen;
  document.title = `${words.title} · ${settings.title}`;
  element("tokens-hint").textContent = words.tokensHint;
  for (const id of ["text", "tokens", "weights", "prefix", "order"]) {
    element(`${id}-label`).textContent = words[id];
  }
  element("ways").replaceChildren(...choices("way", words.ways, way, (value) => (way = value)));
  const again = node("button", { type: "button", id: "again" });
  again.addEventListener("click", () => {
    edits.seed += 1;
    changed();
  });
  const kinds = choices("kind", words.kinds, edits.kind, (value) => {
    edits.kind = value;
    changed();
  });
  element("kinds").replaceChildren(...kinds, again);
  for (const id of ["title", "undo", "again"]) element(id).textContent = words[id];
  element("link").textContent = words.copyLink;
  element("examples-part").setAttribute("aria-label", words.examples);
  element("list").setAttribute("aria-label", words.examples);
  const order = element("order").value || settings.order;
  const orders = Object.entries(words.orders).map(([value, name]) => node("option", { value }, name));
  element("order").replaceChildren(...orders);
  element("order").value = order;
  element("order").title = words.suspicionHint;
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === chosen));
  }
  for (const panel of panels) panel.speak(words);
}

function address() {
  const said = new URLSearchParams({ text: edits.text, language });
  if (edits.prefix) said.set("prefix", edits.prefix);
  for (const name of WAYS) if (edits[name].length) said.set(name, edits[name].join("."));
  if (edits.kind !== "own") said.set("weights", edits.kind);
  if (edits.kind === "order") said.set("seed", edits.seed);
  panels.forEach(({ rows }, i) => {
    for (const [step, row] of Object.entries(rows)) {
      said.set(`row.${i}.${step}`, row.map((weight) => weight.toFixed(4)).join(","));
    }
  });
  // Some browsers refuse to change the address of a file; the page works without.
  try {
    history.replaceState(null, "", `#${said}`);
  } catch {}
}

function fromAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  const browser = navigator.language.split("-")[0];
  const spoken = [said.get("language"), browser, "en"];
  speak(spoken.find((name) => Object.hasOwn(WHAT_IF_WORDS, name)));
  listExamples();
  const positions = (name) => (said.get(name) ?? "").split(".").filter(Boolean).map(Number);
  const kind = said.get("weights");
  opened(said.get("text") ?? listed[0]?.text ?? "");
  Object.assign(edits, {
    prefix: said.get("prefix") ?? "",
    hidden: positions("hidden"),
    erased: positions("erased"),
    kind: Object.hasOwn(words.kinds, kind ?? "") ? kind : "own",
    seed: Number(said.get("seed")) || 1,
  });
  element("prefix").value = edits.prefix;
  for (const [name, text] of said) {
    const [, panel, step] = /^row\.(\d+)\.(\d+)$/.exec(name) ?? [];
    const row = text.split(",").map(Number);
    const sum = row.reduce((a, b) => a + b, 0);
    const fits = row.length === panels[panel]?.plain.sourceTokens.length;
    if (fits && row.every((weight) => weight >= 0) && sum > 0) {
      panels[panel].rows[step] = row.map((weight) => weight / sum);
    }
  }
  changed();
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    element("linked").textContent = words.linked;
  } catch {
    element("linked").textContent = location.href; // only secure pages may use the clipboard
  }
}

// ---------------------------------------------------------------- start

element("edits").addEventListener("submit", (event) => event.preventDefault());
element("text").addEventListener("input", () => opened(element("text").value));
element("prefix").addEventListener("input", () => {
  edits.prefix = element("prefix").value;
  changed();
});
element("undo").addEventListener("click", () => {
  edits.kind = "own";
  opened(edits.text);
});
element("order").addEventListener("change", listExamples);
element("list").addEventListener("keydown", walk);
element("link").addEventListener("click", copyLink);
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    speak(button.dataset.language);
    listExamples();
    changed();
    for (const panel of panels) panel.drawBeam();
  });
}
if (models.length > 1) document.body.classList.add("two-models");
fromAddress();
window.addEventListener("hashchange", fromAddress);
// The map is drawn for the width it has.
let width = element("models").clientWidth;
new ResizeObserver(() => {
  if (element("models").clientWidth === width) return;
  width = element("models").clientWidth;
  for (const panel of panels) panel.drawMap();
}).observe(element("models"));
// For tests and the curious: the same computation as the page's.
globalThis.whatIf = { models, decode, NO_EDITS, suspicion, examples };
