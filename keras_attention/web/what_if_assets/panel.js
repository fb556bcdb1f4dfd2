// One model of the page: its answer under the edits, the map with a weight to move, the steps, the beam.
import { END } from "./engine.js";
import { beam, decode, NO_EDITS, totalVariation } from "./search.js";
import { drawTree } from "./tree.js";
import { percent } from "./words.js";

export function node(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export class Panel {
  // `number` tells several panels apart; `edited` is called when a weight of this panel has moved.
  constructor(host, { name, model, number }, edited) {
    Object.assign(this, { host, name, model, edited, rows: {}, place: { row: 0, column: 0 } });
    this.id = (part) => `${part}-${number}`;
  }

  // Builds the elements; once a language.
  speak(words) {
    this.words = words;
    const { id } = this;
    this.answer = node("output", { class: "answer", dir: "auto", "aria-live": "polite" });
    this.sure = node("span", { class: "sure" });
    this.before = node("span", { class: "before" });
    this.mapHost = node("div");
    this.stepBox = node("select", { id: id("step") });
    this.columnBox = node("select", { id: id("column") });
    this.slider = node("input", { type: "range", min: 0, max: 1, step: 0.01, id: id("weight") });
    this.amount = node("output", { for: id("weight"), class: "amount" });
    this.reset = node("button", { type: "button" }, words.resetStep);
    this.table = node("tbody");
    this.tree = node("div", { class: "tree", tabindex: "0", role: "group", "aria-label": words.beam });
    this.found = node("ol", { class: "found" });
    this.width = node("input", { type: "range", min: 1, max: 8, step: 1, value: 3, id: id("width") });
    this.widthLabel = node("label", { for: id("width") });
    this.host.replaceChildren(
      node("h2", {}, node("bdi", {}, this.name)),
      node("p", { class: "answer-line" }, this.answer, this.sure, this.before),
      node("div", { class: "attention-view" }, this.mapHost),
      this.mover(),
      this.stepTable(),
      this.beamPart(),
    );
    this.listen();
  }

  mover() {
    const { words, id } = this;
    const field = (name, box) => node("div", {}, node("label", { for: box.id }, name), box);
    const weight = node("div", { class: "grow" }, node("label", { for: id("weight") }, words.weight));
    weight.append(node("span", { class: "slide" }, this.slider, this.amount));
    return node(
      "fieldset",
      { class: "mover" },
      node("legend", {}, words.mover),
      node("p", { class: "hint" }, words.moverHint),
      node("div", { class: "row" }, field(words.step, this.stepBox), field(words.looksAt, this.columnBox), weight, this.reset),
    );
  }

  stepTable() {
    const { words } = this;
    const heads = words.columns.map((name) => node("th", { scope: "col" }, name));
    heads[4].title = words.movedHint;
    const head = node("thead", {}, node("tr", {}, ...heads));
    const table = node("table", {}, node("caption", {}, words.stepTable), head, this.table);
    return node("div", { class: "steps", tabindex: "0", role: "group", "aria-label": words.stepTable }, table);
  }

  beamPart() {
    const { words } = this;
    const control = node("div", { class: "row" }, this.widthLabel, this.width);
    const hint = node("p", { class: "hint" }, words.beamHint);
    return node("section", { class: "beam" }, node("h3", {}, words.beam), hint, control, this.tree, this.found);
  }

  listen() {
    this.stepBox.onchange = () => this.choose({ ...this.place, row: this.stepBox.selectedIndex });
    this.columnBox.onchange = () => this.choose({ ...this.place, column: this.columnBox.selectedIndex });
    this.slider.oninput = () => this.move(Number(this.slider.value));
    this.reset.onclick = () => {
      delete this.rows[this.place.row];
      this.edited();
    };
    this.width.oninput = () => this.drawBeam();
  }

  // ---------------------------------------------------------------- what is shown

  // Another source: nothing of what was moved before fits it.
  open(text) {
    this.text = text;
    this.rows = {};
    this.plain = decode(this.model, text, NO_EDITS);
    this.place = { row: 0, column: 0 };
    const first = this.plain.weights[0] ?? [];
    if (first.length) this.place.column = first.indexOf(Math.max(...first));
  }

  show(edits) {
    const { words } = this;
    this.now = decode(this.model, this.text, { ...edits, rows: this.rows });
    const { text, confidence } = this.now;
    const readable = (given) => (given === "" ? words.emptyAnswer : AttentionView.readableText(given));
    this.answer.textContent = readable(text);
    this.sure.textContent = words.sure(percent(confidence));
    const same = text === this.plain.text;
    const touched = edits.prefix.length + edits.hidden.length + edits.erased.length > 0;
    const changed = touched || edits.weights !== "own" || Object.keys(this.rows).length > 0;
    this.before.textContent = !changed
      ? words.untouched
      : same
        ? words.unchanged
        : words.changed(readable(this.plain.text));
    this.host.classList.toggle("other", !same);
    this.drawMap();
    this.drawSteps(edits);
  }

  drawMap() {
    const { sourceTokens, targetTokens, weights } = this.now;
    const empty = !sourceTokens.length || !targetTokens.length;
    this.mapHost.hidden = empty;
    this.host.querySelector(".mover").hidden = empty;
    if (empty) return;
    const choose = (selection, keep) => keep && selection && this.choose(selection);
    const map = { sourceTokens, targetTokens, weights };
    // The drawing replaces its content, not its host, so the focus stays where it was.
    const [left, top] = [this.mapHost.scrollLeft, this.mapHost.scrollTop];
    const drawing = [this.mapHost, map, choose];
    this.map = new AttentionView.Heatmap(...drawing, { ...AttentionView.WORDS, ...this.words.view });
    this.mapHost.scrollTo(left, top);
    this.fill(this.stepBox, targetTokens);
    this.fill(this.columnBox, sourceTokens);
    this.choose(this.place);
  }

  fill(box, tokens) {
    const label = (token, i) => `${i + 1}: ${AttentionView.visibleLabel(token)}`;
    box.replaceChildren(...tokens.map((token, i) => node("option", {}, label(token, i))));
  }

  // The cell whose weight the slider moves.
  choose({ row, column }) {
    const { sourceTokens, targetTokens, weights } = this.now;
    const within = (value, tokens) => Math.min(value ?? 0, tokens.length - 1);
    this.place = { row: within(row, targetTokens), column: within(column, sourceTokens) };
    this.map.select(this.place);
    this.stepBox.selectedIndex = this.place.row;
    this.columnBox.selectedIndex = this.place.column;
    const weight = weights[this.place.row][this.place.column];
    this.slider.value = weight;
    this.slider.setAttribute("aria-valuetext", weight.toFixed(2));
    this.amount.textContent = weight.toFixed(2);
    this.reset.disabled = !Object.hasOwn(this.rows, this.place.row);
  }

  // The weight becomes `wanted`; the others of the step keep their proportions.
  move(wanted) {
    const { row, column } = this.place;
    const before = this.now.weights[row];
    const others = before.reduce((sum, weight, s) => (s === column ? sum : sum + weight), 0);
    const rest = 1 - wanted;
    const alike = before.length > 1 ? rest / (before.length - 1) : 0;
    this.rows[row] = before.map((weight, s) => {
      if (s === column) return before.length > 1 ? wanted : 1;
      return others > 1e-6 ? (weight * rest) / others : alike;
    });
    this.edited();
  }

  drawSteps(edits) {
    const { words } = this;
    const token = (step) => {
      if (!step) return "";
      if (step.token === END) return words.end;
      return AttentionView.visibleLabel(this.model.target.token(step.token));
    };
    const probability = (step) => percent(Math.exp(step.logProbabilities[step.token]));
    const rows = this.now.steps.map((step, t) => {
      const plain = this.plain.steps[t];
      const other = token(step) !== token(plain);
      const marks = [t < edits.prefix.length ? words.given : "", Object.hasOwn(this.rows, t) ? words.moved : ""];
      const said = node("td", {}, node("bdi", { class: "said" }, token(step)));
      for (const mark of marks.filter(Boolean)) said.append(" ", node("span", { class: "mark" }, mark));
      const moved = plain ? totalVariation(step.logProbabilities, plain.logProbabilities) : null;
      const before = plain ? `${token(plain)} ${probability(plain)}` : "–";
      const bar = node("td", { class: "moved" }, moved === null ? "–" : moved.toFixed(2));
      bar.style.setProperty("--share", `${(100 * (moved ?? 0)).toFixed(1)}%`);
      const cells = [node("th", { scope: "row" }, String(t + 1)), said, node("td", {}, probability(step))];
      return node("tr", other ? { class: "differs" } : {}, ...cells, node("td", {}, before), bar);
    });
    this.table.replaceChildren(...rows);
  }

  drawBeam() {
    const { words } = this;
    const width = Number(this.width.value);
    this.widthLabel.textContent = words.beamWidth(width);
    const searched = beam(this.model, this.text, width);
    drawTree(this.tree, this.model, searched, words);
    this.found.replaceChildren(
      ...searched.hypotheses.map(({ text, confidence }) => {
        const shown = text === "" ? words.emptyAnswer : AttentionView.readableText(text);
        return node("li", {}, node("bdi", {}, shown), " ", node("span", { class: "hint" }, percent(confidence)));
      }),
    );
  }
}
