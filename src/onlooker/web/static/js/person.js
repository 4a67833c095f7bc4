// One person: faces, history, and rename, merge, export and forget.

import { API, get, patch, pictureOf, post, remove } from "./api.js";
import { every, on, throttle, untilDone } from "./bus.js";
import { barChart } from "./chart.js";
import { askForm, confirmed, openDialog } from "./dialog.js";
import { button, face, h, reconcile, setText } from "./dom.js";
import { emptyState, go, heading } from "./router.js";
import { S } from "./strings.js";
import { changed, showError } from "./undo.js";
import { openVertex } from "./why.js";

const SHOWN = 48;
const PERIODS = [["24", S.people.day], ["168", S.people.week], ["720", S.people.month]];

/** Fill the page. */
export function personView(page, { signal: open, person: id }) {
  const back = h("a", { href: "#/people", class: "back" }, `← ${S.people.back}`);
  const head = heading(S.loading, "");
  page.append(back, head);
  untilDone(async () => {
    const everybody = await get("/people", { signal: open });
    fillPage(page, { open, id, back, head, person: everybody.find((one) => one.id === id) });
  }, open);
}

function fillPage(page, { open, id, back, head, person }) {
  const over = new AbortController();
  const signal = AbortSignal.any([open, over.signal]);
  /** The person was renamed, merged or forgotten, perhaps in another tab: this is not an error. */
  const gone = () => {
    over.abort();
    page.replaceChildren(back, heading(S.views.people, ""), emptyState(S.people.gone, ""));
  };
  if (!person) return gone();
  const download = h("a", { class: "button", href: `${API}/people/${id}/export`, download: "" }, S.people.export);
  const tools = [
    h("a", { class: "button", href: `#/photos/${id}` }, S.views.photos),
    button(S.people.rename, () => rename(person).catch(showError)),
    button(S.people.merge, () => merge(person).catch(showError)),
    download,
    button(S.people.forget, () => forget(person).catch(showError), { class: "danger" }),
  ];
  const counts = h("p", { class: "lead" });
  const showCounts = () => setText(counts, `${S.people.counts(person.labeled, person.learned)} · ${S.people.seen(person.examples)}`);
  showCounts(); // at once: a line that appears later moves the buttons away from under a click
  const full = heading(person.name, "", ...tools);
  full.firstChild.append(counts);
  const reading = head.contains(document.activeElement);
  head.replaceWith(full);
  document.title = S.titleOf(person.name);
  if (reading) full.querySelector("h1").focus({ preventScroll: true });

  const labeled = faceList(S.people.labeled, S.people.labeledWords, "labeled", "");
  const learned = faceList(S.people.learned, S.people.learnedWords, "learned", S.people.noLearned);
  const unlessGone = (act) => () => act().catch((error) => {
    if (error.status !== 404) throw error;
    gone();
  });
  page.append(history(id, signal, unlessGone), labeled.element, learned.element);
  const refresh = every(6000, unlessGone(async () => {
    person = (await get("/people", { signal })).find((one) => one.id === id);
    if (!person) return gone();
    const faces = await get(`/faces?person=${id}`, { signal });
    showCounts();
    labeled.show(faces.filter((one) => one.kind === "labeled"));
    learned.show(faces.filter((one) => one.kind === "learned").sort((one, other) => other.examples - one.examples));
  }), signal);
  on("changed", throttle(3000, refresh, signal), signal);
}

function faceList(title, words, kind, nothing) {
  const list = h("ul", { class: "faces" });
  const none = h("p", { class: "quiet", hidden: true }, nothing);
  const all = button("", () => {
    limit = Infinity;
    show(faces);
  }, { class: "small", hidden: true });
  let limit = SHOWN;
  let faces = [];
  function made(one) {
    const picture = one.picture ? face(pictureOf.vertex(one.vertex), "") : h("span", { class: "no-face" }, S.people.noPicture);
    return h("li", {}, button([picture, h("span", { class: "represents" })], () => openVertex(one.vertex), { class: `face-button ${kind}` }));
  }
  function fill(node, one) {
    const ask = node.firstChild;
    ask.setAttribute("aria-label", S.people.faceOf(one.name, one.kind, one.examples));
    setText(ask.lastChild, one.examples > 1 ? S.why.count(one.examples) : "");
  }
  function show(found) {
    faces = found;
    reconcile(list, faces.slice(0, limit), (one) => one.vertex, made, fill);
    all.hidden = faces.length <= limit;
    setText(all, S.people.all(faces.length));
    none.hidden = faces.length > 0;
  }
  const element = h("section", { class: "part", data: { faces: kind } }, h("h2", {}, title), h("p", { class: "quiet small" }, words), list, none, all);
  return { element, show };
}

