// The card of a stranger: faces to choose from, a name to give, or to be left alone.

import { pictureOf, post } from "./api.js";
import { ago } from "./clock.js";
import { button, face, h, setText } from "./dom.js";
import { nameForm } from "./naming.js";
import { S } from "./strings.js";
import { changed, complain } from "./undo.js";

const cards = new WeakMap();

/** The element of a card; gone() is called when it was named, ignored or dismissed. */
export function stranger(card, { gone, level = 2 }) {
  const faces = h("div", { class: "card-faces", role: "group", "aria-label": S.strangers.faces });
  const chosen = h("p", { class: "quiet small chosen" });
  const count = h("span", { class: "card-count" });
  const times = h("p", { class: "quiet small" });
  const naming = nameForm({ send: (name) => named(element, name) });
  const leave = button(card.hidden ? S.strangers.show : S.strangers.ignore, () => ignored(element), { class: "plain small" });
  const element = h(
    "article",
    { class: "card", tabindex: "-1", data: { card: card.card }, "aria-label": S.strangers.card(card.card) },
    h("div", { class: "card-head" }, h(`h${level}`, {}, S.strangers.card(card.card)), count, leave),
    faces,
    h("div", { class: "card-foot" }, h("div", { class: "card-words" }, chosen, times), naming.form),
  );
  cards.set(element, { card, gone, faces, chosen, count, times, naming, leave, dead: false, version: "" });
  update(element, card);
  return element;
}

/** New numbers for a card. Pictures stay as they are while somebody chooses among them. */
export function update(element, card) {
  const own = cards.get(element);
  own.card = card;
  setText(own.count, S.strangers.seen(card.count));
  setText(own.times, `${S.strangers.first(ago(card.first.time), card.first.camera)} · ${S.strangers.last(ago(card.last.time), card.last.camera)}`);
  const busy = element.contains(document.activeElement) && document.activeElement !== element;
  const pressed = own.faces.querySelector("[aria-pressed=true]");
  const pictures = card.faces.length > 0 && own.faces.childElementCount !== card.faces.length;
  if (own.version === "" || ((pictures || stale(own)) && !busy && !pressed)) drawFaces(own);
}

const stale = (own) => own.drawn !== own.card.count && performance.now() - own.at > 10000;

function drawFaces(own) {
  const { card, faces } = own;
  own.version = own.drawn = card.count;
  own.at = performance.now();
  const buttons = card.faces.map((key, number) => {
    const toggle = button(face(pictureOf.card(card.card, key), ""), () => press(own, toggle), {
      class: "face-toggle", "aria-pressed": "false", "aria-label": S.strangers.face(number + 1), data: { face: number, key },
    });
    return toggle;
  });
  faces.replaceChildren(...(buttons.length ? buttons : [h("p", { class: "quiet small" }, S.strangers.noPicture)]));
  tellChosen(own);
}

function press(own, toggle) {
  toggle.setAttribute("aria-pressed", String(toggle.getAttribute("aria-pressed") !== "true"));
  tellChosen(own);
}

const chosenOf = (own) => [...own.faces.querySelectorAll("[aria-pressed=true]")].map((one) => one.dataset.key);

function tellChosen(own) {
  setText(own.chosen, own.card.faces.length ? S.strangers.chosen(chosenOf(own).length) : "");
}

async function named(element, name) {
  const own = cards.get(element);
  const faces = chosenOf(own);
  try {
    const met = await post(`/strangers/${own.card.card}/name`, faces.length ? { name, faces } : { name });
    leave(element);
    changed(S.strangers.named(met.person.name, met.taught), met.undo);
  } catch (error) {
    if (error.status !== 404) throw error;
    expire(element);
    throw new Error(S.strangers.gone, { cause: error });
  }
}

/** Ignore, or take that back. */
export async function ignored(element) {
  const own = cards.get(element);
  const number = own.card.card;
  const back = own.card.hidden;
  try {
    await post(`/strangers/${number}/${back ? "show" : "ignore"}`);
    leave(element);
    changed(back ? S.strangers.shown : S.strangers.ignored, () => post(`/strangers/${number}/${back ? "ignore" : "show"}`));
  } catch (error) {
    if (error.status === 404) expire(element);
    else complain(error);
  }
}

/** The card is not there any more, and somebody was about to use it: say so, keep what they typed. */
export function expire(element) {
  const own = cards.get(element);
  if (own.dead) return;
  own.dead = true;
  element.dataset.gone = "yes";
  own.naming.trouble.textContent = S.strangers.gone;
  for (const one of element.querySelectorAll("button, input")) one.disabled = true;
  own.leave.replaceWith(button(S.strangers.dismiss, () => leave(element), { class: "small" }));
}

function leave(element) {
  const neighbour = element.nextElementSibling ?? element.previousElementSibling;
  const { gone } = cards.get(element);
  element.remove();
  (neighbour?.matches?.(".card") ? neighbour : (document.querySelector("main h1") ?? document.getElementById("main"))).focus();
  gone();
}

/** Whether somebody is busy with it: then it does not vanish under their hands. */
export function inUse(element) {
  const own = cards.get(element);
  return own.naming.field.value !== "" || chosenOf(own).length > 0 || (element.contains(document.activeElement) && document.activeElement !== element);
}

/** Put the cursor where the name goes. */
export const focusName = (element) => cards.get(element).naming.field.focus();

/** Choose or unchoose the face of a number. */
export const pressFace = (element, number) => element.querySelector(`[data-face="${number}"]`)?.click();
