// A text box whose text is answered as it is typed, with the attention behind the answer.
//
// The model is a module of its own (server-model.js or litert-model.js) whose `open` gives
// { length(text), answer(text, signal), alternatives(text, signal) or null }. What is shown, except the history,
// stands in the fragment of the address, which browsers never send to a server.
import { percent, WORDS } from "./words.js";

const PAUSE = 60; // milliseconds after a key
const COMPOSING_PAUSE = 250; // while a syllable is still being put together
const SETTLED = 1200; // a text that stands so long goes into the history
const HISTORY = 50;
const KEPT = "attention-history";

const settings = JSON.parse(document.getElementById("settings").textContent);
const element = (id) => document.getElementById(id);
const readable = AttentionView.readableText;

let words; // of the chosen language
let language;
let model; // a promise
let view; // the drawings
let shown = null; // the hypothesis on the screen, with the source it answers
let hypotheses = []; // of the beam
let place = 0; // which of them is shown; 0 is also the greedy answer
let selection = null;
let asking = null; // the AbortController of the newest question
let composing = false;
let pausing, settling;
let notice = () => "";

function node(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// ---------------------------------------------------------------- language

function speak(chosen) {
  language = chosen;
  words = WORDS[chosen];
  document.documentElement.lang = chosen;
  document.title = `${words.title} · ${settings.name}`;
  element("title").textContent = words.title;
  element("text-label").textContent = words.label;
  element("text").placeholder = words.placeholder[settings.sourceTokens] ?? "";
  element("clear").textContent = words.clear;
  element("link").textContent = words.copyLink;
  element("alternatives-title").textContent = words.alternatives;
  element("history-title").textContent = words.history;
  element("forget").textContent = words.forget;
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === chosen));
  }
  view?.destroy();
  view = AttentionView.mount(element("view"), { words: words.view, onChoose: remember });
  listExamples();
  listHistory();
  say(notice);
  if (shown) draw();
}

function say(what) {
  notice = what;
  element("notice").textContent = what();
}

// ---------------------------------------------------------------- asking

function typed() {
  clearTimeout(pausing);
  clearTimeout(settling);
  pausing = setTimeout(ask, composing ? COMPOSING_PAUSE : PAUSE);
}

// Answers the text in the box; `wanted` is what a link asks to be shown of the answer.
async function ask(wanted = {}) {
  clearTimeout(pausing);
  asking?.abort();
  const mine = (asking = new AbortController());
  const text = element("text").value;
  if (text === "") return showNothing();
  element("result").setAttribute("aria-busy", "true");
  try {
    const { length, answer, alternatives } = await model;
    if (mine.signal.aborted) return;
    if (length(text) > settings.longestText) {
      showNothing();
      return say(() => words.tooLong(length(text), settings.longestText));
    }
    const found = await answer(text, mine.signal);
    if (mine.signal.aborted) return;
    say(() => "");
    hypotheses = [];
    showHypothesis({ source: text, ...found }, 0, wanted.place ? null : wanted.selection);
    // What nobody typed is no part of what was tried.
    if (!wanted.unasked) settling = setTimeout(() => keep(text, found.text), SETTLED);
    if (!alternatives) return;
    // Again a pause: the beam costs more, and is of no use to who goes on typing.
    await new Promise((done) => setTimeout(done, 2 * PAUSE));
    if (mine.signal.aborted) return;
    const beam = await alternatives(text, mine.signal);
    if (mine.signal.aborted) return;
    hypotheses = beam;
    if (wanted.place && beam[wanted.place]) choose(wanted.place, wanted.selection);
    else listAlternatives();
  } catch (error) {
    if (mine.signal.aborted) return;
    showNothing();
    say(() => words.failed(error.message));
  } finally {
    if (asking === mine) element("result").removeAttribute("aria-busy");
  }
}

function showNothing() {
  shown = null;
  hypotheses = [];
  say(() => "");
  element("result").hidden = true;
  element("result").removeAttribute("aria-busy");
  element("alternatives-part").hidden = true;
  address();
}

// ---------------------------------------------------------------- showing

function showHypothesis(hypothesis, index, wantedSelection) {
  shown = hypothesis;
  place = index;
  selection = null;
  draw();
  const { row = null, column = null } = wantedSelection ?? {};
  const fits = row < shown.targetTokens?.length && column < shown.sourceTokens.length;
  if (wantedSelection && fits) view.select(wantedSelection);
  address();
}

function draw() {
  const { text, confidence, weights, fromExceptions } = shown;
  element("result").hidden = false;
  element("answer").textContent = text === "" ? words.emptyAnswer : readable(text);
  const meter = node("span", { class: "meter", "aria-hidden": "true" });
  meter.style.setProperty("--share", `${(100 * confidence).toFixed(1)}%`);
  const means = settings.confidenceMeans;
  const figure = node("span", {}, words.confidence[means](confidence));
  element("confidence").replaceChildren(meter, figure);
  element("confidence").title = words.confidenceHint[means];
  if (fromExceptions) {
    element("confidence").replaceChildren(node("span", {}, words.fromExceptions));
    element("confidence").title = words.fromExceptionsHint;
  }
  if (confidence < 0.5) element("confidence").append(node("span", { class: "unsure" }, words.unsure));
  if (weights) {
    const kept = selection;
    view.show({ sourceTokens: shown.sourceTokens, targetTokens: shown.targetTokens, weights });
    if (kept) view.select(kept);
  } else {
    element("view").textContent = words.noAttention;
  }
  listAlternatives();
}

