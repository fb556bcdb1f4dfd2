// The page around attention-view.js: a list of examples to search, and the chosen one in full.
"use strict";

(function () {
  const { title, examples } = JSON.parse(document.getElementById("data").textContent);
  const [list, filter, show, order, count, facts] = [
    "list", "filter", "show", "order", "count", "facts",
  ].map((id) => document.getElementById(id));
  const view = AttentionView.mount(document.getElementById("view"));
  const readable = AttentionView.readableText;
  let shown = []; // indices into examples, as listed
  let current = -1;

  function node(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Weights travel as one byte each, rows one after another.
  function weightsOf(example) {
    const bytes = Uint8Array.from(atob(example.weights), (c) => c.charCodeAt(0));
    const columns = example.source_tokens.length;
    return example.target_tokens.map((_, row) =>
      Array.from(bytes.subarray(row * columns, (row + 1) * columns), (byte) => byte / 255),
    );
  }

  const verdictOf = (example) =>
    example.expected === null ? "" : example.text === example.expected ? "right" : "wrong";

  const SIGNS = { right: "✓", wrong: "✗" };

  function badge(verdict) {
    return node("span", { class: `badge ${verdict}` }, `${SIGNS[verdict]} ${verdict}`);
  }

  // ---------------------------------------------------------------- list

  const folded = (text) => text.normalize("NFKC").toLowerCase();
  const haystacks = examples.map((example) =>
    folded([example.source, example.text, example.expected ?? ""].join("\n")),
  );
  const options = examples.map((example, index) => {
    const verdict = verdictOf(example);
    const option = node(
      "li",
      { role: "option", id: `example-${index}`, "aria-selected": "false" },
      node("bdi", { class: "source" }, readable(example.source)),
      node("bdi", { class: "answer" }, readable(example.text)),
    );
    if (verdict) {
      const sign = node("span", { class: `sign ${verdict}`, role: "img", "aria-label": verdict });
      sign.append(SIGNS[verdict]);
      option.append(sign);
    }
    option.addEventListener("click", () => open(index));
    return option;
  });

  function refresh() {
    const words = folded(filter.value).split(/\s+/u).filter(Boolean);
    shown = examples
      .map((_, index) => index)
      .filter((index) => show.value === "all" || verdictOf(examples[index]) === show.value)
      .filter((index) => words.every((word) => haystacks[index].includes(word)));
    const { value } = order;
    const key = (index) => examples[index][value] ?? Infinity;
    if (value === "confidence") shown.sort((a, b) => key(a) - key(b) || a - b);
    if (value === "entropy") shown.sort((a, b) => key(b) - key(a) || a - b);
    list.replaceChildren(...shown.map((index) => options[index]));
    count.textContent =
      shown.length === examples.length
        ? `${examples.length} ${examples.length === 1 ? "example" : "examples"}`
        : `${shown.length} of ${examples.length} examples`;
    if (shown.length && !shown.includes(current)) open(shown[0]);
    else mark();
  }

  function mark() {
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === current)));
    if (shown.includes(current)) list.setAttribute("aria-activedescendant", `example-${current}`);
    else list.removeAttribute("aria-activedescendant");
  }

  function step(event) {
    const last = shown.length - 1;
    const at = shown.indexOf(current);
    const inList = event.currentTarget === list;
    const places = { ArrowDown: at + 1, ArrowUp: at - 1 };
    if (inList) Object.assign(places, { Home: 0, End: last, PageDown: at + 10, PageUp: at - 10 });
    if (!(event.key in places) || last < 0 || event.altKey || event.metaKey) return;
    event.preventDefault();
    open(shown[Math.max(0, Math.min(last, places[event.key]))]);
    options[current].scrollIntoView({ block: "nearest" });
  }

  // ---------------------------------------------------------------- the chosen example

  function fact(name, value, hint) {
    return node("div", { title: hint }, node("dt", {}, name), node("dd", {}, value));
  }

  function open(index) {
    current = index;
    const example = examples[index];
    const verdict = verdictOf(example);
    const answer = node("p", { class: "answer" }, node("span", { class: "arrow" }, "→ "));
    answer.append(node("bdi", {}, readable(example.text)));
    if (verdict) answer.append(" ", badge(verdict));
    const parts = [node("h2", {}, node("bdi", {}, readable(example.source))), answer];
    if (verdict === "wrong") {
      const expected = node("bdi", {}, readable(example.expected));
      parts.push(node("p", { class: "expected" }, "expected ", expected));
    }
    const figures = node("dl", {});
    if (example.confidence !== null) {
      const hint = "The probability that the whole answer is right, as the model sees it";
      figures.append(fact("confidence", example.confidence.toFixed(4), hint));
    }
    if (example.log_probability !== null) {
      const hint = "Natural logarithm of the probability of the answer and its end";
      figures.append(fact("log probability", example.log_probability.toFixed(4), hint));
    }
    if (example.entropy !== null) {
      const hint = "Entropy of the attention weights, mean over target tokens";
      figures.append(fact("mean entropy", `${example.entropy.toFixed(2)} bits`, hint));
    }
    const size = `${example.source_tokens.length} → ${example.target_tokens.length}`;
    figures.append(fact("tokens", size, "Source and target tokens"));
    facts.replaceChildren(...parts, figures);
    view.show({
      sourceTokens: example.source_tokens,
      targetTokens: example.target_tokens,
      weights: weightsOf(example),
      links: example.links,
    });
    mark();
    // Some browsers refuse to change the address of a file; the page works without.
    try {
      history.replaceState(null, "", `#${index + 1}`);
    } catch {}
  }

  function openFromAddress() {
    const index = Number(location.hash.slice(1)) - 1;
    if (Number.isInteger(index) && index >= 0 && index < examples.length) open(index);
  }

  // ---------------------------------------------------------------- start

  const judged = examples.map(verdictOf).filter(Boolean);
  const right = judged.filter((verdict) => verdict === "right").length;
  document.getElementById("summary").textContent = judged.length
    ? `${right} of ${judged.length} right`
    : "";
  if (!judged.length) show.hidden = true;
  document.title = readable(title);
  filter.addEventListener("input", refresh);
  show.addEventListener("change", refresh);
  order.addEventListener("change", refresh);
  list.addEventListener("keydown", step);
  filter.addEventListener("keydown", step);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select") && !event.ctrlKey) {
      event.preventDefault();
      filter.focus();
    }
  });
  window.addEventListener("hashchange", openFromAddress);
  openFromAddress();
  refresh();
  if (!examples.length) facts.append(node("p", {}, "There are no examples."));
})();
