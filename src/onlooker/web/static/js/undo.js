// Temporary messages, and undo of the last changes.

import { get, post } from "./api.js";
import { emit } from "./bus.js";
import { openDialog } from "./dialog.js";
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

/** Show what an undo of an event would take back, with all that came after it, and do it if agreed. */
export async function askUndo(sequence) {
  const to = sequence - 1;
  const errorText = h("p", { class: "error", role: "alert" });
  const dialog = openDialog({ title: S.undo.title(sequence), view: "undo", body: [h("p", { role: "status" }, S.loading)] });
  let preview;
  try {
    preview = await get(`/undo?to=${to}`, { signal: dialog.signal });
  } catch (error) {
    if (error.name === "AbortError") return;
    dialog.content.replaceChildren(h("p", { role: "alert" }, error.message));
    return;
  }
  const lines = previewLines(preview);
  const agree = button(S.undo.undo, async () => {
    agree.disabled = true;
    try {
      const { sequence: newest } = await post("/undo", { to });
      dialog.close();
      toast(S.undo.undoneTo(to), { undo: newest - 1 });
      emit("changed", { kinds: new Set(["undo"]) });
    } catch (error) {
      errorText.textContent = error.message;
      agree.disabled = false;
    }
  }, { class: "primary", data: { agree: "" } });
  dialog.content.replaceChildren(
    h("p", {}, S.undo.since(preview.events)),
    lines.length ? h("ul", { class: "undo-lines" }, lines.map((line) => h("li", {}, line))) : h("p", {}, S.undo.nothingKnown),
    h("p", { class: "quiet small" }, S.undo.stays),
    errorText,
    h("div", { class: "actions" }, agree, button(S.cancel, () => dialog.close())),
  );
  agree.focus();
}

/** What an undo would do, a line for each kind of change. */
function previewLines(preview) {
  const say = S.undo.lines;
  const counted = (fields, words) => Object.entries(fields).map(([name, count]) => words(count, name));
  return [
    ...preview.people.map(say.person),
    ...preview.people_back.map(say.personBack),
    ...Object.entries(preview.renamed).map(([now, then]) => say.renamed(now, then)),
    ...counted(preview.labels, say.labels),
    ...counted(preview.labels_back, say.labelsBack),
    preview.learned && say.learned(preview.learned),
    preview.learned_back && say.learnedBack(preview.learned_back),
    preview.excluded && say.excluded(preview.excluded),
    preview.excluded_back && say.excludedBack(preview.excluded_back),
    preview.cards_back.length && say.cards(preview.cards_back),
    preview.answers && say.answers(preview.answers),
    preview.strangers_back && say.strangersBack(preview.strangers_back),
    !preview.complete && say.incomplete,
  ].filter(Boolean);
}
