// The connection to the service: a stream of events, regular probes, and a banner while it is lost.

import { emit, on, throttle } from "./bus.js";
import { timeOfDay } from "./clock.js";
import { button, h, setText } from "./dom.js";
import { refreshSession, session, streamAddress } from "./session.js";
import { S } from "./strings.js";

const INTERVAL = 5000;
const MAX_PAUSE = 8000;
const TIMEOUT = 4000;
const SETTLED = 2000;
const KINDS = ["observe", "teach", "unteach", "drop", "forget", "merge", "rename", "undo", "alarm", "camera"];

const text = h("p", {});
const again = button(S.connection.now, () => probe(), { class: "accent" });
const bar = h("div", { id: "banner", role: "status" }, h("div", { class: "banner", hidden: true }, text, again));
const banner = bar.firstChild;

let stream = null;
let timer = 0;
let failures = 0;
let slow = 0;
let heardKinds = new Set();
let running = false;
let opened = 0; // when the stream was opened
let missed = false; // whether a request failed since the last successful probe

/** The element that shows the state of the connection. */
export const bannerElement = () => bar;

const emitChanged = throttle(400, () => {
  const kinds = heardKinds;
  heardKinds = new Set();
  emit("changed", { kinds });
});

const announce = throttle(1000, () => {
  emit("back");
  emit("changed", { kinds: new Set(["back"]) });
});

function listen() {
  if (stream || document.hidden || !session.signed_in) return;
  stream = new EventSource(streamAddress);
  opened = performance.now();
  for (const kind of KINDS) {
    stream.addEventListener(kind, () => {
      heardKinds.add(kind);
      emitChanged();
    });
  }
  stream.addEventListener("alarm", ({ data }) => emit("alarm", JSON.parse(data).alarm));
  stream.addEventListener("camera", ({ data }) => emit("camera", JSON.parse(data)));
  stream.onerror = () => {
    stop();
    missed = true;
    // A stream that fails at once is opened again by the next regular probe, not in a tight loop.
    if (performance.now() - opened > SETTLED) probe();
  };
}

function stop() {
  stream?.close();
  stream = null;
}

function disconnected() {
  if (failures === 0) {
    setText(text, S.connection.lost(timeOfDay()));
    banner.className = "banner lost";
    again.hidden = banner.hidden = false;
    document.documentElement.dataset.connection = "lost";
    emit("lost");
  }
  failures += 1;
}

function connected() {
  document.documentElement.dataset.connection = "well";
  if (failures > 0) {
    setText(text, S.connection.back);
    banner.className = "banner restored";
    again.hidden = true;
    setTimeout(() => {
      banner.hidden = failures === 0;
    }, 3000);
    failures = 0;
    missed = true;
  }
  // Also after a loss so short that no probe failed, because some request did.
  if (missed) announce();
  missed = false;
  listen();
}

async function probe() {
  if (running) return;
  running = true;
  clearTimeout(timer);
  const timeout = AbortSignal.timeout(TIMEOUT);
  try {
    await refreshSession(timeout);
    slow = 0;
    connected();
  } catch {
    // One late answer may be a busy machine; two in a row, or a refused connection, is a loss.
    slow = timeout.aborted ? slow + 1 : 0;
    if (slow !== 1) disconnected();
  } finally {
    running = false;
  }
  timer = setTimeout(probe, failures ? Math.min(MAX_PAUSE, 500 * 2 ** failures) : slow ? 0 : INTERVAL);
}

/** Start. Resolves after the first probe. */
export async function connect() {
  on("unreachable", () => {
    missed = true;
    if (failures === 0) probe();
  });
  on("changed", ({ kinds }) => kinds.has("session") && listen());
  document.addEventListener("visibilitychange", () => {
    // Browsers allow six connections to a host for all tabs together, so hidden tabs close theirs.
    if (document.hidden) stop();
    else probe();
  });
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => event.persisted && probe());
  window.addEventListener("online", probe);
  await probe();
}
