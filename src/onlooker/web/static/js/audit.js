// Audit: what was learned without a person, how much of it may be wrong, and how well people are told apart.

import { get, pictureOf, post } from "./api.js";
import { every, on } from "./bus.js";
import { distanceRows } from "./chart.js";
import { ago } from "./clock.js";
import { button, face, h, setText } from "./dom.js";
import { emptyState, heading } from "./router.js";
import { S } from "./strings.js";
import { changed, showError } from "./undo.js";
import { openVertex } from "./why.js";

const T = S.audit;
const POLL = 1000;
const PAIRS = 12;

/** Fill the page. */
export function auditView(page, { signal }) {
  const progress = h("p", { class: "quiet small", role: "status" });
  const again = button(T.again, () => refresh(true), { class: "small", data: { again: "" } });
  const place = h("div", { class: "audit" });
  page.append(heading(S.views.audit, T.lead, progress, again), place);
  let wanted = false;
  let running = true; // until the first answer says otherwise
  let shown = "";
  const poll = every(POLL, async () => {
    if (!running && !wanted) return;
    const anew = wanted;
    const report = await get(`/audit${anew ? "?again=true" : ""}`, { signal });
    wanted = anew && running && shown !== ""; // the one that ran before it does not know of the change
    running = report.done !== null;
    again.disabled = running;
    setText(progress, running ? T.running(report.done, report.of) : report.audit ? T.fresh(report.audit.sequence, report.newest) : T.failed);
    const key = JSON.stringify(report.audit);
    if (!report.audit || key === shown) return;
    const separation = await get("/separation", { signal });
    place.replaceChildren(...parts(report.audit, separation));
    shown = key;
  }, signal);
  function refresh(anew = false) {
    wanted ||= anew;
    poll();
  }
  on("changed", ({ kinds }) => kinds.has("teach") || kinds.has("undo") ? refresh(true) : undefined, signal);
}

function parts(audit, separation) {
  if (!audit.people.length) return [emptyState(S.people.empty, T.emptyWords)];
  const pictured = new Set(audit.pictured);
  return [estimate(audit), apart(separation, pictured), twice(audit, pictured), ...audit.people.map((one) => person(one, pictured))].filter(Boolean);
}

const section = (title, ...more) => h("section", { class: "part" }, h("h2", {}, title), ...more);
const picture = (vertex, pictured) => (pictured.has(vertex) ? face(pictureOf.vertex(vertex), "") : h("span", { class: "no-face" }, S.people.noPicture));

/** A face that can be asked about. */
function faceButton(vertex, name, pictured) {
  return button(picture(vertex, pictured), () => openVertex(vertex), { class: "face-button", "aria-label": T.why(vertex, name) });
}

function estimate(audit) {
  const words = audit.contamination === null ? T.noEstimateOne : T.estimate(audit.contamination, audit.refused);
  return section(T.wrong, h("p", { data: { contamination: audit.contamination ?? "" } }, words), h("p", { class: "quiet small" }, T.method));
}

/** How well people are told apart: a row of distances each, who is too alike, which radius fits. */
function apart(separation, pictured) {
  const { people, pairs, trust_radius: radius, proposed } = separation;
  const words = people.length < 2 ? [h("p", {}, T.onlyOne(people[0].name))] : [];
  const alike = pairs.filter((pair) => pair.alike || pair.doubt).slice(0, PAIRS);
  if (people.length > 1 && !alike.length) words.push(h("p", {}, T.apart));
  const wide = people.filter((one) => radius !== null && one.widest > radius);
  if (proposed !== null) words.push(h("p", { class: "small", data: { proposed } }, proposed === radius ? T.radiusRight(radius) : T.proposed(proposed, radius, people.reduce((sum, one) => sum + one.learned.filter((gap) => gap > proposed).length, 0))));
  return section(
    T.separation,
    people.length > 1 ? distanceRows(separation) : null,
    alike.length ? h("ul", { class: "audit-pairs" }, alike.map((pair) => alikePair(pair, pictured))) : null,
    ...words,
    ...wide.map((one) => h("p", { class: "quiet small" }, T.wide(one.name, one.widest, radius))),
  );
}

