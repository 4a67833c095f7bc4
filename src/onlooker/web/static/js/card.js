// The card of a stranger: faces to choose, a name field, a button to ignore them, and a question.

import { pictureOf, post } from "./api.js";
import { emit } from "./bus.js";
import { ago } from "./clock.js";
import { button, face, h, setText } from "./dom.js";
import { nameForm } from "./naming.js";
import { S } from "./strings.js";
import { changed, showError } from "./undo.js";

const cards = new WeakMap();

/** The element of a card; gone() is called after it was named, ignored or dismissed, and answered() after a question was. */
export function stranger(card, { gone, answered = gone, level = 2 }) {
  const faces = h("div", { class: "card-faces", role: "group", "aria-label": S.strangers.faces });
  const chosen = h("p", { class: "quiet small chosen" });
  const count = h("span", { class: "card-count" });
  const times = h("p", { class: "quiet small" });
  const question = h("div", { class: "card-question", hidden: true });
  const learned = h("div", { class: "card-learned", hidden: true });
  const maybe = h("p", { class: "small" });
  const same = h("div", { class: "card-same", hidden: true });
  const choice = h("input", { type: "checkbox", "aria-label": S.strangers.choose(card.card), on: { change: () => emit("chosen") }, data: { choose: card.card } });
  const naming = nameForm({ send: (name) => named(element, name) });
  const leave = button(card.hidden ? S.strangers.show : S.strangers.ignore, () => ignored(element), { class: "plain small" });
  const element = h(
    "article",
    { class: "card", tabindex: "-1", data: { card: card.card }, "aria-label": S.strangers.card(card.card) },
    h("div", { class: "card-head" }, level === 2 && choice, h(`h${level}`, {}, S.strangers.card(card.card)), count, leave),
    question,
    faces,
    learned,
    same,
    h("div", { class: "card-foot" }, h("div", { class: "card-words" }, maybe, chosen, times), naming.form),
  );
  cards.set(element, { card, gone, answered, question, learned, maybe, same, level, faces, chosen, count, times, naming, leave, expired: false, version: "" });
  update(element, card);
  return element;
}

/** Update a card; asks says whether it is the question. Its pictures do not change while the user chooses among them. */
export function update(element, card, asks = false) {
  const entry = cards.get(element);
  entry.card = card;
  drawQuestion(element, asks && !card.hidden);
  setText(entry.maybe, card.candidate && !asks ? S.ask.maybe(card.candidate) : "");
  setText(entry.count, S.strangers.seen(card.count));
  setText(entry.times, `${S.strangers.first(ago(card.first.time), card.first.camera)} · ${S.strangers.last(ago(card.last.time), card.last.camera)}`);
  const busy = element.contains(document.activeElement) && document.activeElement !== element;
  const pressed = entry.faces.querySelector("[aria-pressed=true]");
  const pictures = card.faces.length > 0 && entry.faces.childElementCount !== card.faces.length;
  if (entry.version === "" || ((pictures || stale(entry)) && !busy && !pressed)) drawFaces(entry);
  if (!asks || !busy) drawLearned(entry, asks && !card.hidden && card.candidate ? card.learned : []);
}

/** Faces that have the candidate's name without a label: shown, and confirmed with a yes unless they are clicked. */
function drawLearned(entry, faces) {
  const { learned, card } = entry;
  const key = faces.join(" ");
  learned.hidden = faces.length === 0;
  if (learned.dataset.faces === key) return;
  learned.dataset.faces = key;
  const toggles = faces.map((vertex, number) => {
    const toggle = button(face(pictureOf.vertex(vertex), ""), () => toggle.setAttribute("aria-pressed", String(toggle.getAttribute("aria-pressed") !== "true")), {
      class: "face-toggle", "aria-pressed": "true", "aria-label": S.ask.learnedFace(number + 1, card.candidate), data: { vertex },
    });
    return toggle;
  });
  learned.replaceChildren(h("p", { class: "small" }, S.ask.learned(card.candidate)), h("div", { class: "card-faces", role: "group", "aria-label": S.ask.learnedFaces(card.candidate) }, toggles));
}

const confirmedOf = (entry) => [...entry.learned.querySelectorAll("[aria-pressed=true]")].map((one) => Number(one.dataset.vertex));

/** Ask whether a card is the same person as another one, or as somebody known; null: do not. */
export function suggestSame(element, found) {
  const { same, card } = cards.get(element);
  const pair = found && found.name !== null && found.name === card.candidate ? null : found; // that is asked already
  const key = pair ? `${pair.other ?? pair.name}` : "";
  same.hidden = !pair;
  if (same.dataset.about === key) return;
  same.dataset.about = key;
  if (!pair) {
    same.replaceChildren();
    return;
  }
  const about = pair.other === null ? S.strangers.same(pair.name) : S.strangers.same(S.strangers.card(pair.other));
  const source = pair.other === null ? pictureOf.vertex(pair.vertex) : pictureOf.card(pair.other, pair.other_face);
  const yes = button(S.strangers.sameYes, () => void confirmSame(element, pair), { class: "small" });
  same.replaceChildren(
    h("p", { class: "small" }, h("strong", {}, about), ` ${S.strangers.sameWhy(pair.gap)}`),
    h("div", { class: "card-pair" }, pair.face && face(pictureOf.card(pair.card, pair.face), S.strangers.faceOf(pair.card)), (pair.other === null || pair.other_face) && face(source, pair.name ?? S.strangers.faceOf(pair.other)), yes),
  );
}