function history(id, signal, unlessGone) {
  const place = h("div", { class: "history" });
  const period = h("select", { id: "period" }, PERIODS.map(([hours, words]) => h("option", { value: hours }, words)));
  const refresh = every(30000, unlessGone(async () => {
    place.replaceChildren(barChart(await get(`/people/${id}/history?hours=${period.value}&buckets=48`, { signal })));
  }), signal);
  period.addEventListener("change", refresh);
  on("back", refresh, signal);
  return h("section", { class: "part" }, h("div", { class: "part-head" }, h("h2", {}, S.people.history), h("label", { for: "period", class: "hidden" }, S.people.hours), period), place);
}

async function rename(person) {
  const field = h("input", { id: "new-name", type: "text", maxlength: 200, value: person.name, autocomplete: "off", spellcheck: "false" });
  const renamed = await askForm({
    title: S.people.renameTitle(person.name),
    fields: [h("label", { for: "new-name" }, S.people.newName), field],
    yes: S.people.rename,
    send: () => {
      if (!field.value.trim()) throw new Error(S.naming.empty);
      return patch(`/people/${person.id}`, { name: field.value.trim() });
    },
  });
  if (!renamed) return;
  changed(S.people.renamed(renamed.name), renamed.undo);
  go("people", renamed.id);
}

async function merge(person) {
  const others = (await get("/people")).filter((one) => one.id !== person.id);
  const choice = h("select", { id: "merge-into" }, others.map((one) => h("option", { value: one.id }, one.name)));
  const merged = await askForm({
    title: S.people.mergeTitle(person.name),
    intro: h("p", {}, others.length ? S.people.mergeWords : S.people.mergeNobody),
    fields: others.length ? [h("label", { for: "merge-into" }, S.people.mergeInto), choice] : [],
    yes: S.people.merge,
    send: () => {
      if (!others.length) throw new Error(S.people.mergeNobody);
      return post("/people/merge", { person: person.id, into: choice.value });
    },
  });
  if (!merged) return;
  changed(S.people.merged(person.name, merged.name), merged.undo);
  go("people", merged.id);
}

/** What a forgetting deletes, and what it leaves: two lists. */
function whatGoes(name, goes) {
  const counts = Object.entries(S.people.goesRows).filter(([key]) => goes[key] > 0).map(([key, words]) => words(goes[key]));
  const list = (title, key, lines) => h("section", { data: { [key]: "" } }, h("h3", {}, title), h("ul", { class: "undo-lines" }, lines.map((line) => h("li", {}, line))));
  return [
    list(S.people.goes, "goes", [S.people.goesNames(name), ...counts, S.people.goesEvents, S.people.goesUndo]),
    list(S.people.staysTitle, "stays", [S.people.staysPeople(goes.people_left), S.people.staysCopies]),
    h("p", {}, h("strong", {}, S.people.forgetFinal)),
  ];
}

async function forget(person) {
  const goes = await get(`/people/${person.id}/forget`);
  const sure = await confirmed({ title: S.people.forgetTitle(person.name), words: whatGoes(person.name, goes), yes: S.people.forgetDo, danger: true });
  if (!sure) return;
  const receipt = await remove(`/people/${person.id}`);
  const rows = Object.entries(S.people.rows)
    .filter(([key]) => receipt[key] !== undefined)
    .map(([key, words]) => h("div", {}, h("dt", {}, words), h("dd", {}, S.number(Array.isArray(receipt[key]) ? receipt[key].length : receipt[key]))));
  const dialog = openDialog({ title: S.people.receipt(person.name), view: "receipt", body: [h("p", {}, S.people.receiptWords), h("dl", { class: "receipt" }, rows)] });
  await dialog.closed;
  go("people");
}
