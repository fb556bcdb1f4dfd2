// Draws the beam as a tree: one column a step, one row a branch; what was dropped is faint.
import { END } from "./engine.js";

const SVG_NAME = "http://www.w3.org/2000/svg";
const [ROW, COLUMN, MARGIN] = [30, 46, 14];

function svgNode(name, properties, ...children) {
  const made = document.createElementNS(SVG_NAME, name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Rows from the top: branches that stood at the end before those that were dropped.
function laidOut(nodes) {
  const children = new Map(nodes.map((node) => [node, []]));
  for (const node of nodes) if (node.parent) children.get(node.parent).push(node);
  const rowOf = new Map();
  let rows = 0;
  const place = (node) => {
    const below = children.get(node).sort(
      (a, b) => b.kept - a.kept || b.logProbability - a.logProbability,
    );
    rowOf.set(node, below.length ? undefined : rows);
    if (!below.length) rows += 1;
    below.forEach(place);
    if (below.length) rowOf.set(node, rowOf.get(below[0]));
  };
  place(nodes[0]);
  return { rowOf, rows };
}

export function drawTree(host, model, { nodes, hypotheses }, words) {
  const { rowOf, rows } = laidOut(nodes);
  const label = (node) =>
    node.token === END ? "⏎" : AttentionView.visibleLabel(model.target.token(node.token));
  const shown = nodes.slice(1);
  // Long tokens, as words are, need wider columns.
  const longest = Math.max(...shown.map((node) => Array.from(label(node)).length));
  const column = Math.max(COLUMN, Math.min(150, 24 + 10 * longest));
  const x = (node) => MARGIN + (node.step + 1) * column;
  const y = (node) => MARGIN + rowOf.get(node) * ROW + ROW / 2;
  const best = new Set();
  for (let node = hypotheses[0].last; node; node = node.parent) best.add(node);
  const classOf = (node) => (best.has(node) ? "best" : node.kept ? "kept" : "dropped");

  const edges = shown.map((node) => {
    const middle = (x(node) + x(node.parent)) / 2;
    const [from, to] = [y(node.parent), y(node)];
    const d = `M${x(node.parent)} ${from}C${middle} ${from} ${middle} ${to} ${x(node)} ${to}`;
    return svgNode("path", { d, class: `edge ${classOf(node)}` });
  });
  const marks = shown.map((node) => {
    const text = label(node);
    const drawn = Array.from(text).length > 12 ? `${Array.from(text).slice(0, 11).join("")}…` : text;
    const width = Math.max(24, 12 + 9 * Array.from(drawn).length);
    const gain = Math.exp(node.logProbability - node.parent.logProbability);
    return svgNode(
      "g",
      { class: `node ${classOf(node)}`, transform: `translate(${x(node)} ${y(node)})` },
      svgNode("rect", { x: -width / 2, y: -11, width, height: 22, rx: 6 }),
      svgNode("text", { dy: "0.35em", "text-anchor": "middle", direction: "ltr" }, drawn),
      svgNode("title", {}, words.treeNode(text, gain)),
    );
  });
  const last = Math.max(...shown.map(x));
  const size = { width: last + 34, height: rows * ROW + 2 * MARGIN };
  const start = svgNode("circle", { cx: MARGIN, cy: y(nodes[0]), r: 4, class: "root" });
  const dropped = nodes.filter((node) => node.step >= 0 && !node.kept).length;
  const name = words.tree(hypotheses.length, dropped, hypotheses[0].text);
  host.replaceChildren(
    svgNode("svg", { ...size, role: "img", "aria-label": name }, start, ...edges, ...marks),
  );
}
