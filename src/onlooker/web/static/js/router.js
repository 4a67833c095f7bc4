// Shows one view at a time, by the part of the address after #. A view ends when its signal aborts.

import { emit } from "./bus.js";
import { h } from "./dom.js";
import { S } from "./strings.js";

const views = new Map();
let current = null;

/** The element that contains the view. */
export const main = h("main", { id: "main", tabindex: "-1" });

/** view(page, {signal, argument}) fills the page; what it returns is ignored. */
export function route(name, view) {
  views.set(name, view);
}

/** Go to a view. */
export function go(name, argument = "") {
  const hash = `#/${name}${argument ? `/${encodeURIComponent(argument)}` : ""}`;
  if (location.hash === hash) show();
  else location.hash = hash;
}

function parseAddress() {
  const [, name = "", argument = ""] = /^#\/([a-z]*)(?:\/(.*))?$/.exec(location.hash) ?? [];
  let decoded = "";
  try {
    decoded = decodeURIComponent(argument);
  } catch {
    // a malformed address, which the page itself never writes
  }
  return views.has(name) ? { name, argument: decoded } : { name: "live", argument: "" };
}

function show({ first = false } = {}) {
  const { name, argument } = parseAddress();
  current?.abort();
  current = new AbortController();
  const { signal } = current;
  const page = h("div", { class: `view view-${name}`, data: { view: name } });
  main.replaceChildren(page);
  emit("view", name);
  document.title = S.titleOf(S.views[name]);
  const shown = views.get(name)(page, { signal, argument });
  Promise.resolve(shown).catch((error) => {
    if (error.name !== "AbortError") emit("error", error);
  });
  if (first) return;
  scrollTo(0, 0);
  page.querySelector("h1").focus({ preventScroll: true }); // where a screen reader begins to read
}

/** Show the view of the address, now and whenever it changes. */
export function startRouter() {
  addEventListener("hashchange", () => location.hash.startsWith("#/") && show());
  show({ first: true });
}

/** The head of a view: its only h1, and a sentence below. */
export function heading(title, lead, ...more) {
  return h(
    "header",
    { class: "view-head" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), lead && h("p", { class: "lead" }, lead)),
    more.length ? h("div", { class: "view-tools" }, ...more) : null,
  );
}

/** The text of a view that has nothing to show. */
export function emptyState(title, words, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), words && h("p", {}, words), ...more);
}
