// Why: where walks from a face end, the chains of faces to labeled ones, and how to correct it.

import { get, part, pictureOf, post, Refused } from "./api.js";
import { untilDone } from "./bus.js";
import { openDialog } from "./dialog.js";
import { button, face, h, setText } from "./dom.js";
import { nameForm } from "./naming.js";
import { emptyState } from "./router.js";
import { S } from "./strings.js";
import { changed } from "./undo.js";
import { walkWords } from "./words.js";

const CHAINS = 2;
const LINKS = 5;
const HARDLY = 0.005;
const BARS = 6;
const GROUP = 24;
const times = (share) => S.face.times(Math.round(100 * share));

/** Explain the name of a face that is on the screen now. */
export function openSeen(camera, track) {
  const base = `/seen/${part(camera)}/${track}`;
  return openWhy({ base, path: `${base}/why`, picture: pictureOf.seen(camera, track) });
}

/** Explain the name of a stored face. */
export function openVertex(vertex) {
  return openWhy({ vertex, base: `/faces/${vertex}`, path: `/explain/${vertex}`, picture: pictureOf.vertex(vertex) });
}

function openWhy(subject) {
  const dialog = openDialog({ title: S.loading, body: [], view: "why", wide: true });
  untilDone(async () => {
    try {
      const why = await get(subject.path, { signal: dialog.signal });
      setText(dialog.heading, why.name === null ? S.why.titleNobody : S.why.title(why.name));
      const group = why.name === null ? [] : await groupOf(subject, dialog.signal);
      dialog.content.replaceChildren(top(subject, why), shares(why), chains(subject, why), ...actions(subject, why, group, dialog));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refused) setText(dialog.heading, S.why.titleNobody);
      dialog.content.replaceChildren(emptyState(error.status === 404 ? S.why.gone : error.message, error.status === 404 ? error.message : ""));
      if (!(error instanceof Refused)) throw error; // not answered, so it is tried again
    }
  }, dialog.signal);
}

function top(subject, why) {
  const walk = walkWords(why.scores, why.sink);
  const said = walk[0].toUpperCase() + walk.slice(1) + (walk.endsWith(".") ? "" : ".");
  return h(
    "div",
    { class: "why-top" },
    face(subject.picture, S.why.face, { class: "why-face", loading: "eager" }),
    h("div", {}, h("p", { class: "why-words" }, why.candidate ? `${S.face.describeMaybe(why.candidate)} ${said}` : said), support(subject, why), h("p", { class: "quiet small" }, S.why.method)),
  );
}

/** The faces that came to the name with this one; none where it is gone by now. */
async function groupOf(subject, signal) {
  try {
    return (await get(`${subject.base}/group`, { signal })).vertices;
  } catch (error) {
    if (error instanceof Refused) return [];
    throw error;
  }
}

/** How far the nearest labeled face is, and the weakest step on the way, with both faces. */
function support(subject, why) {
  const link = why.weakest_link;
  if (!link || why.hops < 2) return null;
  const ends = [link.start === null ? subject.picture : pictureOf.vertex(link.start), pictureOf.vertex(link.end)];
  return h(
    "div",
    { class: "why-weakest" },
    h("p", { class: "small" }, S.why.steps(why.hops, why.name ?? why.candidate) + S.why.weakest),
    h("p", { class: "why-pair" }, ends.map((source) => face(source, ""))),
  );
}

function shares(why) {
  const named = Object.entries(why.scores).filter(([, share]) => share >= 0.005).sort((one, other) => other[1] - one[1]);
  const rows = named.slice(0, BARS).map(([name, share], at) => bar(name, share, at ? "other" : "best"));
  rows.push(bar(S.why.nowhere, why.sink, "nowhere"));
  return h("section", { class: "why-part", "aria-labelledby": "why-shares" }, h("h3", { id: "why-shares" }, S.why.shares), h("ul", { class: "bars" }, rows));
}

function bar(name, share, kind) {
  const fill = h("span", { class: "bar-fill" });
  fill.style.width = `${(100 * share).toFixed(1)}%`;
  return h("li", { data: { kind, share: share.toFixed(4) } }, h("span", { class: "bar-name" }, name), h("span", { class: "bar", "aria-hidden": "true" }, fill), h("span", { class: "bar-share" }, S.why.share(Math.round(100 * share))));
}

