// The map as a table, for users who cannot see the drawing; filled only when it is opened.

import { button, h, reconcile, setText } from "./dom.js";
import { S } from "./strings.js";
import { columnCell, stackingTable, tableCell, tableRow } from "./table.js";
import { openVertex } from "./why.js";

const T = S.map;

/** {element, show(graph)} */
export function mapTable() {
  const body = h("tbody", {});
  const box = stackingTable({ "aria-label": T.list }, [...Object.values(T.columns), T.ask].map((name) => columnCell(name)), body);
  const element = h("details", { class: "map-table" }, h("summary", {}, T.list), box);
  let graph = null;

  function draw() {
    if (!graph || !element.open) return;
    const near = nearest(graph);
    const rows = graph.vertices.map((vertex, at) => ({ ...vertex, near: near[at] }));
    reconcile(body, rows, (row) => row.vertex, made, fill);
  }
  function made(row) {
    const ask = button(T.ask, () => openVertex(row.vertex), { class: "plain small", "aria-label": T.why(row.vertex) });
    const { name, kind, examples, near } = T.columns;
    return tableRow(T.face(row.vertex), [...[name, kind, examples, near].map((column) => tableCell(column)), tableCell("", ask)]);
  }
  function fill(node, row) {
    const [, name, kind, examples, near] = node.children;
    setText(name, row.name ?? S.nobody);
    setText(kind, row.labeled ? T.labeled : T.learned);
    setText(examples, S.number(row.examples));
    setText(near, row.near === null ? S.health.none : T.face(row.near));
  }
  element.addEventListener("toggle", draw);
  return {
    element,
    show(found) {
      graph = found;
      draw();
    },
  };
}

function nearest({ vertices, links }) {
  const best = vertices.map(() => null);
  const most = new Float64Array(vertices.length);
  for (const [i, j, w] of links) {
    if (w > most[i]) [best[i], most[i]] = [vertices[j].vertex, w];
    if (w > most[j]) [best[j], most[j]] = [vertices[i].vertex, w];
  }
  return best;
}