async function confirmSame(element, pair) {
  try {
    if (pair.name !== null) {
      await named(element, pair.name);
      return;
    }
    const joined = await post("/strangers/join", { cards: [pair.card, pair.other] });
    changed(S.strangers.joined(2), joined.undo);
    cards.get(element).gone();
  } catch (error) {
    if (error.status === 404) expire(element);
    else showError(error);
  }
}

function drawQuestion(element, asks) {
  const entry = cards.get(element);
  const key = asks ? (entry.card.candidate ?? "") : null;
  if (entry.about === key) return;
  entry.about = key;
  entry.question.hidden = !asks;
  element.toggleAttribute("data-question", asks);
  if (!asks) {
    entry.question.replaceChildren();
    return;
  }
  const words = h(`h${entry.level + 1}`, {}, key ? S.ask.isThis(key) : S.ask.who);
  const skip = button(S.ask.skip, act(() => skipped(element)), { class: "plain small", data: { answer: "skip" } });
  const answers = key ? [
    button(S.ask.yes, act(() => named(element, key, entry.answered, confirmedOf(entry))), { class: "primary", data: { answer: "yes" } }),
    button(S.ask.no, act(() => denied(element, key)), { data: { answer: "no" } }),
    button(S.ask.other, () => focusName(element), { data: { answer: "other" } }),
    skip,
  ] : [skip];
  entry.question.replaceChildren(words, h("div", { class: "answers", role: "group", "aria-label": words.textContent }, answers));
  let sending = false; // not disabled: a button that loses the focus would let the card go
  function act(send) {
    return async () => {
      if (sending) return;
      sending = true;
      try {
        await send();
      } catch (problem) {
        entry.naming.errorText.textContent = problem.message;
      } finally {
        sending = false;
      }
    };
  }
}

async function denied(element, name) {
  const { card, answered } = cards.get(element);
  const taken = await unlessGone(element, post(`/strangers/${card.card}/not`, { name }));
  changed(S.ask.denied(name), taken.undo);
  answered();
}

async function skipped(element) {
  const { card, answered } = cards.get(element);
  const taken = await unlessGone(element, post(`/strangers/${card.card}/ask`, { ask: false }));
  changed(S.ask.skipped, taken.undo);
  answered();
}

async function unlessGone(element, sent) {
  try {
    return await sent;
  } catch (error) {
    if (error.status !== 404) throw error;
    expire(element);
    throw new Error(S.strangers.gone, { cause: error });
  }
}

const stale = (entry) => entry.drawn !== entry.card.count && performance.now() - entry.at > 10000;

function drawFaces(entry) {
  const { card, faces } = entry;
  entry.version = entry.drawn = card.count;
  entry.at = performance.now();
  const buttons = card.faces.map((key, number) => {
    const toggle = button(face(pictureOf.card(card.card, key), ""), () => press(entry, toggle), {
      class: "face-toggle", "aria-pressed": "false", "aria-label": S.strangers.face(number + 1), data: { face: number, key },
    });
    return toggle;
  });
  faces.replaceChildren(...(buttons.length ? buttons : [h("p", { class: "quiet small" }, S.strangers.noPicture)]));
  showChosen(entry);
}

function press(entry, toggle) {
  toggle.setAttribute("aria-pressed", String(toggle.getAttribute("aria-pressed") !== "true"));
  showChosen(entry);
}

const chosenOf = (entry) => [...entry.faces.querySelectorAll("[aria-pressed=true]")].map((one) => one.dataset.key);

function showChosen(entry) {
  setText(entry.chosen, entry.card.faces.length ? S.strangers.chosen(chosenOf(entry).length) : "");
}

async function named(element, name, then = null, learned = []) {
  const entry = cards.get(element);
  const faces = chosenOf(entry);
  const met = await unlessGone(element, post(`/strangers/${entry.card.card}/name`, { name, learned, ...(faces.length ? { faces } : {}) }));
  leave(element);
  then?.();
  changed(S.strangers.named(met.person.name, met.taught), met.undo);
}

/** Ignore the stranger, or show an ignored one again. */
export async function ignored(element) {
  const entry = cards.get(element);
  const number = entry.card.card;
  const back = entry.card.hidden;
  try {
    const taken = await post(`/strangers/${number}/${back ? "show" : "ignore"}`);
    leave(element);
    changed(back ? S.strangers.shown : S.strangers.ignored, taken.undo);
  } catch (error) {
    if (error.status === 404) expire(element);
    else showError(error);
  }
}

/** The card no longer exists while the user is using it: show that, and leave what was typed. */
export function expire(element) {
  const entry = cards.get(element);
  if (entry.expired) return;
  entry.expired = true;
  element.dataset.gone = "yes";
  entry.naming.errorText.textContent = S.strangers.gone;
  for (const one of element.querySelectorAll("button, input")) one.disabled = true;
  entry.leave.replaceWith(button(S.strangers.dismiss, () => leave(element), { class: "small" }));
}

function leave(element) {
  const neighbour = element.nextElementSibling ?? element.previousElementSibling;
  const { gone } = cards.get(element);
  element.remove();
  (neighbour?.matches?.(".card") ? neighbour : (document.querySelector("main h1") ?? document.getElementById("main"))).focus();
  gone();
}

/** Whether the user is working on the card: then it is not removed. */
export function inUse(element) {
  const entry = cards.get(element);
  return entry.naming.field.value !== "" || chosenOf(entry).length > 0 || (element.contains(document.activeElement) && document.activeElement !== element);
}

/** Focus the name field. */
export const focusName = (element) => cards.get(element).naming.field.focus();

/** Toggle the face with this number. */
export const pressFace = (element, number) => element.querySelector(`[data-face="${number}"]`)?.click();
