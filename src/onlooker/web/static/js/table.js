// Tables whose rows are blocks on a narrow screen, where each cell says the name of its column; the
// roles keep them tables for screen readers there.

import { h } from "./dom.js";

/** The cell at the top of a column. */
export const columnCell = (name, kind = "") => h("th", { scope: "col", role: "columnheader", class: kind }, name);

/** A row, named by its first cell. */
export const tableRow = (title, cells, data = {}) => h("tr", { role: "row", data }, h("th", { scope: "row", role: "rowheader" }, title), cells);

/** A cell; label is the name of its column, or empty if the content says what it is. */
export const tableCell = (label, content = null, kind = "") => h("td", { role: "cell", class: kind, data: label ? { label } : {} }, content);

/** The table of these cells and of a tbody, which the caller fills; label names it. */
export function stackingTable(label, columns, body) {
  body.setAttribute("role", "rowgroup");
  const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns));
  return h("div", { class: "table-box", tabindex: "0", role: "region", ...label }, h("table", { class: "stacking", role: "table" }, head, body));
}
