// Events: who was seen and what changed, newest first, one page at a time.

import { API, get, pictureOf, query } from "./api.js";
import { every, on, throttle } from "./bus.js";
import { button, face, h, reconcile, setText } from "./dom.js";
import { emptyState, heading } from "./router.js";
import { faceOf, openFind, when, whoWords } from "./sightings.js";
import { S } from "./strings.js";
import { askUndo, showError } from "./undo.js";
import { openVertex } from "./why.js";
import { eventWords } from "./words.js";

const PAGE = 50;
const RETRY = 5000;
const LATE = 200; // milliseconds
const NO_CHANGE = new Set(["alarm", "twice", "camera"]);
const STRANGERS = "?"; // a name is written as =NAME there
const valueOf = (name) => `=${name}`;
const chosenWho = (value) => (value === STRANGERS ? { strangers: "true" } : { name: value.slice(1) });

const LISTS = {
  sightings: {
    columns: [S.events.face, S.events.when, S.events.who, S.events.camera],
    path: "/sightings",
    cells: (one, { filter }) => [faceOf(one, filter), when(one.time), one.name === null ? whoWords(one) : h("strong", {}, one.name), one.camera ?? S.health.none],
  },
  events: {
    columns: [S.events.number, S.events.when, S.events.kind, S.events.camera, S.events.happened, S.undo.column],
    path: "/events",
    cells: (one, { oldest }) => [String(one.sequence), when(one.time), S.events.kinds[one.kind] ?? one.kind, one.camera ?? S.health.none, one.alarm ? alarmCell(one.alarm) : eventWords(one.changes), undoCell(one, oldest)],
  },
};

/** The way back to before an event; nothing for one that changed nothing. */
function undoCell(one, oldest) {
  if (NO_CHANGE.has(one.kind)) return "";
  if (one.kind === "forget") return h("span", { class: "quiet small" }, S.undo.forgotten);
  if (one.sequence <= oldest) return h("span", { class: "quiet small" }, S.undo.tooOld);
  return button(S.undo.undo, () => askUndo(one.sequence).catch(showError), { class: "small", "aria-label": S.undo.open(one.sequence), data: { undo: one.sequence } });
}

/** An alarm in words, and the faces that caused it; each can be asked about, and corrected. */
function alarmCell(alarm) {
  const faces = alarm.pictures.map((vertex) => button(face(pictureOf.vertex(vertex), ""), () => openVertex(vertex), { class: "face-button", "aria-label": S.events.alarmFace(vertex), data: { vertex } }));
  return h("div", { class: "alarm", data: { alarm: alarm.kind } }, S.fromService(alarm.words), h("div", { class: "why-group-faces" }, faces));
}