function chains(subject, why) {
  const part = h("section", { class: "why-part", "aria-labelledby": "why-chains" }, h("h3", { id: "why-chains" }, S.why.chains));
  const reached = why.endings.filter((end) => end.chain.length);
  const ends = reached.filter((end, at) => at === 0 || end.share >= HARDLY);
  if (!ends.length) part.append(h("p", { class: "quiet" }, S.why.noChain));
  part.append(...ends.slice(0, CHAINS).map((end) => chain(subject, end)));
  const rest = ends.slice(CHAINS);
  if (rest.length) {
    const more = button(S.why.moreChains(rest.length), () => {
      more.replaceWith(...rest.map((end) => chain(subject, end)));
      part.querySelectorAll(".chain")[CHAINS].focus();
    }, { class: "plain small more-chains" });
    part.append(more);
  }
  return part;
}

function chain(subject, end) {
  const own = subject.vertex === end.chain[0].vertex; // a stored face is the first of its chain
  const rest = own ? end.chain.slice(1) : end.chain;
  const links = rest.map((link, at) => step(link, at === rest.length - 1, end.name));
  const itself = rest.length ? S.why.here : S.why.itself(end.name);
  const start = h("li", { class: rest.length ? "" : "end" }, figure(subject.picture, true), h("span", { class: "small" }, itself));
  const list = h("ol", { class: "chain", tabindex: "0", "aria-label": S.why.chain(end.name, times(end.share)) }, start, links);
  if (links.length > LINKS) fold(list, links.slice(2, -2));
  return h("div", { class: "chain-box", data: { chain: end.name } }, h("p", { class: "small chain-title" }, S.why.chain(end.name, times(end.share))), list);
}

/** Hide the middle of a long chain behind a button. */
function fold(list, middle) {
  const more = button(S.why.unfold(middle.length), () => {
    place.replaceWith(...middle);
    list.focus();
  }, { class: "plain small", "aria-label": S.why.unfoldWords(middle.length) });
  const place = h("li", { class: "fold" }, more);
  middle[0].before(place);
  for (const one of middle) one.remove();
}

function step(link, last, name) {
  const words = last ? S.why.labeled(name) : S.why.learned(link.name);
  const count = link.examples > 1 ? h("span", { class: "represents", title: S.why.countWords(link.examples) }, S.why.count(link.examples)) : null;
  return h("li", { class: last ? "end" : "", data: { vertex: link.vertex } }, figure(pictureOf.vertex(link.vertex), link.picture !== false), count, h("span", { class: "small" }, words));
}

const figure = (source, there) => (there ? face(source, "") : h("span", { class: "no-face" }, S.people.noPicture));

/** What can be said: about all that came to the name together, and about this face. */
function actions(subject, why, group, dialog) {
  const naming = nameForm({
    label: S.why.thisIs,
    yes: S.why.save,
    hideLabel: false,
    send: async (name) => {
      const taught = await post(`${subject.base}/label`, { name });
      dialog.close();
      changed(S.why.saved(taught.person.name), taught.undo);
    },
  });
  const who = why.name ?? why.candidate;
  if (!who) return [h("div", { class: "why-actions" }, naming.form)];
  const errorText = h("p", { class: "error", role: "alert" });
  function choice(text, hint, key, path, body, words) {
    const act = button(text, async () => {
      act.disabled = true;
      try {
        const taken = await post(`${subject.base}/${path}`, body);
        dialog.close();
        changed(words(taken), taken.undo);
      } catch (error) {
        errorText.textContent = error.message;
        act.disabled = false;
      }
    }, { class: "small", data: { [key]: "" } });
    return h("div", {}, act, h("p", { class: "quiet small" }, hint));
  }
  const learned = why.name !== null && why.vertex !== null; // undefined for a stored face
  const choices = [
    learned ? choice(S.why.wrongNot(who), S.why.wrongHint, "wrong", "wrong", undefined, S.why.dropped) : null,
    choice(S.why.not(who), S.why.notHint, "not", "not", { name: who }, () => S.why.notSaved(who)),
    choice(S.why.nobody, S.why.nobodyHint, "nobody", "nobody", undefined, () => S.why.nobodySaved),
  ];
  const all = () => choice(S.why.group(group.length, who), S.why.groupHint, "wrongGroup", "wrong?group=true", undefined, S.why.dropped);
  const together = learned && group.length > 1 ? [groupPart(group, all)] : [];
  return [...together, h("div", { class: "why-actions" }, naming.form, h("div", { class: "why-wrong" }, choices, errorText))];
}

/** The faces of a group and what can be done with them, shown when it is opened. */
function groupPart(group, all) {
  const part = h("details", { class: "why-part why-group", data: { group: group.length } }, h("summary", { class: "small" }, S.why.groupShow(group.length)));
  part.addEventListener("toggle", () => {
    const faces = group.slice(0, GROUP).map((vertex) => face(pictureOf.vertex(vertex), ""));
    part.append(h("div", { class: "why-group-faces" }, faces), all());
  }, { once: true });
  return part;
}
