// Sites: learners of a cluster. The navigation links here only if there are any.

import { get } from "./api.js";
import { every } from "./bus.js";
import { h, reconcile, setText } from "./dom.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";
import { columnCell, stackingTable, tableCell, tableRow } from "./table.js";

const NUMBERS = ["cameras", "vertices", "people", "examples", "sequence"];

/** Fill the page. */
export function sitesView(page, { signal }) {
  const { columns } = S.sites;
  const body = h("tbody", {});
  const head = ["name", "state", ...NUMBERS].map((key) => columnCell(columns[key], NUMBERS.includes(key) ? "number" : ""));
  const table = stackingTable({ "aria-label": S.views.sites }, head, body);
  const empty = emptyState(S.sites.empty, S.sites.emptyWords);
  empty.hidden = true;
  page.append(heading(S.views.sites, S.sites.lead), table, empty);
  function made() {
    const state = tableCell("", [h("span", { class: "dot" }), h("span", {}), h("span", { class: "quiet small problem" })]);
    return tableRow("", [state, ...NUMBERS.map((key) => tableCell(columns[key], null, "number"))]);
  }
  function fill(row, site) {
    const [name, state, ...numbers] = row.children;
    setText(name, site.name);
    state.firstChild.dataset.state = site.state;
    setText(state.children[1], S.sites.states[site.state] ?? site.state);
    setText(state.children[2], S.fromService(site.problem ?? ""));
    numbers.forEach((cell, at) => setText(cell, site[NUMBERS[at]] === null ? S.health.none : S.number(site[NUMBERS[at]])));
  }
  every(3000, async () => {
    const sites = await get("/sites", { signal });
    reconcile(body, sites, (site) => site.name, made, fill);
    table.hidden = !sites.length;
    empty.hidden = sites.length > 0;
  }, signal);
}
