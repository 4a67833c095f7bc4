// A summary of what is known, updated regularly and by every frame.

import { get } from "./api.js";
import { emit, every, on, throttle } from "./bus.js";
import { h } from "./dom.js";
import { S } from "./strings.js";
import { mayMove } from "./theme.js";

/** As of the last answer. */
export const summary = { read: false, people: 0, labeled: 0, learned: 0, vertices: 0, strangers: 0, sequence: 0, cameras: 0 };
const names = h("datalist", { id: "known-names" });
let known = "";

/** The list of known names, for completion in name fields. */
export const knownNames = () => names;

/** Read the summary, and emit it. */
export async function refreshSummary() {
  Object.assign(summary, await get("/summary"), { read: true });
  document.documentElement.dataset.learned = summary.learned;
  emit("summary", summary);
}

async function refreshNames() {
  const people = (await get("/people")).map((person) => person.name);
  const now = JSON.stringify(people);
  if (now === known) return;
  known = now;
  names.replaceChildren(...people.map((name) => h("option", { value: name })));
}

/** Update the number of learned faces from the result of a frame. */
export function learnedNow(count) {
  if (!Number.isFinite(count) || count === summary.learned) return;
  summary.learned = count;
  document.documentElement.dataset.learned = count;
  emit("summary", summary);
}

/** Start. */
export function startSummary() {
  const again = every(4000, refreshSummary);
  const rename = every(60000, refreshNames);
  const soon = throttle(1500, again);
  on("changed", ({ kinds }) => {
    soon();
    if ([...kinds].some((kind) => kind !== "observe")) rename();
  });
}

/** A number that counts up to its value. */
export function counter() {
  const element = h("span", { class: "count" }, S.health.none);
  let started = false;
  let shown = 0;
  let aim = 0;
  let frame = 0;
  function step() {
    const gap = aim - shown;
    shown = Math.abs(gap) < 1 || !mayMove() ? aim : shown + gap * 0.12 + Math.sign(gap) * 0.5;
    if (Math.sign(aim - shown) !== Math.sign(gap)) shown = aim;
    element.textContent = S.number(Math.round(shown));
    frame = shown === aim || !element.isConnected ? 0 : requestAnimationFrame(step);
  }
  function set(value, { jump = false } = {}) {
    if (!summary.read) return; // nobody knows it yet: not 0
    aim = value;
    if (jump || !started) shown = value;
    started = true;
    if (!frame) step();
  }
  return { element, set };
}