// Called by the drawings with what a key or a click chose.
function remember(chosen) {
  selection = chosen;
  address();
}

function listAlternatives() {
  element("alternatives-part").hidden = hypotheses.length < 2;
  const rows = hypotheses.map(({ text, confidence }, index) => {
    const button = node("button", { type: "button", "aria-pressed": String(index === place) });
    button.append(node("bdi", {}, text === "" ? words.emptyAnswer : readable(text)));
    button.append(node("span", { class: "share" }, percent(confidence)));
    button.style.setProperty("--share", `${(100 * confidence).toFixed(1)}%`);
    button.addEventListener("click", () => choose(index));
    return node("li", {}, button);
  });
  const inside = element("alternatives").contains(document.activeElement);
  element("alternatives").replaceChildren(...rows);
  if (inside) rows[place]?.firstChild.focus();
}

function choose(index, wantedSelection) {
  showHypothesis({ source: shown.source, ...hypotheses[index] }, index, wantedSelection);
}

// ---------------------------------------------------------------- examples and history

function write(text) {
  element("text").value = text;
  element("text").focus();
  ask();
}

function listExamples() {
  const groups = Object.entries(settings.examples).map(([of, texts]) => {
    const name = node("span", { class: "group" }, words.languageNames[of] ?? of);
    const chips = texts.map((text) => {
      const chip = node("button", { type: "button" }, node("bdi", of ? { lang: of } : {}, text));
      chip.addEventListener("click", () => write(text));
      return chip;
    });
    const row = node("div", { role: "group" }, name, ...chips);
    row.setAttribute("aria-label", `${words.tryThese}: ${name.textContent}`);
    return row;
  });
  element("examples").replaceChildren(...groups);
}

function history() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) ?? [];
  } catch {
    return []; // storage can be forbidden
  }
}

function keep(source, answer) {
  const others = history().filter((entry) => entry.source !== source);
  try {
    sessionStorage.setItem(KEPT, JSON.stringify([{ source, answer }, ...others].slice(0, HISTORY)));
  } catch {}
  listHistory();
}

function listHistory() {
  const entries = history().map(({ source, answer }) => {
    const button = node("button", { type: "button" });
    button.append(node("bdi", { class: "source" }, readable(source)));
    button.append(node("bdi", { class: "answer" }, readable(answer)));
    button.addEventListener("click", () => write(source));
    return node("li", {}, button);
  });
  element("forget").hidden = entries.length === 0;
  const nothing = node("li", { class: "hint" }, words.noHistory);
  element("history").replaceChildren(...(entries.length ? entries : [nothing]));
}

// ---------------------------------------------------------------- the address

// What would show the same again.
function address() {
  const said = new URLSearchParams();
  const text = element("text").value;
  if (text) said.set("text", text);
  if (place && shown) said.set("answer", place + 1);
  if (selection?.row != null) said.set("row", selection.row + 1);
  if (selection?.column != null) said.set("column", selection.column + 1);
  said.set("language", language);
  window.history.replaceState(null, "", `#${said}`);
}

function fromAddress({ opening = false } = {}) {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (name) => {
    const value = Number(said.get(name));
    return Number.isInteger(value) && value > 0 ? value - 1 : null;
  };
  const browser = navigator.language.split("-")[0];
  const spoken = [said.get("language"), browser, "en"].find((name) => Object.hasOwn(WORDS, name));
  if (spoken !== language) speak(spoken);
  const wanted = { place: number("answer") ?? 0, selection: null };
  const [row, column] = [number("row"), number("column")];
  if (row !== null || column !== null) wanted.selection = { row, column };
  const example = said.has("text") || !opening ? "" : firstExample();
  element("text").value = said.get("text") ?? example;
  return ask({ ...wanted, unasked: example !== "" });
}

// A page that opens without a text shows what it does: the first example of the language.
function firstExample() {
  const { examples } = settings;
  return (examples[language] ?? Object.values(examples)[0] ?? [])[0] ?? "";
}

async function copyLink() {
  const link = location.href;
  try {
    await navigator.clipboard.writeText(link);
    element("linked").textContent = words.linked;
  } catch {
    element("linked").textContent = words.linkIs(link); // only secure pages may use the clipboard
  }
  setTimeout(() => element("linked").replaceChildren(), 8000);
}

// ---------------------------------------------------------------- start

const box = element("text");
box.addEventListener("input", typed);
box.addEventListener("compositionstart", () => (composing = true));
box.addEventListener("compositionend", () => {
  composing = false;
  typed();
});
box.addEventListener("keydown", (event) => {
  // The Enter that ends a composition is the input method's.
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  const answered = shown?.source === box.value ? shown : null;
  if (answered) keep(answered.source, answered.text);
  else ask();
});
element("clear").addEventListener("click", () => write(""));
element("link").addEventListener("click", copyLink);
element("forget").addEventListener("click", () => {
  sessionStorage.removeItem(KEPT);
  listHistory();
  box.focus();
});
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    speak(button.dataset.language);
    address();
  });
}
window.addEventListener("hashchange", () => fromAddress());

model = import(`./${settings.model}`).then(({ open }) =>
  open(settings, {
    busy: () => say(() => words.busy),
    loading: () => say(() => words.loading),
  }),
);
model.then(
  () => notice() === words.loading && say(() => ""),
  (error) => say(() => words.failed(error.message)),
);
await fromAddress({ opening: true });
box.focus();
box.select();
// For tests and the curious: what the page shows, and the same answers as it gets.
globalThis.attentionPage = {
  settings,
  answer: async (text) => (await model).answer(text),
  get shown() {
    return shown;
  },
};
