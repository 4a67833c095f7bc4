// People: everybody who has a name, with their faces.

import { get, pictureOf } from "./api.js";
import { every, on, throttle } from "./bus.js";
import { face, h, reconcile, setText } from "./dom.js";
import { icon } from "./icons.js";
import { personView } from "./person.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";

const FACES = 4;

/** All people, or one of them if the address has an argument. */
export function peopleView(page, { signal, argument }) {
  if (argument) return personView(page, { signal, person: argument });
  const filter = h("input", { id: "filter", type: "search", autocomplete: "off", placeholder: S.people.filter, "aria-label": S.people.filter });
  const found = h("p", { class: "quiet small nowrap", role: "status" });
  const list = h("ul", { class: "people", data: { people: "" } });
  const empty = emptyState(S.people.empty, S.people.emptyWords, h("p", { class: "actions" }, h("a", { class: "button primary", href: "#/photos" }, S.views.photos), h("a", { class: "button", href: "#/strangers" }, S.people.toStrangers)));
  const tools = h("div", { class: "filter-row", hidden: true }, filter, found);
  empty.hidden = true;
  page.append(heading(S.views.people, S.people.lead, h("a", { class: "button", href: "#/photos" }, icon("picture"), S.views.photos)), tools, list, empty);

  let people = [];
  let faces = new Map();
  function draw() {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const shown = people.filter((person) => person.name.toLocaleLowerCase().includes(wanted));
    reconcile(list, shown, (person) => person.id, made, fill);
    empty.hidden = people.length > 0;
    tools.hidden = people.length === 0;
    setText(found, people.length && !shown.length ? S.people.none : S.people.found(shown.length, people.length));
    list.dataset.count = shown.length;
  }
  function made(person) {
    const link = h("a", { href: `#/people/${person.id}`, "aria-label": S.people.open(person.name) }, h("span", { class: "montage" }), h("strong", { class: "person-name" }, person.name), h("span", { class: "quiet small" }));
    return h("li", { class: "person", data: { person: person.id } }, link);
  }
  function fill(node, person) {
    const [montage, , counts] = node.firstChild.children;
    setText(counts, S.people.counts(person.labeled, person.learned));
    const all = faces.get(person.name) ?? [];
    const vertices = all.length < FACES ? all.slice(0, 1) : all; // four in a square, or one
    const key = vertices.join(" ");
    if (montage.dataset.faces === key) return;
    montage.dataset.faces = key;
    montage.dataset.count = vertices.length;
    montage.replaceChildren(...(vertices.length ? vertices.map((vertex) => face(pictureOf.vertex(vertex), "")) : [h("span", { class: "initial" }, [...person.name][0])]));
  }
  filter.addEventListener("input", draw);
  const refresh = every(8000, async () => {
    people = await get("/people", { signal });
    draw(); // the pictures need a slower request
    faces = bestFaces(await get("/map", { signal }));
    draw();
  }, signal);
  on("changed", throttle(4000, refresh, signal), signal);
}

/** A few vertices with pictures of each name: labeled ones first, then the most seen. They come
 * from one request for all people, not from one for each. */
function bestFaces({ vertices }) {
  const best = new Map();
  const ranked = vertices.filter((one) => one.name !== null && one.picture).sort((one, other) => other.labeled - one.labeled || (one.labeled ? one.vertex - other.vertex : other.examples - one.examples));
  for (const one of ranked) {
    const mine = best.get(one.name) ?? [];
    if (mine.length < FACES) best.set(one.name, [...mine, one.vertex]);
  }
  return best;
}
