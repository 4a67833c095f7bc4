// Live: every camera with its boxes, how much was learned, and the most seen stranger to name.

import { get, part, remove } from "./api.js";
import { justStopped, ownCameras } from "./browser_camera.js";
import { every, on, throttle } from "./bus.js";
import { stranger, update } from "./card.js";
import { button, h, reconcile, setText } from "./dom.js";
import { watch } from "./feed.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";
import { counter, refreshSummary, summary } from "./summary.js";
import { tile } from "./tile.js";
import { showError } from "./undo.js";
import { cameraWords } from "./words.js";

const STATES = ["known", "unsure", "nobody", "poor"];

/** Fill the page. */
export function liveView(page, { signal }) {
  const tiles = h("div", { class: "tiles", data: { tiles: "" } });
  const empty = emptyState(S.live.empty, S.live.emptyWords, h("a", { class: "button primary", href: "#/add" }, S.views.add));
  empty.hidden = true;
  const aside = h("div", { class: "live-side" }, learned(signal), question(signal), legend());
  page.append(heading(S.views.live, S.live.lead), h("div", { class: "live" }, h("div", {}, tiles, empty), aside));

  const entries = new Map();
  function made(camera) {
    const abort = new AbortController();
    const one = tile(camera.name, { removal: removal(camera, refresh), signal: abort.signal });
    entries.set(one.element, { one, abort, own: camera.own });
    signal.addEventListener("abort", () => abort.abort(), { once: true, signal: abort.signal });
    if (!camera.own) watch(camera.name, { show: one.show, onState: (how) => how !== "open" && one.note(S.live.reconnecting), signal: abort.signal });
    return one.element;
  }
  function shown(element, camera) {
    const { one } = entries.get(element);
    if (camera.own) {
      camera.source.show = one.show;
      one.note(camera.source.problem);
      element.querySelector("[data-again]").hidden = !camera.source.video.ended;
    } else if (camera.problem) one.note(S.fromService(camera.problem));
    one.state(camera.state, cameraWords(camera));
  }
  let cameras = [];
  function draw() {
    const own = [...ownCameras.values()].map((source) => ({ name: source.name, own: true, source, state: "live", key: `own ${source.name}` }));
    const others = cameras.filter((camera) => !ownCameras.has(camera.name) && !justStopped(camera.name)).map((camera) => ({ ...camera, key: camera.name }));
    const all = [...own, ...others];
    reconcile(tiles, all, (camera) => camera.key, made, shown);
    tiles.dataset.count = all.length;
    empty.hidden = all.length > 0;
    for (const [element, { abort }] of [...entries]) {
      if (element.isConnected) continue;
      abort.abort();
      entries.delete(element);
    }
  }
  const refresh = every(3000, async () => {
    cameras = await get("/cameras", { signal });
    draw();
  }, signal);
  on("ownCameras", draw, signal);
  signal.addEventListener("abort", () => {
    for (const source of ownCameras.values()) source.show = null;
  }, { once: true });
}

function removal(camera, refresh) {
  if (camera.own) {
    const { source } = camera;
    const again = button(S.live.again, () => source.again().catch(showError), { class: "small", data: { again: "" }, hidden: true });
    return [again, button(S.live.stop, () => source.stop(), { class: "plain small", "aria-label": S.live.stopLabel(camera.name) })];
  }
  if (camera.address === "a browser") return [];
  const act = () => remove(`/cameras/${part(camera.name)}`).then(refresh, showError);
  return [button(S.live.remove, act, { class: "plain small", "aria-label": S.live.removeLabel(camera.name) })];
}

/** How many unlabeled faces were learned, counting up. */
function learned(signal) {
  const count = counter();
  const before = h("p", { class: "learned-words" }, S.live.learnedFrom);
  const words = h("p", { class: "learned-words" });
  const knows = h("p", { class: "quiet small" });
  function show() {
    count.set(summary.learned);
    setText(knows, summary.people ? S.live.knows(summary.people, summary.labeled) : S.live.nothingLearned);
    setText(words, S.live.unlabeled(summary.learned));
  }
  on("summary", show, signal);
  count.set(summary.learned, { jump: true });
  show();
  refreshSummary().catch(() => {});
  return h("section", { class: "panel learned", "aria-label": S.views.learned, data: { learned: "" } }, before, h("p", { class: "learned-count" }, count.element), words, knows);
}

/** The best question about a stranger. */
function question(signal) {
  const place = h("div", {});
  const more = h("a", { href: "#/strangers", class: "small" }, S.live.allStrangers);
  const title = h("h2", { id: "who" }, S.live.who);
  const section = h("section", { class: "panel question", hidden: true, "aria-labelledby": "who" }, h("div", { class: "panel-head" }, title, more), place);
  async function refresh() {
    if (place.firstElementChild?.contains(document.activeElement) || place.querySelector("[aria-pressed=true]")) return; // the user is working on it
    const cards = (await get("/questions", { signal })).filter((card) => card.faces.length > 0).slice(0, 1);
    section.hidden = !cards.length;
    setText(title, cards[0]?.candidate ? S.live.known : S.live.who);
    reconcile(place, cards, (card) => card.card, (card) => stranger(card, { level: 3, gone: again, signal }), (node, card) => update(node, card, card.candidate !== null));
  }
  const again = every(5000, refresh, signal);
  on("changed", throttle(3000, again, signal), signal);
  return section;
}

function legend() {
  const rows = STATES.map((state) => h("li", {}, h("span", { class: "swatch", data: { state } }), S.face.states[state]));
  return h("section", { class: "legend", "aria-label": S.live.legend }, h("ul", {}, rows));
}
