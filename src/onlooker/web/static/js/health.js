// Health: problems, speed, memory and disk, retention, and what this page measured itself.

import { get } from "./api.js";
import { every, on } from "./bus.js";
import { bytes, span, timeOfDay } from "./clock.js";
import { button, h, setText } from "./dom.js";
import { latency } from "./latency.js";
import { heading } from "./router.js";
import { session, signIn, signOut } from "./session.js";
import { S } from "./strings.js";
import { showError } from "./undo.js";

const T = S.health;
const STAGES = ["detect", "features", "learn", "whole"];
const HOUR = 3600;

/** Fill the page. */
export function healthView(page, { signal }) {
  const state = h("section", { class: "panel health-state", role: "status" });
  const cameras = h("div", { class: "part" });
  const lists = h("div", { class: "health-lists" });
  const fresh = h("p", { class: "quiet small" });
  page.append(heading(S.views.health, T.lead, fresh), state, cameras, lists);
  let shownState = "";
  let signedIn = session.signed_in;
  const refresh = every(2000, async () => {
    const [health, list] = await Promise.all([get("/health", { signal }), get("/cameras", { signal })]);
    const now = JSON.stringify([health.status, health.read_only, health.problems, health.cameras_failing]);
    if (now !== shownState) state.replaceChildren(...status(health));
    shownState = now;
    state.dataset.status = health.status;
    table(cameras, merged(health, list));
    const used = lists.contains(document.activeElement);
    if (!used || signedIn !== session.signed_in) lists.replaceChildren(...groups(health));
    if (used && signedIn !== session.signed_in) lists.querySelector("[data-session]").focus();
    signedIn = session.signed_in;
    setText(fresh, T.fresh(timeOfDay()));
  }, signal);
  on("changed", ({ kinds }) => kinds.has("session") && refresh(), signal);
}

function status(health) {
  const problems = [health.read_only && `${T.readOnly}: ${health.read_only}`, ...health.problems].filter(Boolean);
  const well = health.status === "ok";
  const words = problems.length ? h("ul", {}, problems.map((one) => h("li", {}, one))) : h("p", { class: "quiet" }, T.okWords);
  return [h("h2", {}, h("span", { class: "dot", data: { state: well ? "well" : "lost" } }), well ? T.ok : T.degraded), words];
}

/** The list of cameras, with the measurements of each from the health report. */
function merged(health, list) {
  const measured = health.cameras ?? [];
  const of = (name) => (Array.isArray(measured) ? measured.find((one) => one.name === name) : measured[name]) ?? {};
  return list.map((camera) => ({ ...camera, ...of(camera.name), state: camera.state }));
}

function table(place, cameras) {
  const title = h("h2", { id: "health-cameras" }, T.cameras);
  if (!cameras.length) {
    place.replaceChildren(title, h("p", { class: "quiet" }, T.noCameras));
    return;
  }
  const names = [T.camera, T.state, T.fps, ...STAGES.map((stage) => T.stages[stage]), T.frames, T.dropped, T.reconnects];
  const rows = cameras.map((camera) => {
    const seconds = camera.seconds ?? {};
    const numbers = [rate(camera.fps), ...STAGES.map((stage) => (Number.isFinite(seconds[stage]) ? T.ms(seconds[stage]) : T.none)), S.number(camera.frames), S.number(camera.dropped), S.number(camera.reconnects)];
    const how = h("td", {}, h("span", { class: "dot", data: { state: camera.state } }), S.live.states[camera.state] ?? camera.state, camera.problem && h("span", { class: "quiet small problem" }, camera.problem));
    return h("tr", { data: { camera: camera.name } }, h("th", { scope: "row" }, camera.name), how, numbers.map((text) => h("td", { class: "number" }, text)));
  });
  const head = h("tr", {}, names.map((name, at) => h("th", { scope: "col", class: at > 1 ? "number" : "" }, name)));
  const scrolled = place.querySelector(".table-box")?.scrollLeft ?? 0;
  const box = place.querySelector(".table-box") ?? h("div", { class: "table-box", tabindex: "0", role: "region", "aria-labelledby": "health-cameras" });
  box.replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, rows)));
  if (!box.isConnected) place.replaceChildren(title, box);
  box.scrollLeft = scrolled;
}

const rate = (fps) => (Number.isFinite(fps) ? fps.toFixed(1) : T.none);
const count = (value) => (Number.isFinite(value) ? S.number(value) : T.none);
const size = (value) => (Number.isFinite(value) ? bytes(value) : T.none);
const hours = (value) => (Number.isFinite(value) ? span(value * HOUR) : T.none);

function groups(health) {
  const { disk = {}, retention = {}, versions = {} } = health;
  const measured = latency();
  const signing = session.signed_in ? button(T.signOut, () => signOut().catch(showError), { class: "small", data: { session: "out" } }) : button(T.signIn, () => void signIn(), { class: "small", data: { session: "in" } });
  return [
    group(T.learner, [
      [T.vertices, Number.isFinite(health.vertices) ? T.of(health.vertices, health.max_vertices) : T.none],
      [T.trust, Number.isFinite(health.trust_radius) ? T.trustRadius(health.trust_radius) : T.trustOff],
      [T.queue, count(health.queue ?? health.waiting)],
      [T.sequence, count(health.sequence)],
      [T.oldest, count(health.oldest)],
    ]),
    group(T.machine, [
      [T.memory, size(health.memory)],
      [T.disk, size(disk.home)],
      [T.free, size(disk.free)],
      [T.uptime, Number.isFinite(health.uptime) ? span(health.uptime) : T.none],
    ]),
    group(T.retention, [
      [T.stranger, hours(retention.stranger_hours)],
      [T.sighting, hours(24 * retention.sighting_days)],
      [T.undo, hours(24 * retention.undo_days)],
    ]),
    group(T.versions, Object.entries({ onlooker: health.version, ...versions })),
    group(T.page, [
      [T.latency, measured ? S.live.latency(measured.p50) : T.none, "latency-p50"],
      [T.latency95, measured ? S.live.latency(measured.p95) : T.none, "latency-p95"],
      [T.pageFrames, measured ? count(measured.frames) : T.none],
      [T.signedIn, h("span", {}, session.signed_in ? T.yes : T.no, " ", signing)],
    ]),
  ];
}

function group(title, rows) {
  return h("section", { class: "panel" }, h("h2", {}, title), h("dl", { class: "facts" }, rows.map(([name, value, key]) => h("div", {}, h("dt", {}, name), h("dd", key ? { data: { fact: key } } : {}, value)))));
}
