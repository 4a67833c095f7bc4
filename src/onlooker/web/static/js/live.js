// Live: every camera with its boxes, what was learned, and the question who that was.

import { get, part, remove } from "./api.js";
import { guests, justStopped } from "./browser_camera.js";
import { every, on, seldom } from "./bus.js";
import { stranger, update } from "./card.js";
import { button, h, reconcile, setText } from "./dom.js";
import { watch } from "./feed.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";
import { counter, refreshSummary, summary } from "./summary.js";
import { tile } from "./tile.js";
import { complain } from "./undo.js";

const STATES = ["known", "unsure", "nobody", "poor"];

/** Fill the page. */
export function liveView(page, { signal }) {
  const tiles = h("div", { class: "tiles", data: { tiles: "" } });
  const empty = emptyState(S.live.empty, S.live.emptyWords, h("a", { class: "button primary", href: "#/add" }, S.views.add));
  empty.hidden = true;
  const aside = h("div", { class: "live-side" }, learned(signal), question(signal), legend());
  page.append(heading(S.views.live, S.live.lead), h("div", { class: "live" }, h("div", {}, tiles, empty), aside));

  const lives = new Map();
  function made(camera) {
    const abort = new AbortController();
    const one = tile(camera.name, { removal: removal(camera, look), signal: abort.signal });
    lives.set(one.element, { one, abort, own: camera.own });
    signal.addEventListener("abort", () => abort.abort(), { once: true, signal: abort.signal });
    if (!camera.own) watch(camera.name, { show: one.show, told: (how) => how !== "open" && one.note(S.live.reconnecting), signal: abort.signal });
    return one.element;
  }
  function shown(element, camera) {
    const { one } = lives.get(element);
    if (camera.own) {
      camera.guest.show = one.show;
      one.note(camera.guest.problem);
      element.querySelector("[data-again]").hidden = !camera.guest.video.ended;
    } else if (camera.problem) one.note(camera.problem);
    one.state(camera.state, S.live.states[camera.state] ?? camera.state);
  }
  let cameras = [];
  function draw() {
    const own = [...guests.values()].map((guest) => ({ name: guest.name, own: true, guest, state: "watching", key: `own ${guest.name}` }));
    const others = cameras.filter((camera) => !guests.has(camera.name) && !justStopped(camera.name)).map((camera) => ({ ...camera, key: camera.name }));
    const all = [...own, ...others];
    reconcile(tiles, all, (camera) => camera.key, made, shown);
    tiles.dataset.count = all.length;
    empty.hidden = all.length > 0;
    for (const [element, { abort }] of [...lives]) {
      if (element.isConnected) continue;
      abort.abort();
      lives.delete(element);
    }
  }
  const look = every(3000, async () => {
    cameras = await get("/cameras", { signal });
    draw();
  }, signal);
  on("guests", draw, signal);
  signal.addEventListener("abort", () => {
    for (const guest of guests.values()) guest.show = null;
  }, { once: true });
}

function removal(camera, look) {
  if (camera.own) {
    const { guest } = camera;
    const again = button(S.live.again, () => guest.again().catch(complain), { class: "small", data: { again: "" }, hidden: true });
    return [again, button(S.live.stop, () => guest.stop(), { class: "plain small", "aria-label": S.live.stopLabel(camera.name) })];
  }
  if (camera.address === "a browser") return [];
  const act = () => remove(`/cameras/${part(camera.name)}`).then(look, complain);
  return [button(S.live.remove, act, { class: "plain small", "aria-label": S.live.removeLabel(camera.name) })];
}

/** How much it taught itself, counting up. */
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

/** The stranger who was seen most, with the question. */
function question(signal) {
  const place = h("div", {});
  const more = h("a", { href: "#/strangers", class: "small" }, S.live.allStrangers);
  const section = h("section", { class: "panel question", hidden: true, "aria-labelledby": "who" }, h("div", { class: "panel-head" }, h("h2", { id: "who" }, S.live.who), more), place);
  async function look() {
    if (place.firstElementChild?.contains(document.activeElement) || place.querySelector("[aria-pressed=true]")) return; // somebody is busy with it
    const cards = (await get("/strangers", { signal })).filter((card) => card.faces.length > 0).slice(0, 1);
    section.hidden = !cards.length;
    reconcile(place, cards, (card) => card.card, (card) => stranger(card, { level: 3, gone: again, signal }), update);
  }
  const again = every(5000, look, signal);
  on("changed", seldom(3000, again, signal), signal);
  return section;
}

function legend() {
  const rows = STATES.map((state) => h("li", {}, h("span", { class: "swatch", data: { state } }), S.face.states[state]));
  return h("section", { class: "legend", "aria-label": S.live.legend }, h("ul", {}, rows));
}
