// Draws one attention map in two ways that follow each other: connecting lines and a heatmap.
//
//   const view = AttentionView.mount(element);
//   view.show({ sourceTokens, targetTokens, weights });     // weights[t][s] in 0..1
//   view.select({ row: 0, column: 3 });                     // either may be null
//   view.destroy();
//
// `mount(element, { words, onChoose })`: words in another language, as WORDS below has them in
// English, and what to call with the selection that a key or a click makes (null: none).
//
// `map.links`, if there, is the gold alignment to outline: [{ source, target, sure }]. Everything
// from outside reaches the page as text, never as markup. Colours and fonts are in attention-view.css.
"use strict";

(function (root) {
  const SVG = "http://www.w3.org/2000/svg";
  const FAINTEST_CELL = 0.005; // below it a cell cannot be told from an empty one
  const FAINTEST_LINE = 0.02;

  // ---------------------------------------------------------------- text

  const SPELT = { " ": "␣", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\u00a0": "⍽" };
  const JOINERS = "\u200c\u200d\ufe0e\ufe0f";

  // A token as text in which every character shows; the same as `visible_label` in Python.
  function visibleLabel(token) {
    if (token === "") return "∅";
    let characters = Array.from(token);
    if (characters.length > 48) {
      characters = [...characters.slice(0, 24), "…", ...characters.slice(-23)];
    }
    const shaped = characters.length > 1;
    const text = characters
      .map((c) => (shaped && JOINERS.includes(c) ? c : visibleCharacter(c)))
      .join("");
    return /^\p{M}/u.test(text) ? "◌" + text : text;
  }

  function visibleCharacter(c) {
    if (Object.hasOwn(SPELT, c)) return SPELT[c];
    if (JOINERS.includes(c) || /^[\p{C}\p{Z}]$/u.test(c)) {
      return "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    }
    return c;
  }

  // A sentence to read: as visibleLabel, but spaces stay spaces where there is something else.
  function readableText(text) {
    if (text.trim() === "") return Array.from(text, visibleCharacter).join("") || "(empty)";
    return Array.from(text, (c) => (c === " " ? c : visibleCharacter(c))).join("");
  }

  // Entropy in bits of one row of weights.
  function entropy(row) {
    let bits = 0;
    for (const weight of row) if (weight > 0) bits -= weight * Math.log2(weight);
    return Math.max(0, bits);
  }

  const percent = (weight) => (weight > 0 && weight < 0.005 ? "<0.01" : weight.toFixed(2));

  // The `count` greatest of `values` as [index, value], greatest first.
  function greatest(values, count) {
    return Array.from(values, (value, index) => [index, value])
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, count);
  }

  // ---------------------------------------------------------------- words

  // Lists of strings are put together; tokens in them are set apart.
  const WORDS = {
    heatmap: (rows, columns) =>
      `Heatmap: ${rows} target tokens in rows, ${columns} source tokens in columns`,
    cell: (target, row, source, column, weight) =>
      `target ${target}, row ${row}, looks at source ${source}, column ${column}: ${weight}`,
    lines: "Connecting lines: source tokens above, target tokens below",
    sides: ["source", "target"],
    place: (side, token, index, count) => `${side} ${token}, ${index} of ${count}`,
    ties: (side, ties) => `${side === 0 ? "looked at by" : "looks at"} ${ties}`,
    hint: "Point at a token or a cell, or move with the Tab and arrow keys.",
    looksAt: (target, source, weight) => [target, " looks at ", source, ": ", weight],
    rowLooksAt: (target, index, count) => [target, ` (target ${index} of ${count}) looks at`],
    columnSeenBy: (source, index, count) => [
      source,
      ` (source ${index} of ${count}) is looked at by`,
    ],
    entropy: (bits, most) => `entropy ${bits} bits (0: one token, ${most}: all alike)`,
    legend: "attention weight 0",
    legendEntropy: "entropy of a row",
    legendGold: "gold alignment (dashed: possible)",
    emptySource: "The source is empty, so there is nothing to attend to.",
    emptyTarget: "The answer is empty.",
  };

  // ---------------------------------------------------------------- elements

  function html(name, properties = {}, ...children) {
    return fill(document.createElement(name), properties, children);
  }

  function svg(name, properties = {}, ...children) {
    return fill(document.createElementNS(SVG, name), properties, children);
  }

  function fill(node, properties, children) {
    for (const [key, value] of Object.entries(properties)) {
      if (key.startsWith("--")) node.style.setProperty(key, value);
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  const TEXT_SIZE = 15; // pixels, where cells are large enough for it

  let measuring; // one canvas for all measuring
  function textWidths(labels, host, size = TEXT_SIZE) {
    measuring ??= document.createElement("canvas").getContext("2d");
    measuring.font = `${size}px ${getComputedStyle(host).fontFamily}`;
    return labels.map((label) => measuring.measureText(label).width);
  }

  // A label, isolated so that a right-to-left token does not move others, shortened in the middle
  // where it is long; its tooltip and the words about a selection have all of it.
  function label(text, properties) {
    const node = svg("text", { direction: "ltr", ...properties }, shortened(text));
    node.append(svg("title", {}, text));
    return node;
  }

  function shortened(text) {
    const characters = Array.from(text);
    if (characters.length <= 20) return text;
    return [...characters.slice(0, 11), "…", ...characters.slice(-8)].join("");
  }

  // How much smaller a drawing must be on a sheet of A4 or Letter, with the margins of the page.
  const SHEET = { width: 690, height: 880 };
  function printZoom(width, height) {
    return Math.min(1, SHEET.width / width, SHEET.height / height).toFixed(3);
  }

  let instances = 0;

  // ---------------------------------------------------------------- heatmap

  // Rows are target tokens, columns source tokens. Arrow keys move, Escape leaves the selection.
  class Heatmap {
    constructor(host, map, choose, words = WORDS) {
      Object.assign(this, { host, map, choose, words, id: `heatmap-${++instances}` });
      this.source = map.sourceTokens.map(visibleLabel);
      this.target = map.targetTokens.map(visibleLabel);
      host.classList.add("attention-heatmap");
      this.draw();
    }

    draw() {
      const rows = this.target.length;
      const columns = this.source.length;
      const [source, target] = [this.source.map(shortened), this.target.map(shortened)];
      const left = Math.ceil(Math.max(14, ...textWidths(target, this.host))) + 14;
      const room = this.host.clientWidth - left - 54;
      const cell = Math.max(15, Math.min(34, Math.floor(room / Math.max(columns, 1))));
      const size = Math.min(TEXT_SIZE, cell - 3);
      const widths = textWidths(source, this.host, size);
      const turned = this.source.map((text, i) => !lone(text) && widths[i] > cell - 3);
      const words = turned.some(Boolean);
      const upright = this.source.map((text, i) => lone(text) || (!turned[i] && !words));
      const top = Math.max(18, ...widths.map((w, i) => (upright[i] ? 18 : Math.ceil(w)))) + 10;
      Object.assign(this, { cell, left, top });

      this.columnLabels = this.source.map((text, i) => {
        const x = (i + 0.5) * cell;
        return upright[i]
          ? label(text, { x, y: top - 8, "text-anchor": "middle" })
          : label(text, { transform: `translate(${x + 4} ${top - 7}) rotate(-90)` });
      });
      this.rowLabels = this.target.map((text, i) =>
        label(text, { x: left - 8, y: (i + 0.5) * cell, dy: "0.35em", "text-anchor": "end" }),
      );
      const band = () => svg("rect", { class: "band", visibility: "hidden" });
      Object.assign(this, { rowBand: band(), columnBand: band(), mark: band() });
      this.mark.setAttribute("class", "mark");
      const area = { width: columns * cell, height: rows * cell };
      this.picture = svg(
        "svg",
        { ...area, class: "cells" },
        svg("rect", { ...area, class: "ground" }),
        svg("path", { d: gridLines(rows, columns, cell), class: "grid-lines" }),
        this.rowBand, // below the cells, whose colours it must not change
        this.columnBand,
        svg("g", {}, ...this.cells()),
        svg("g", {}, ...this.outlines()),
        this.mark,
      );
      this.active = html("div", { role: "gridcell", id: this.id, class: "visually-hidden" });
      this.activeRow = html("div", { role: "row" }, this.active);
      const body = html(
        "div",
        {
          class: "body",
          "--text-size": `${size}px`,
          "--print-zoom": printZoom(left + area.width + 46, top + area.height),
        },
        html("div", { class: "corner" }),
        svg("svg", { width: area.width + 46, height: top, class: "top labels" }, ...this.columnLabels),
        svg("svg", { width: left, height: area.height, class: "left labels" }, ...this.rowLabels),
        this.picture,
        this.entropyBars(),
      );
      body.setAttribute("aria-hidden", "true");
      this.host.replaceChildren(body, this.activeRow);
      fill(this.host, {
        role: "grid",
        tabindex: "0",
        "aria-label": this.words.heatmap(rows, columns),
        "aria-rowcount": rows,
        "aria-colcount": columns,
        "aria-readonly": "true",
      }, []);
      this.listen();
    }

    cells() {
      const { cell } = this;
      const drawn = [];
      this.map.weights.forEach((row, r) =>
        row.forEach((weight, c) => {
          if (weight < FAINTEST_CELL) return;
          drawn.push(
            svg("rect", {
              class: "cell",
              x: c * cell + 0.5,
              y: r * cell + 0.5,
              width: cell - 1,
              height: cell - 1,
              "data-row": r,
              "data-column": c,
              "--weight": `${(100 * weight).toFixed(1)}%`,
            }),
          );
        }),
      );
      return drawn;
    }

    outlines() {
      return (this.map.links ?? []).map(({ source, target, sure }) =>
        svg("rect", {
          class: sure ? "gold sure" : "gold",
          x: source * this.cell + 2,
          y: target * this.cell + 2,
          width: this.cell - 4,
          height: this.cell - 4,
        }),
      );
    }

    // One bar a row at the right edge: how spread its attention is, from none to all alike.
    entropyBars() {
      const { cell } = this;
      const most = Math.log2(Math.max(2, this.source.length));
      const bars = this.map.weights.map((row, r) =>
        svg("rect", {
          class: "entropy-bar",
          x: 8,
          y: r * cell + cell / 2 - 3,
          width: 1 + (36 * Math.min(entropy(row), most)) / most,
          height: 6,
          rx: 2,
        }),
      );
      return svg("svg", { width: 46, height: this.target.length * cell, class: "right" }, ...bars);
    }

    listen() {
      const at = (event) => {
        const box = this.picture.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / this.cell);
        const row = Math.floor((event.clientY - box.top) / this.cell);
        const inside = row >= 0 && row < this.target.length && column >= 0;
        return inside && column < this.source.length ? { row, column } : null;
      };
      this.picture.onpointermove = (event) => this.choose(at(event), false);
      this.picture.onpointerleave = () => this.choose(null, false);
      this.picture.onclick = (event) => this.choose(at(event), true);
      this.host.onkeydown = (event) => {
        const next = moved(event, this.selection, this.target.length, this.source.length);
        if (next === undefined) return;
        event.preventDefault();
        this.choose(next, true);
        if (next) this.reveal(next);
      };
    }

    // Scrolls sideways until the cell is not under the sticky labels.
    reveal({ row, column }) {
      const { host, cell, left, top } = this;
      const x = column * cell;
      const y = row * cell;
      if (x < host.scrollLeft) host.scrollLeft = x;
      const right = left + x + cell - host.clientWidth;
      if (right > host.scrollLeft) host.scrollLeft = right;
      if (y < host.scrollTop) host.scrollTop = y;
      const bottom = top + y + cell - host.clientHeight;
      if (bottom > host.scrollTop) host.scrollTop = bottom;
    }

    select(selection) {
      this.selection = selection;
      const { row = null, column = null } = selection ?? {};
      const { cell } = this;
      const width = this.source.length * cell;
      const height = this.target.length * cell;
      place(this.rowBand, row !== null && [0, row * cell, width, cell]);
      place(this.columnBand, column !== null && [column * cell, 0, cell, height]);
      place(this.mark, row !== null && column !== null && [column * cell, row * cell, cell, cell]);
      this.rowLabels.forEach((node, i) => node.classList.toggle("active", i === row));
      this.columnLabels.forEach((node, i) => node.classList.toggle("active", i === column));
      if (row === null || column === null) {
        this.host.removeAttribute("aria-activedescendant");
        this.active.textContent = "";
        return;
      }
      this.activeRow.setAttribute("aria-rowindex", row + 1);
      this.active.setAttribute("aria-colindex", column + 1);
      const weight = percent(this.map.weights[row][column]);
      const [target, source] = [this.target[row], this.source[column]];
      this.active.textContent = this.words.cell(target, row + 1, source, column + 1, weight);
      this.host.setAttribute("aria-activedescendant", this.id);
    }
  }

  // Whether a label is one character with its marks; some characters are two units of UTF-16.
  function lone(text) {
    return Array.from(text.replace(/\p{M}/gu, "")).length === 1;
  }

  function gridLines(rows, columns, cell) {
    let path = "";
    for (let c = 1; c < columns; c++) path += `M${c * cell} 0v${rows * cell}`;
    for (let r = 1; r < rows; r++) path += `M0 ${r * cell}h${columns * cell}`;
    return path;
  }

  function place(rect, box) {
    rect.setAttribute("visibility", box ? "visible" : "hidden");
    if (!box) return;
    ["x", "y", "width", "height"].forEach((name, i) => rect.setAttribute(name, box[i]));
  }

  // Where a key leads from `selection`: a new one, null for none, undefined if the key means nothing.
  function moved(event, selection, rows, columns) {
    if (event.altKey || event.metaKey || !rows || !columns) return undefined;
    if (event.key === "Escape") return null;
    const steps = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [event.ctrlKey ? -rows : 0, -columns],
      End: [event.ctrlKey ? rows : 0, columns],
      PageUp: [-rows, 0],
      PageDown: [rows, 0],
    };
    const step = steps[event.key];
    if (!step) return undefined;
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    if (!selection) return { row: 0, column: 0 };
    return {
      row: within((selection.row ?? 0) + step[0], rows),
      column: within((selection.column ?? 0) + step[1], columns),
    };
  }

  // ---------------------------------------------------------------- connecting lines

  // Source tokens above, target tokens below, a line for each weight. Left and right move along
  // one side, up and down change sides.
  class Lines {
    constructor(host, map, choose, words = WORDS) {
      Object.assign(this, { host, map, choose, words, id: `lines-${++instances}` });
      this.sides = [map.sourceTokens.map(visibleLabel), map.targetTokens.map(visibleLabel)];
      host.classList.add("attention-lines");
      this.draw();
    }

    draw() {
      const height = 150;
      const pad = 30;
      const pitches = this.sides.map((labels) =>
        textWidths(labels.map(shortened), this.host).map((w) => w + 10),
      );
      const sum = (values) => values.reduce((a, b) => a + b, 0);
      const room = this.host.clientWidth - 8;
      const count = Math.max(...this.sides.map((labels) => labels.length), 1);
      const least = Math.max(17, Math.min(34, room / count));
      const boxes = pitches.map((side) => side.map((width) => Math.max(width, least)));
      const width = Math.max(room, ...boxes.map(sum));
      this.middles = boxes.map((side) => {
        let x = (width - sum(side)) / 2;
        return side.map((box) => (x += box) - box / 2);
      });
      this.tokens = this.sides.map((labels, side) => {
        const y = side === 0 ? pad / 2 : height - pad / 2;
        return labels.map((text, i) => this.token(text, side, i, this.middles[side][i], y, boxes));
      });
      this.lines = this.curves(pad, height - pad, boxes);
      this.host.replaceChildren(
        svg(
          "svg",
          { width, height, role: "presentation", "--print-zoom": printZoom(width, height) },
          svg("g", { "aria-hidden": "true" }, ...this.lines.map((line) => line.node)),
          ...this.tokens.flat(),
        ),
      );
      fill(this.host, {
        role: "listbox",
        tabindex: "0",
        "aria-label": this.words.lines,
      }, []);
      this.listen();
    }

    token(text, side, index, x, y, boxes) {
      const width = boxes[side][index];
      const name = side === 0 ? "source" : "target";
      return svg(
        "g",
        {
          class: "token",
          role: "option",
          id: `${this.id}-${name}-${index}`,
          "aria-selected": "false",
          "aria-label": this.describe(side, index),
          "data-side": name,
          "data-index": index,
        },
        svg("rect", { x: x - width / 2 + 1, y: y - 13, width: width - 2, height: 26, rx: 5 }),
        label(text, { x, y, dy: "0.35em", "text-anchor": "middle" }),
      );
    }

    // A token and the three on the other side that it is tied to most.
    describe(side, index) {
      const [own, other] = side === 0 ? this.sides : [...this.sides].reverse();
      const { weights } = this.map;
      const values = side === 0 ? weights.map((row) => row[index]) : weights[index];
      const ties = greatest(values, 3)
        .filter(([, weight]) => weight >= FAINTEST_LINE)
        .map(([i, weight]) => `${other[i]} ${percent(weight)}`);
      const { sides, place, ties: words } = this.words;
      const where = place(sides[side], own[index], index + 1, own.length);
      return ties.length ? `${where}, ${words(side, ties.join(", "))}` : where;
    }

    curves(top, bottom, boxes) {
      const [sources, targets] = this.middles;
      const middle = (top + bottom) / 2;
      const found = [];
      this.map.weights.forEach((row, target) =>
        row.forEach((weight, source) => {
          if (weight < FAINTEST_LINE) return;
          const [x0, x1] = [sources[source], targets[target]];
          const d = `M${x0} ${top}C${x0} ${middle} ${x1} ${middle} ${x1} ${bottom}`;
          const width = 0.75 + weight * Math.min(8, 0.3 * boxes[1][target]);
          const node = svg("path", { d, class: "line", "stroke-width": width.toFixed(2) });
          node.style.setProperty("--opacity", (0.12 + 0.5 * weight).toFixed(3));
          found.push({ node, source, target });
        }),
      );
      return found;
    }

    listen() {
      const at = (event) => {
        const token = event.target.closest?.(".token");
        return token && this.selectionOf(token.dataset.side, Number(token.dataset.index));
      };
      this.host.onpointermove = (event) => this.choose(at(event), false);
      this.host.onpointerleave = () => this.choose(null, false);
      this.host.onclick = (event) => this.choose(at(event), true);
      this.host.onkeydown = (event) => {
        const next = this.movedBy(event);
        if (next === undefined) return;
        event.preventDefault();
        this.choose(next, true);
        this.reveal();
      };
    }

    selectionOf(side, index) {
      return side === "target" ? { row: index, column: null } : { row: null, column: index };
    }

    movedBy(event) {
      const [source, target] = this.sides;
      if (event.altKey || event.metaKey || !source.length || !target.length) return undefined;
      if (event.key === "Escape") return null;
      const { row = null, column = null } = this.selection ?? {};
      const side = row === null && column !== null ? "source" : "target";
      const index = side === "source" ? column : row;
      const last = (side === "source" ? source : target).length - 1;
      const weights = this.map.weights;
      switch (event.key) {
        case "ArrowLeft":
          return this.selectionOf(side, index === null ? 0 : Math.max(0, index - 1));
        case "ArrowRight":
          return this.selectionOf(side, index === null ? 0 : Math.min(last, index + 1));
        case "Home":
          return this.selectionOf(side, 0);
        case "End":
          return this.selectionOf(side, last);
        case "ArrowUp": // to the source token that this target token looks at most
          if (side === "source") return this.selection;
          return this.selectionOf("source", greatest(weights[index ?? 0], 1)[0][0]);
        case "ArrowDown": // and back to the target token that looks at it most
          if (side === "target") return this.selection ?? this.selectionOf("target", 0);
          return this.selectionOf("target", greatest(weights.map((r) => r[index]), 1)[0][0]);
        default:
          return undefined;
      }
    }

    reveal() {
      const token = this.host.querySelector('[aria-selected="true"] rect');
      if (!token) return;
      const [box, view] = [token.getBoundingClientRect(), this.host.getBoundingClientRect()];
      if (box.left < view.left) this.host.scrollLeft -= view.left - box.left + 20;
      if (box.right > view.right) this.host.scrollLeft += box.right - view.right + 20;
    }

    select(selection) {
      this.selection = selection;
      const { row = null, column = null } = selection ?? {};
      const [sources, targets] = this.tokens;
      const weights = this.map.weights;
      const shade = (node, weight) =>
        node.style.setProperty("--weight", `${(100 * weight).toFixed(1)}%`);
      // A whole row of weights for a target token, a whole column for a source token alone.
      sources.forEach((node, i) => shade(node, row === null ? 0 : weights[row][i]));
      targets.forEach((node, i) => shade(node, row === null && column !== null ? weights[i][column] : 0));
      sources.forEach((node, i) => this.mark(node, i === column));
      targets.forEach((node, i) => this.mark(node, i === row));
      this.host.classList.toggle("selecting", row !== null || column !== null);
      for (const { node, source, target } of this.lines) {
        node.classList.toggle("active", row === null ? source === column : target === row);
      }
      const chosen = row !== null ? targets[row] : column !== null ? sources[column] : null;
      if (chosen) this.host.setAttribute("aria-activedescendant", chosen.id);
      else this.host.removeAttribute("aria-activedescendant");
    }

    mark(node, active) {
      node.classList.toggle("active", active);
      node.setAttribute("aria-selected", String(active));
    }
  }

  // ---------------------------------------------------------------- what is selected, in words

  function readout(host, map, selection, words) {
    const { row = null, column = null } = selection ?? {};
    const source = map.sourceTokens.map(visibleLabel);
    const target = map.targetTokens.map(visibleLabel);
    const token = (text) => html("bdi", { class: "readout-token" }, text);
    if (row === null && column === null) {
      host.replaceChildren(html("p", { class: "hint" }, words.hint));
      return;
    }
    const values = row !== null ? map.weights[row] : map.weights.map((r) => r[column]);
    const names = row !== null ? source : target;
    const title = html("p", { class: "readout-title" });
    if (row !== null && column !== null) {
      const weight = html("strong", {}, percent(map.weights[row][column]));
      title.append(...words.looksAt(token(target[row]), token(source[column]), weight));
    } else if (row !== null) {
      title.append(...words.rowLooksAt(token(target[row]), row + 1, target.length));
    } else {
      title.append(...words.columnSeenBy(token(source[column]), column + 1, source.length));
    }
    const bars = greatest(values, 5)
      .filter(([, weight]) => weight >= FAINTEST_CELL)
      .map(([index, weight]) =>
        html(
          "li",
          { "--weight": `${(100 * weight).toFixed(1)}%` },
          token(names[index]),
          html("span", { class: "readout-place" }, String(index + 1)),
          html("span", { class: "readout-bar" }),
          html("span", { class: "readout-weight" }, percent(weight)),
        ),
      );
    const parts = [title, html("ol", { class: "readout-list" }, ...bars)];
    if (row !== null) {
      const most = Math.log2(Math.max(1, source.length)).toFixed(2);
      const note = words.entropy(entropy(values).toFixed(2), most);
      parts.push(html("p", { class: "hint" }, note));
    }
    host.replaceChildren(...parts);
  }

  // ---------------------------------------------------------------- the two together

  function checked(map) {
    const rows = map.targetTokens.length;
    const columns = map.sourceTokens.length;
    const fits = map.weights.length === rows && map.weights.every((row) => row.length === columns);
    if (!fits && rows && columns) {
      throw new Error(`weights must have ${rows} rows of ${columns}`);
    }
    const weights = fits ? map.weights : map.targetTokens.map(() => []);
    return { ...map, weights: Array.from(weights, (row) => Array.from(row)) };
  }

  function mount(host, { words = {}, onChoose = () => {} } = {}) {
    const said = { ...WORDS, ...words };
    let map = null;
    let chosen = null; // by key or click; stays
    let shown = null; // now, in the drawings
    let views = [];
    let width = 0;
    const linesHost = html("div");
    const heatmapHost = html("div");
    // Not a live region: screen readers hear the active cell or token itself.
    const chosenInWords = html("div", { class: "attention-readout" });
    const gold = html("span", { class: "legend-gold" }, said.legendGold);
    const legend = html(
      "p",
      { class: "attention-legend", "aria-hidden": "true" },
      html("span", {}, said.legend),
      html("span", { class: "ramp" }),
      html("span", {}, "1"),
      html("span", { class: "legend-entropy" }, said.legendEntropy),
      gold,
    );

    // `selection` under the pointer shows while the pointer is there, then what was chosen again.
    function choose(selection, keep) {
      if (keep) {
        chosen = selection;
        onChoose(selection);
      }
      const next = selection ?? chosen;
      // The pointer moves often within one cell.
      if (shown && next && shown.row === next.row && shown.column === next.column) return;
      show(next);
    }

    function show(selection) {
      shown = selection;
      for (const view of views) view.select(shown);
      if (views.length) readout(chosenInWords, map, shown, said);
    }

    function draw() {
      const empty = !map.sourceTokens.length ? said.emptySource : said.emptyTarget;
      if (!map.sourceTokens.length || !map.targetTokens.length) {
        views = [];
        host.replaceChildren(html("p", { class: "attention-empty" }, empty));
        return;
      }
      gold.hidden = !map.links?.length;
      const below = html("div", {}, heatmapHost, legend);
      host.replaceChildren(linesHost, html("div", { class: "attention-below" }, below, chosenInWords));
      const drawn = [map, choose, said];
      views = [new Lines(linesHost, ...drawn), new Heatmap(heatmapHost, ...drawn)];
      show(chosen);
    }

    const resized = new ResizeObserver(() => {
      if (map && host.clientWidth !== width) {
        width = host.clientWidth;
        draw();
      }
    });
    host.classList.add("attention-view");
    resized.observe(host);

    return {
      show(next) {
        map = checked(next);
        chosen = null;
        width = host.clientWidth;
        draw();
      },
      select(selection) {
        choose(selection, true);
      },
      destroy() {
        resized.disconnect();
        host.replaceChildren();
      },
    };
  }

  root.AttentionView = { mount, Heatmap, Lines, WORDS, visibleLabel, readableText, entropy };
})(globalThis);