function alikePair(pair, pictured) {
  const faces = pair.alike === "radius" ? pair.near_label : pair.nearest;
  const doubt = pair.doubt;
  const said = doubt && notButton(doubt);
  return h(
    "li",
    { class: "panel", data: { alike: pair.alike ?? "doubt" } },
    h("div", { class: "audit-faces" }, faceButton(faces.first, pair.first, pictured), faceButton(faces.second, pair.second, pictured)),
    h("div", {}, h("h3", {}, T.pair(pair.first, pair.second)), pair.alike && h("p", { class: "small" }, T.alike[pair.alike](faces.distance))),
    doubt && h("div", { class: "audit-doubt" }, faceButton(doubt.vertex, doubt.name, pictured), h("p", { class: "small" }, T.doubt(doubt.name, doubt.not_name, doubt.share)), said),
  );
}

function notButton({ vertex, not_name: name }) {
  return act(S.why.not(name), async () => {
    const taken = await post(`/faces/${vertex}/not`, { name });
    changed(S.why.notSaved(name), taken.undo);
  }, { not: vertex });
}

/** A small button that is disabled while its request runs. */
function act(words, send, data) {
  const made = button(words, async () => {
    made.disabled = true;
    try {
      await send();
    } catch (error) {
      showError(error);
      made.disabled = false;
    }
  }, { class: "small", data });
  return made;
}

function twice(audit, pictured) {
  if (!audit.twice.length) return null;
  const rows = audit.twice.map((one) => h(
    "li",
    { class: "panel", data: { twice: one.name } },
    h("div", { class: "audit-faces" }, faceButton(one.surer, one.name, pictured), faceButton(one.other, one.name, pictured)),
    h("div", {}, h("h3", {}, T.both(one.name)), h("p", { class: "quiet small" }, T.seen(one.camera, ago(one.time)))),
  ));
  return section(T.twice, h("p", { class: "quiet small" }, T.twiceWords), h("ul", { class: "audit-pairs" }, rows));
}

function person(one, pictured) {
  const far = one.farthest.map((each) => h("li", { data: { far: each.vertex } }, faceButton(each.vertex, one.name, pictured), h("p", { class: "small" }, T.far(each.distance, each.hops)), weakest(each, pictured), wrong(each.vertex)));
  return h(
    "section",
    { class: "part", data: { person: one.name } },
    h("h2", {}, h("a", { href: `#/people/${one.id}` }, one.name)),
    h("p", { class: "quiet small" }, `${S.people.counts(one.labeled, one.learned)} · ${S.people.seen(one.examples)}`),
    h("p", { class: "small" }, hidden(one)),
    far.length ? h("p", { class: "small" }, T.farWords(one.name)) : h("p", { class: "quiet small" }, S.people.noLearned),
    h("ul", { class: "audit-far" }, far),
  );
}

/** What hiding labels and the whole person showed, in words. */
function hidden(one) {
  const still = one.hidden_labels[one.name] ?? 0;
  const others = (counts) => Object.entries(counts).filter(([name]) => name && name !== one.name);
  const wrongly = others(one.hidden_labels).map(([name, count]) => T.asOther(count, name));
  const taken = others(one.hidden_person).map(([name, count]) => T.asOther(count, name));
  return [T.stillNamed(still, one.labeled), ...wrongly.map(T.labelAs), taken.length ? T.without(one.name, taken.join(", ")) : T.withoutNobody(one.name)].join(" ");
}

function weakest({ vertex, hops, weakest_link: link }, pictured) {
  if (!link || hops < 2) return null;
  return h("div", { class: "why-weakest" }, h("p", { class: "small" }, T.weakest), h("p", { class: "why-pair" }, [link.start ?? vertex, link.end].map((end) => picture(end, pictured))));
}

function wrong(vertex) {
  return act(T.wrongButton, async () => {
    const taken = await post(`/faces/${vertex}/wrong`);
    changed(S.why.dropped(taken), taken.undo);
  }, { wrong: vertex });
}
