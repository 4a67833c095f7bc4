// One camera: a picture, the boxes found in this picture, and a description below.

import { overlay } from "./boxes.js";
import { button, h, reconcile, setText } from "./dom.js";
import { S } from "./strings.js";
import { learnedNow } from "./summary.js";
import { openSeen } from "./why.js";
import { longWords, nameOf, shortWords, stateOf } from "./words.js";

const ROWS = 5;
const LINGER = 1500;
const DESCRIBE_EVERY = 700;

/** The element of a camera, and functions to update it. */
export function tile(name, { removal, signal }) {
  const canvas = h("canvas", { class: "picture", role: "img", "aria-label": S.live.picture(name), width: 640, height: 480 });
  const layer = h("div", { class: "boxes", role: "group", "aria-label": S.live.faces(name), tabindex: "-1" });
  const note = h("p", { class: "tile-note" }, S.live.waitingForPicture);
  const rate = h("span", { class: "rate" });
  const state = h("span", { class: "tile-state" });
  const rows = h("ul", { class: "here", "aria-label": S.live.here });
  const element = h(
    "article",
    { class: "tile", "aria-label": S.live.tile(name), data: { camera: name } },
    h("div", { class: "stage" }, canvas, layer, note),
    h("div", { class: "tile-bar" }, h("h2", {}, name), state, rate, removal),
    rows,
  );
  const context = canvas.getContext("2d", { alpha: false });
  const boxes = overlay(layer, (track) => openSeen(name, track));
  const arrivals = [];
  const recent = new Map();
  let describedAt = 0;
  let latency = null;

  function measure(now) {
    arrivals.push(now);
    while (arrivals.length > 1 && now - arrivals[0] > 5000) arrivals.shift();
  }

  function describe(faces, now) {
    for (const face of faces) recent.set(face.track, { face, at: now });
    for (const [track, one] of recent) if (now - one.at > LINGER) recent.delete(track);
    if (now - describedAt < DESCRIBE_EVERY) return;
    describedAt = now;
    const shown = [...recent.values()].map((one) => one.face).slice(0, ROWS);
    reconcile(rows, shown, (face) => face.track, row, fill);
    setText(rate, rates());
  }

  function row(face) {
    const words = h("p", {});
    const what = h("strong", {});
    const ask = button(S.map.ask, () => openSeen(name, face.track), { class: "plain small" });
    return h("li", {}, h("span", { class: "swatch" }), h("div", {}, what, words), ask);
  }

  function fill(node, face) {
    const [swatch, words, ask] = node.children;
    swatch.dataset.state = stateOf(face);
    setText(words.firstChild, nameOf(face) ?? shortWords(face));
    setText(words.lastChild, longWords(face));
    ask.setAttribute("aria-label", `${S.map.ask} ${nameOf(face) ?? S.face.nobody}`);
  }

  function setState(kind, words) {
    element.dataset.state = kind;
    setText(state, kind === "live" ? "" : words);
  }

  function rates() {
    const span = arrivals.length > 1 ? (arrivals.at(-1) - arrivals[0]) / 1000 : 0;
    const fps = span > 0 ? S.live.fps((arrivals.length - 1) / span) : "";
    return latency === null ? fps : `${fps} · ${S.live.latency(latency)}`;
  }

  signal.addEventListener("abort", () => boxes.clear(), { once: true });

  return {
    element,
    /** Draw a frame together with its result. */
    show(result, source, { milliseconds = null } = {}) {
      const now = performance.now();
      if (canvas.width !== source.width || canvas.height !== source.height) {
        canvas.width = source.width;
        canvas.height = source.height;
      }
      context.drawImage(source, 0, 0);
      boxes.show(result.faces, source);
      latency = milliseconds;
      measure(now);
      describe(result.faces, now);
      if (result.learned !== undefined) learnedNow(result.learned);
      note.hidden = true;
      if (element.dataset.state !== "ended") setState("live", ""); // sooner than the next list of cameras
      element.dataset.frames = Number(element.dataset.frames ?? 0) + 1;
      element.dataset.frame = result.frame;
    },
    /** Set the note over the picture; "" removes it. */
    note(words) {
      setText(note, words);
      note.hidden = !words;
    },
    /** Set the state of the camera. */
    state: setState,
  };
}