/** Fill the page. */
export function eventsView(page, { signal }) {
  let which = "sightings";
  let before = null;
  const tabs = Object.keys(LISTS).map((name) => button(name === "events" ? S.events.changes : S.events.sightings, () => choose(name), { "aria-pressed": String(name === which), data: { list: name } }));
  const kind = select("kind", S.events.kind, Object.entries(S.events.kinds));
  const camera = select("camera", S.events.camera, []);
  const name = select("name", S.events.name, []);
  const csv = h("a", { class: "button", download: "" }, S.events.csv);
  const head = h("tr", {});
  const body = h("tbody", {});
  const table = h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": S.views.events }, h("table", {}, h("thead", {}, head), body));
  const empty = emptyState(S.events.empty, S.events.emptyWords);
  const showPage = (to) => {
    turn(to);
    scrollTo(0, 0);
  };
  const newest = button(S.events.newest, () => showPage(null));
  const older = button(S.events.older, () => showPage(last));
  const news = h("p", { class: "quiet small", role: "status" });
  const paging = h("nav", { class: "paging", "aria-label": S.events.paging }, newest, older, news);
  page.append(
    heading(S.views.events, S.events.lead, button(S.seen.find, () => openFind(showOnly), { class: "primary", data: { find: "" } }), csv),
    h("div", { class: "filters" }, h("div", { class: "segments", role: "group", "aria-label": S.events.what }, tabs), name.element, kind.element, camera.element),
    table,
    empty,
    paging,
  );
  let last = null;
  let offered = false;
  let shown = false;
  // Before the first answer it is not known whether there are any.
  empty.hidden = table.hidden = paging.hidden = true;

  const filter = () => ({ camera: camera.value, ...(which === "events" ? { kind: kind.value } : chosenWho(name.value)) });
  /** List the sightings of somebody; of strangers, all. */
  function showOnly(one) {
    name.value = one.name === null ? STRANGERS : valueOf(one.name);
    camera.value = "";
    choose("sightings");
    scrollTo(0, 0);
  }

  async function load() {
    const { path, columns, cells } = LISTS[which];
    const more = which === "events" ? { newest: "true" } : {};
    csv.href = `${API}${path}.csv${query(filter())}`;
    const found = await get(`${path}${query({ ...filter(), ...more, before, limit: PAGE + 1 })}`, { signal });
    const oldest = which === "events" ? await oldestUndo(found[0]?.sequence ?? 0) : 0;
    if (!shown) return; // something else was chosen meanwhile
    const rows = found.slice(0, PAGE);
    head.replaceChildren(...columns.map((column) => h("th", { scope: "col" }, column)));
    // Rows that did not change stay: a new one in the middle of a click would lose it.
    reconcile(body, rows, (one) => JSON.stringify([which, one, one.sequence <= oldest]), (one) => h("tr", {}, cells(one, { filter: showOnly, oldest }).map((cell) => h("td", {}, cell))));
    last = rows.length ? (rows.at(-1).sequence ?? rows.at(-1).number ?? rows.at(-1).id ?? rows.at(-1).time) : null;
    const filtered = Object.values(filter()).some(Boolean) || before !== null;
    setText(empty.lastChild, filtered ? S.events.emptyFilter : S.events.emptyWords);
    empty.hidden = rows.length > 0;
    table.hidden = !rows.length;
    paging.hidden = !rows.length && before === null;
    older.disabled = found.length <= PAGE;
    newest.disabled = before === null;
    setText(news, "");
    table.dataset.list = which;
    table.dataset.rows = rows.length;
  }

  /** The oldest event that can be undone to. Health is a little late: not as of before the newest event shown. */
  async function oldestUndo(newest) {
    for (;;) {
      const health = await get("/health", { signal });
      if (health.sequence >= newest) return health.oldest;
      await new Promise((resolve) => setTimeout(resolve, LATE));
    }
  }

  // Repeats until the chosen page could be read.
  const refresh = every(RETRY, async () => {
    if (!offered) await offer();
    if (shown) return;
    shown = true;
    await load().catch((error) => {
      shown = false;
      throw error;
    });
  }, signal);
  async function offer() {
    const [cameras, people] = await Promise.all([get("/cameras", { signal }), get("/people", { signal })]);
    camera.offer(cameras.map((one) => [one.name, one.name]));
    name.offer([[STRANGERS, S.events.strangers], ...people.map((one) => [valueOf(one.name), one.name])]);
    offered = true;
  }
  function reload() {
    shown = false;
    refresh();
  }

  function turn(to) {
    before = to;
    reload();
  }
  function choose(list) {
    which = list;
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.list === which));
    kind.element.hidden = which !== "events";
    name.element.hidden = which === "events";
    turn(null);
  }
  for (const one of [kind, camera, name]) one.element.addEventListener("change", () => turn(null));
  // The first page updates itself; an older one stays, with a note that there are new events.
  on("changed", throttle(2500, () => {
    if (document.hidden) return;
    if (!shown || (before === null && !table.contains(document.activeElement))) reload();
    else setText(news, S.events.follow);
  }, signal), signal);
  choose(which);
}

function select(key, label, options) {
  const field = h("select", { id: `events-${key}` });
  const element = h("div", { class: "field" }, h("label", { for: field.id }, label), field);
  const offer = (given) => field.replaceChildren(...[["", S.events.any], ...given].map(([value, words]) => h("option", { value }, words)));
  offer(options);
  return { element, offer, get value() { return field.value; }, set value(chosen) { field.value = chosen; } };
}
