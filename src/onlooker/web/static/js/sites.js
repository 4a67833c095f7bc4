// Sites: learners of a cluster. The navigation links here only if there are any.

import { get } from "./api.js";
import { every } from "./bus.js";
import { h, reconcile, setText } from "./dom.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";

const NUMBERS = ["cameras", "vertices", "people", "examples", "sequence"];

/** Fill the page. */
export function sitesView(page, { signal }) {
  const { columns } = S.sites;
  const body = h("tbody", {});
  const head = h("tr", {}, ["name", "state", ...NUMBERS].map((key) => h("th", { scope: "col", class: NUMBERS.includes(key) ? "number" : "" }, columns[key])));
  const table = h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": S.views.sites }, h("table", {}, h("thead", {}, head), body));
  const empty = emptyState(S.sites.empty, S.sites.emptyWords);
  empty.hidden = true;
  page.append(heading(S.views.sites, S.sites.lead), table, empty);
  function made() {
    return h("tr", {}, h("th", { scope: "row" }), h("td", {}, h("span", { class: "dot" }), h("span", {}), h("span", { class: "quiet small problem" })), NUMBERS.map(() => h("td", { class: "number" })));
  }
  function fill(row, site) {
    const [name, state, ...numbers] = row.children;
    setText(name, site.name);
    state.firstChild.dataset.state = site.state;
    setText(state.children[1], S.sites.states[site.state] ?? site.state);
    setText(state.children[2], site.problem ?? "");
    numbers.forEach((cell, at) => setText(cell, S.number(site[NUMBERS[at]])));
  }
  every(3000, async () => {
    const sites = await get("/sites", { signal });
    reconcile(body, sites, (site) => site.name, made, fill);
    table.hidden = !sites.length;
    empty.hidden = sites.length > 0;
  }, signal);
}
