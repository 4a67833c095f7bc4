// Temporary messages, and undo of the last changes.

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

/** The element that contains the messages. */
export const toasts = () => region;

function dismiss() {
  clearTimeout(current?.timer);
  const had = current?.element.contains(document.activeElement);
  current?.element.remove();
  current = null;
  if (had) document.getElementById("main").focus();
}

/** Show a message; `undo` is the event to return to, or a function that reverts the change. */
export function toast(words, { undo = null, error = false } = {}) {
  dismiss();
  const element = h("div", { class: error ? "toast error" : "toast" }, h("p", {}, words));
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

/** Show an error as a message. */
export function showError(error) {
  if (error.name === "AbortError") return;
  toast(error.message || S.errors.unexpected(error.name), { error: true });
}

/** Undo the last change; called again, the one before it. */
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
    showError(error);
  }
}

/** After a change by this page: show a message with undo, and refresh all views. */
export function changed(words, undo = null) {
  toast(words, { undo: undo ?? null });
  emit("changed", { kinds: new Set(["teach"]) });
}
