// Is the service there? A stream of events, a pulse beside it, and a banner while it is not.

import { emit, on, seldom } from "./bus.js";
import { timeOfDay } from "./clock.js";
import { button, h, setText } from "./dom.js";
import { refreshSession, streamAddress } from "./session.js";
import { S } from "./strings.js";

const PULSE = 5000;
const LONGEST = 8000;
const PATIENCE = 4000;
const SETTLED = 2000;
const KINDS = ["observe", "teach", "unteach", "drop", "forget", "merge", "rename", "undo"];

const words = h("p", {});
const again = button(S.connection.now, () => pulse(), { class: "accent" });
const bar = h("div", { id: "banner", role: "status" }, h("div", { class: "banner", hidden: true }, words, again));
const banner = bar.firstChild;

let stream = null;
let timer = 0;
let failures = 0;
let slow = 0;
let heard = new Set();
let running = false;
let opened = 0; // when the stream was
let missed = false; // whether something could not be read since the last pulse that succeeded

/** Where the state of the connection is told. */
export const bannerElement = () => bar;

const tell = seldom(400, () => {
  const kinds = heard;
  heard = new Set();
  emit("changed", { kinds });
});

const announce = seldom(1000, () => {
  emit("back");
  emit("changed", { kinds: new Set(["back"]) });
});

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource(streamAddress);
  opened = performance.now();
  for (const kind of KINDS) {
    stream.addEventListener(kind, () => {
      heard.add(kind);
      tell();
    });
  }
  stream.onerror = () => {
    stop();
    missed = true;
    // A stream that fails as soon as it is opened waits for the next pulse: no tight loop.
    if (performance.now() - opened > SETTLED) pulse();
  };
}

function stop() {
  stream?.close();
  stream = null;
}

function lost() {
  if (failures === 0) {
    setText(words, S.connection.lost(timeOfDay()));
    banner.className = "banner lost";
    again.hidden = banner.hidden = false;
    document.documentElement.dataset.connection = "lost";
    emit("lost");
  }
  failures += 1;
}

function found() {
  document.documentElement.dataset.connection = "well";
  if (failures > 0) {
    setText(words, S.connection.back);
    banner.className = "banner healed";
    again.hidden = true;
    setTimeout(() => {
      banner.hidden = failures === 0;
    }, 3000);
    failures = 0;
    missed = true;
  }
  // Also after a loss so short that no pulse failed: some request did.
  if (missed) announce();
  missed = false;
  listen();
}

async function pulse() {
  if (running) return;
  running = true;
  clearTimeout(timer);
  const patience = AbortSignal.timeout(PATIENCE);
  try {
    await refreshSession(patience);
    slow = 0;
    found();
  } catch {
    // One late answer is a busy machine; two in a row, or a refusal, is nobody there.
    slow = patience.aborted ? slow + 1 : 0;
    if (slow !== 1) lost();
  } finally {
    running = false;
  }
  timer = setTimeout(pulse, failures ? Math.min(LONGEST, 500 * 2 ** failures) : slow ? 0 : PULSE);
}

/** From now on. Resolves after the first look. */
export async function connect() {
  on("unreachable", () => {
    missed = true;
    if (failures === 0) pulse();
  });
  document.addEventListener("visibilitychange", () => {
    // A browser gives six connections to all its tabs together: hidden ones leave theirs.
    if (document.hidden) stop();
    else pulse();
  });
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => event.persisted && pulse());
  window.addEventListener("online", pulse);
  await pulse();
}
