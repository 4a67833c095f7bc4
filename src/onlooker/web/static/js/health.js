// Health: problems, speed, memory and disk, retention, and what this page measured itself.

import { API, get, remove } from "./api.js";
import { every } from "./bus.js";
import { ago, bytes, span, timeOfDay } from "./clock.js";
import { button, h, setText } from "./dom.js";
import { latency } from "./latency.js";
import { heading } from "./router.js";
import { signOut } from "./session.js";
import { S } from "./strings.js";
import { columnCell, stackingTable, tableCell, tableRow } from "./table.js";
import { showError } from "./undo.js";
import { cameraWords } from "./words.js";

const T = S.health;
const STAGES = ["detect", "features", "learn", "whole"];
const HOUR = 3600;

/** Fill the page. */
export function healthView(page, { signal }) {
  const state = h("section", { class: "panel health-state", role: "status" });
  const cameras = h("div", { class: "part" });
  const lists = h("div", { class: "health-lists" });
  const browsers = h("div", { class: "part", data: { part: "sessions" } });
  const fresh = h("p", { class: "quiet small" });
  page.append(heading(S.views.health, T.lead, fresh), state, cameras, lists, backup(), browsers);
  let shownState = "";
  const refresh = every(2000, async () => {
    const [health, list, sessions] = await Promise.all(["/health", "/cameras", "/sessions"].map((path) => get(path, { signal })));
    const failing = list.filter((camera) => camera.state === "failing").map((camera) => T.cameraFailing(camera.name, S.fromService(camera.problem)));
    const now = JSON.stringify([health.status, health.read_only, health.problems, failing]);
    if (now !== shownState) state.replaceChildren(...status(health, failing));
    shownState = now;
    state.dataset.status = health.status;
    table(cameras, merged(health, list));
    if (!lists.contains(document.activeElement)) lists.replaceChildren(...groups(health));
    if (!browsers.contains(document.activeElement)) browsers.replaceChildren(...signedIn(sessions, refresh));
    setText(fresh, T.fresh(timeOfDay()));
  }, signal);
}

/** The whole home as one file. */
function backup() {
  return h("section", { class: "panel part stack", data: { part: "backup" } }, h("h2", {}, T.backup), h("p", { class: "quiet" }, T.backupWords), h("div", {}, h("a", { class: "button", href: `${API}/backup`, download: "" }, T.backupButton)), h("p", { class: "quiet small" }, T.restoreWords));
}

/** Every browser that is signed in, with a button that ends its session. */
function signedIn(sessions, refresh) {
  const end = async (row, id) => {
    await remove(`/sessions/${id}`);
    row.remove();
    refresh();
  };
  const rows = sessions.map((one) => {
    const out = one.current
      ? button(T.signOut, () => signOut().catch(showError), { class: "small", data: { session: "out" } })
      : button(T.end, () => end(row, one.id).catch(showError), { class: "small", data: { session: one.id }, "aria-label": T.endOf(one.address) });
    const cells = [one.address, ago(one.began), ago(one.used), out].map((content, at) => tableCell(T.sessionColumns[at + 1], content));
    const row = tableRow(one.current ? T.thisBrowser : one.agent || T.none, cells);
    return row;
  });
  const box = stackingTable({ "aria-labelledby": "health-sessions" }, T.sessionColumns.map((name) => columnCell(name)), h("tbody", {}, rows));
  return [h("h2", { id: "health-sessions" }, T.sessions), rows.length ? box : h("p", { class: "quiet" }, T.noSessions)];
}

function status(health, failing) {
  const said = health.problems.map(S.fromService);
  const problems = [health.read_only && `${T.readOnly}: ${S.fromService(health.read_only)}`, ...said, ...failing].filter(Boolean);
  const well = health.status === "ok";
  const words = problems.length ? h("ul", {}, problems.map((one) => h("li", {}, one))) : h("p", { class: "quiet" }, T.okWords);
  return [h("h2", {}, h("span", { class: "dot", data: { state: well ? "well" : "failing" } }), well ? T.ok : T.degraded), words];
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
  const names = [T.camera, T.state, T.lastFrame, T.fps, ...STAGES.map((stage) => T.stages[stage]), T.frames, T.dropped, T.reconnects];
  const rows = cameras.map((camera) => {
    const seconds = camera.seconds ?? {};
    const last = camera.last_frame ? ago(camera.last_frame) : S.live.neverLive;
    const numbers = [last, rate(camera.fps), ...STAGES.map((stage) => (seconds[stage] ? T.ms(seconds[stage]) : T.none)), S.number(camera.frames), S.number(camera.dropped), S.number(camera.reconnects)];
    const how = tableCell("", [h("span", { class: "dot", data: { state: camera.state } }), cameraWords(camera), camera.problem && h("span", { class: "quiet small problem" }, S.fromService(camera.problem))]);
    const cells = numbers.map((text, at) => tableCell(names[at + 2], text, "number"));
    return tableRow(camera.name, [how, ...cells], { camera: camera.name });
  });
  const body = place.querySelector("tbody"); // the box stays, where it is scrolled to
  if (body) body.replaceChildren(...rows);
  else place.replaceChildren(title, stackingTable({ "aria-labelledby": "health-cameras" }, names.map((name, at) => columnCell(name, at > 1 ? "number" : "")), h("tbody", {}, rows)));
}

const rate = (fps) => (Number.isFinite(fps) ? S.decimal(fps) : T.none);
const count = (value) => (Number.isFinite(value) ? S.number(value) : T.none);
const size = (value) => (Number.isFinite(value) ? bytes(value) : T.none);
const hours = (value) => (Number.isFinite(value) ? span(value * HOUR) : T.none);

function groups(health) {
  const { disk = {}, retention = {}, versions = {} } = health;
  const measured = latency();
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
      [T.question, hours(retention.question_hours)],
      [T.sighting, hours(24 * retention.sighting_days)],
      [T.undo, hours(24 * retention.undo_days)],
    ]),
    group(T.versions, Object.entries({ onlooker: health.version, ...versions })),
    group(T.page, [
      [T.latency, measured ? S.live.latency(measured.p50) : T.none, "latency-p50"],
      [T.latency95, measured ? S.live.latency(measured.p95) : T.none, "latency-p95"],
      [T.pageFrames, measured ? count(measured.frames) : T.none],
    ]),
  ];
}

function group(title, rows) {
  return h("section", { class: "panel" }, h("h2", {}, title), h("dl", { class: "facts" }, rows.map(([name, value, key]) => h("div", {}, h("dt", {}, name), h("dd", key ? { data: { fact: key } } : {}, value)))));
}
