// Messages that come and go, and the way back after each change.

import { post } from "./api.js";
import { emit } from "./bus.js";
import { button, h } from "./dom.js";
import { icon } from "./icons.js";
import { S } from "./strings.js";

const STAY = 12000;
const REMEMBERED = 10;
const region = h("section", { id: "toasts", "aria-label": S.undo.region, "aria-live": "polite" });
const changes = [];
let current = null;

/** Where messages appear. */
export const toasts = () => region;

function dismiss() {
  clearTimeout(current?.timer);
  const had = current?.element.contains(document.activeElement);
  current?.element.remove();
  current = null;
  if (had) document.getElementById("main").focus();
}

/** Show a message; `undo` is the event to go back to, or a function that takes the change back. */
export function toast(words, { undo = null, trouble = false } = {}) {
  dismiss();
  const element = h("div", { class: trouble ? "toast trouble" : "toast" }, h("p", {}, words));
  if (undo !== null) {
    changes.push(undo);
    if (changes.length > REMEMBERED) changes.shift();
    const back = button(S.undo.undo, undoLast, { class: "accent" });
    if (typeof undo === "number") back.title = S.undo.also;
    element.append(back);
  }
  element.append(button(icon("close"), dismiss, { class: "plain round", "aria-label": S.undo.dismiss }));
  region.append(element);
  const one = { element, timer: 0 };
  const wait = () => {
    clearTimeout(one.timer);
    one.timer = setTimeout(() => current === one && dismiss(), STAY);
  };
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, () => clearTimeout(one.timer));
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, wait);
  current = one;
  wait();
}

/** What went wrong, as a message. */
export function complain(error) {
  if (error.name === "AbortError") return;
  toast(error.message || S.errors.unexpected(error.name), { trouble: true });
}

/** Take the last change back; before that, the one before. */
export async function undoLast() {
  const last = changes.pop();
  if (last === undefined) {
    toast(S.undo.nothing);
    return;
  }
  try {
    if (typeof last === "function") await last();
    else await post("/undo", { to: last });
    toast(S.undo.undone);
    emit("changed", { kinds: new Set(["undo"]) });
  } catch (error) {
    changes.push(last);
    complain(error);
  }
}

/** A change of ours was made: tell, offer the way back, and let every view look again. */
export function changed(words, undo = null) {
  toast(words, { undo: undo ?? null });
  emit("changed", { kinds: new Set(["teach"]) });
}
